"""Why blocks got their probabilities: what the score loses when numbers of one sort are replaced by typical ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.extraction.block_model import Trees

SORTS: Final[tuple[tuple[str, str], ...]] = (
    ("probability around it", r"first|mass_|from_(?:first|last)_sure|mean_first"),
    ("page kind", r"thread$"),
    ("names of its containers", r".*odds_(?:low|high)$|chain_|big_odds|inline_odds"),
    ("words in it", r"word_odds|dates$|quoted"),
    ("title", r"(?:share|cover)_of_|from_title|prose_from_title|h1_before|titles_since"),
    ("blocks alike", r"kind_|path_"),
    ("repeated siblings", r"record_|rich_"),
    ("containers around it", r"up\d|big_|core|in_|depth"),
    ("neighbours", r"next|above\d|below\d|window|heading_"),
    ("said twice", r"twins|seen_"),
    ("place in the page", r"place|units_before|prose_(?:before|after)|share$"),
    ("page as a whole", r"page_"),
    ("its own text and links", r""),
)
"""Sorts of numbers by the names of their columns; the first that fits."""


def sort_of(name: str) -> str:
    """Sort of a number."""
    return next(sort for sort, pattern in SORTS if re.match(pattern, name))


def reasons(trees: Trees, numbers: NDArray[np.float32], most: int = 2) -> list[str]:
    """The strongest reasons for each row's score.

    Args:
        trees: with typical values of their numbers.
        numbers: a row for each block.
        most: reasons for each block, at most.

    Returns:
        For each block ``sort +1.2, sort -0.4``: what replacing all numbers of a sort by typical ones takes off its logarithm of odds.
    """
    whole = trees.scores(numbers)
    sorts = [sort_of(name) for name in trees.features]
    names = list(dict.fromkeys(sorts))
    parts = np.zeros((len(names), len(numbers)))
    for row, sort in enumerate(names):
        replaced = numbers.copy()
        columns = [place for place, found in enumerate(sorts) if found == sort]
        replaced[:, columns] = trees.typical[columns]
        parts[row] = whole - trees.scores(replaced)
    order = np.argsort(-np.abs(parts), axis=0)[:most]
    return [
        ", ".join(f"{names[row]} {parts[row, block]:+.1f}" for row in order[:, block])
        for block in range(len(numbers))
    ]
