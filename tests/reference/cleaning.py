"""White space and line ends as one expression each says it."""

import re

_IDEOGRAPH = "[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]"
_BROKEN_LINE = re.compile(f"(?<={_IDEOGRAPH})[^\\S\r\n]*[\r\n]\\s*(?={_IDEOGRAPH})")
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ud800-\udfff\x00-\x08\x0e-\x1f]+"
)


def cleaned(text: str) -> str:
    """White space folded to single spaces; line ends between ideographs and invisible characters removed."""
    folded = " ".join(_BROKEN_LINE.sub("", text.strip()).split())
    return " ".join(_INVISIBLE.sub("", folded).split())
