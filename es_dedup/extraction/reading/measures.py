"""What is counted in a text: characters of ASCII, stops."""

from __future__ import annotations

import re
from typing import Final

STOPPED: Final = "，。！？；、：,.!?;:"
"""What separates sentences and their parts, where white space, the end or another script follows."""

STOPS_ALONE: Final = "。！？，；"
"""Those of them behind which anything may stand."""

ENDS: Final = (".", "!", "?", "。", "！", "？", "…")
"""What a sentence ends with."""

STOPS: Final = re.compile(rf"[{STOPPED}](?:(?=\s|$|[^\x00-\x7f])|(?<=[{STOPS_ALONE}]))")
_IDEOGRAPH: Final = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")


def is_ideograph(text: str, place: int = 0) -> bool:
    """A character of a script that needs no space at the end of a line, or one of its signs."""
    return _IDEOGRAPH.match(text, place) is not None


def narrow_chars(text: str, chars: int) -> int:
    """How many characters of ASCII a text has.

    Args:
        text: its only white space is the space.
        chars: its length without them.
    """
    return len(text.encode("ascii", "ignore")) - (len(text) - chars)
