"""Notices of rights, liability and consent: the one kind of text that stands in the main column and reads like prose, but is no main text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CHARS: Final = 400
"""A longer block is a text *about* rights."""

_CUES: Final = 2
_ENGLISH: Final = re.compile(
    r"copyright|all rights reserved|reproduc|permission|good faith|general interest|no responsibility|liab|editorial code|complaint",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    r"版权|授权|转载|侵权|免责|不构成|投资建议|风险自担|须谨慎|仅供参考|法律责任|与本[网站报]|信息存储|用户上传|联系我们|热线|地址[：:]|删除|客户端|扫码|copyright",
    re.IGNORECASE,
)
_CONSENT: Final = re.compile(
    r"\b(?:we|our|your|these|this (?:site|website)|any website)\b.{0,200}?\b(?:use|browser|consent|preference|privacy|allow|partner)",
    re.IGNORECASE,
)


def is_notice(line: str) -> bool:
    """The line names rights, liability or risk in two ways, or asks for consent to cookies."""
    if len(line) <= MAX_CHARS:
        found = (_ENGLISH if line.isascii() else _CHINESE).findall(line)
        if len({cue.lower() for cue in found}) >= _CUES:
            return True
    return "cookie" in line[:1000].lower() and _CONSENT.search(line[:1000]) is not None


def without_notices(places: Sequence[int], lines: Sequence[str]) -> list[int]:
    """The chosen blocks without notices at their beginning and end; between others they are part of the text.

    Args:
        places: of the blocks chosen, ascending.
        lines: text of each block of the page.
    """
    kept = list(places)
    while kept and is_notice(lines[kept[-1]]):
        kept.pop()
    first = next((at for at, place in enumerate(kept) if not is_notice(lines[place])), 0)
    return kept[first:]
