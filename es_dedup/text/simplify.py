"""Traditional to simplified Chinese, at phrase level (OpenCC)."""

from __future__ import annotations

from functools import cache
from typing import Final

from opencc import OpenCC

_PHRASE_ONLY: Final = "坏哩沈瞭甦藉覆"
"""Characters that change in some phrases and not when they stand alone."""


@cache
def _converter() -> OpenCC:
    return OpenCC("t2s")


def simplify(text: str) -> str:
    """Simplified form of a text; text without traditional characters is returned unchanged."""
    return str(_converter().convert(text))


@cache
def traditional_characters() -> frozenset[str]:
    """Characters of the basic plane without which simplification leaves a text as it is."""
    candidates = [chr(code) for code in (*range(0x3400, 0xA000), *range(0xF900, 0xFB00))]
    converted = simplify("\n".join(candidates)).split("\n")
    return frozenset(c for c, s in zip(candidates, converted, strict=True) if c != s).union(_PHRASE_ONLY)
