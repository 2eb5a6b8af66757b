"""Punctuation strings: the characters around each punctuation mark, as one string that stands for the page.

Source: described as prior art in the patent on character frequency strings (background, "punctuation"); how many
characters, and around which marks, is not given there. docs/algorithms/punctuation.md.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.model import Skipped
from es_dedup.text.characters import PLANE
from es_dedup.text.normalise import decode, normalise_many
from es_dedup.text.tokens import character_kinds
from experiments.comparators.strings import MOST_CHARS, StringComparator, Text, gram_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Content
    from es_dedup.text.normalise import TextBatch
    from experiments.settings import PunctuationConfig

TAG: Final = 61
MARKS: Final = "。.,!?;:、…"  # in the normalised form


def punctuation_strings(batch: TextBatch, before: int, after: int) -> list[str]:
    """The string of each page: for every mark, ``before`` characters before it and ``after`` characters after it.

    Only letters, digits and characters of scripts count and are taken; several marks in a row are one, and a mark
    with too few characters on a side is passed over.
    """
    lettered = character_kinds(batch.codes) > 0
    letters = batch.codes[lettered]
    passed = np.concatenate(([0], np.cumsum(lettered)))
    marks = np.flatnonzero(_marks()[np.minimum(batch.codes, PLANE - 1)])
    pages = np.searchsorted(batch.offsets, marks, side="right") - 1
    at = passed[marks]
    first = np.ones(len(at), dtype=np.bool_)
    first[1:] = (at[1:] != at[:-1]) | (pages[1:] != pages[:-1])
    at, pages = at[first], pages[first]
    edges = passed[batch.offsets]
    whole = (at - before >= edges[pages]) & (at + after <= edges[pages + 1])
    at, pages = at[whole], pages[whole]
    windows = (
        letters[at[:, None] + np.arange(-before, after)] if len(at) else np.zeros((0, 1), dtype=np.uint32)
    )
    bounds = np.searchsorted(pages, np.arange(len(batch) + 1)).tolist()
    return [decode(windows[low:high].ravel()) for low, high in pairwise(bounds)]


@cache
def _marks() -> NDArray[np.bool_]:
    table = np.zeros(PLANE, dtype=np.bool_)
    table[[ord(mark) for mark in MARKS]] = True
    return table


class Punctuation(StringComparator):
    """The detector."""

    name = "punctuation"

    def __init__(self, config: PunctuationConfig) -> None:
        super().__init__(config.min_similarity)
        self._config = config
        self._width = config.before + config.after

    def featurise_many(self, contents: Sequence[Content]) -> list[Text | Skipped]:
        """Strings of several pages, cut after ``MOST_CHARS`` characters; ``Skipped`` with fewer than ``min_marks`` marks."""
        batch = normalise_many([content.text for content in contents])
        config, most = self._config, MOST_CHARS - MOST_CHARS % self._width
        return [
            Text(text[:most])
            if len(text) >= config.min_marks * self._width
            else Skipped("few-marks", f"{len(text) // self._width} of {config.min_marks} marks")
            for text in punctuation_strings(batch, config.before, config.after)
        ]

    def terms(self, features: Text) -> tuple[int, ...]:
        """Terms to store: the surroundings of each mark."""
        return gram_terms(features.text, self._width, self._width, TAG)
