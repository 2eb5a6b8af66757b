"""Traditional to simplified Chinese, at phrase level (OpenCC)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from es_dedup import lazy

if TYPE_CHECKING:
    from opencc import OpenCC


@lazy.once
def _converter() -> OpenCC:
    from opencc import OpenCC  # noqa: PLC0415 - no text of simplified Chinese needs it

    return OpenCC("t2s")


def simplify(text: str) -> str:
    """Simplified form of a text; text without traditional characters is returned unchanged."""
    return str(_converter().convert(text))


class Characters(NamedTuple):
    """What OpenCC does with characters of the basic plane.

    Attributes:
        traditional, simplified: those that it changes where they stand alone, and what to.
        in_phrases: those of its phrases; a phrase is part of a run of them.
        by_phrase: those of ``in_phrases`` that some phrase simplifies otherwise than when they stand alone.
    """

    traditional: str
    simplified: str
    in_phrases: str
    by_phrase: str


def characters() -> Characters:
    """These characters, from a file: asking OpenCC for each ideograph takes longer than checking a page. A test compares the file with OpenCC."""
    return Characters(*Path(__file__).with_name("simplified.txt").read_text("utf-8").split())
