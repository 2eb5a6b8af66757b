"""Traditional to simplified Chinese, at phrase level (OpenCC)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencc import OpenCC


@cache
def _converter() -> OpenCC:
    from opencc import OpenCC  # noqa: PLC0415 - no text of simplified Chinese needs it

    return OpenCC("t2s")


def simplify(text: str) -> str:
    """Simplified form of a text; text without traditional characters is returned unchanged."""
    return str(_converter().convert(text))


@cache
def traditional_characters() -> frozenset[str]:
    """Characters of the basic plane without which simplification leaves a text as it is.

    They are a file, since to ask OpenCC for each ideograph takes longer than to check a page; a test compares them with OpenCC.
    """
    return frozenset(resources.files("es_dedup.text").joinpath("traditional.txt").read_text("utf-8"))
