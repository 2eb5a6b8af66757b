"""A page to be read by the block model, and what is summed over its blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from es_dedup.extraction.block_characters import Characters, read_characters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.extraction.blocks import Blocks

    Array = NDArray[Any]

ONE, ALL, FREE, STOPS, PROSE, DATES, LINKS, LINKED, SHORT, COMMAS, ODDS = range(11)
"""Columns of what is summed over blocks: blocks, units, units outside links, stops, unlinked units of blocks that read like prose, dates,
links, blocks of link text, short blocks, commas, odds of words."""


@dataclass(frozen=True, slots=True)
class About:
    """What a page says of itself; each may be empty."""

    title: str = ""
    description: str = ""
    hints: tuple[float, ...] = ()


@dataclass(slots=True)
class Page:
    """A page ready for its features.

    Attributes:
        blocks: containers and blocks.
        characters: what the texts are made of.
        about: what the page says of itself.
    """

    blocks: Blocks
    characters: Characters
    about: About


def read_page(blocks: Blocks, about: About) -> Page:
    """A page with its characters counted."""
    return Page(blocks, read_characters(blocks.texts), about)


def ratio(above: Array, below: Array) -> Array:
    """Quotients; where the divisor is 0 they are very large, or 0."""
    return above / np.maximum(below, 1e-9)
