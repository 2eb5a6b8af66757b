"""How much text two pages have in common."""

from __future__ import annotations

import unicodedata
from functools import cache

from scripts.samplesupport.conversion import converter


@cache
def normal(text: str) -> str:
    """NFKC, simplified characters, lower case, no white space."""
    text = converter("t2s").convert(unicodedata.normalize("NFKC", text)).lower()
    return "".join(text.split())


@cache
def grams(text: str, size: int) -> tuple[str, ...]:
    """All runs of ``size`` characters of the letters and digits of a text."""
    text = "".join(char for char in normal(text) if char.isalnum())
    return tuple(text[i : i + size] for i in range(max(1, len(text) - size + 1)))


def share(part: str, whole: str, size: int) -> float:
    """The share of the runs of ``part`` that also stand in ``whole``."""
    if not part or not whole:
        return 0.0
    runs, known = grams(part, size), set(grams(whole, size))
    return sum(run in known for run in runs) / len(runs)
