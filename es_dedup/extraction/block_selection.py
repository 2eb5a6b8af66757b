"""Which blocks are taken, and what kind of page they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.model import PageKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.extraction.block_model import Reading

    Array = NDArray[Any]

FLOOR: Final = 0.5
THREAD_FLOOR: Final = 0.3
"""Smallest probability of a block that is taken: of an article, of a thread. Posts are short, and most of a thread is posts."""

THREAD_CHANCE: Final = 0.65
"""A page is called a thread from this probability on: reports and reviews in sections come near it."""

LAST_FLOOR: Final = 0.08
"""The same on a page where no block reaches the floor."""

_HEADLINE_UNITS: Final = 6.0
_MANY_HEADLINES: Final = 10
_LITTLE_UNITS: Final = 200.0
SHORT_UNITS: Final = 100.0
_SURE: Final = 0.8  # mean probability of the selected blocks: from here on they are an article, even among many headlines
_PIECES: Final = 4
_LARGEST: Final = 0.5


def best_set(probabilities: Array, lengths: Array, floor: float = 0.0) -> NDArray[np.bool_]:
    """The blocks with the highest expected F1 by characters.

    With p the probability of a block and n its length, the expected F1 of a set is about 2 Σ p n / (Σ n + Σ all p n): blocks join by falling
    probability.

    Args:
        probabilities: of each block.
        lengths: characters of each block.
        floor: smallest probability that is taken.
    """
    order = np.argsort(-probabilities, kind="stable")
    gained = np.cumsum((probabilities * lengths)[order])
    selected = np.zeros(probabilities.size, bool)
    if gained.size and gained[-1] > 0:
        expected = 2 * gained / (np.cumsum(lengths[order]) + gained[-1])
        selected[order[: int(expected.argmax()) + 1]] = True
    return selected & (probabilities >= floor)


def choose(reading: Reading, lengths: Array) -> NDArray[np.bool_]:
    """The blocks of the main text; none where nothing in the page is likely to be it."""
    floor = FLOOR + (THREAD_FLOOR - FLOOR) * reading.thread
    selected = best_set(reading.blocks, lengths, floor)
    return selected if selected.any() else best_set(reading.blocks, lengths, LAST_FLOOR)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a page's address and markup say of its kind.

    Attributes:
        front: the address is that of a site.
        listing: the address is that of a list.
        article: the page declares itself an article.
        media: it declares itself a video, or has a player; of no account beside a text of ``SHORT_UNITS``.
    """

    front: bool = False
    listing: bool = False
    article: bool = False
    media: bool = False


def page_kind(
    reading: Reading, selected: NDArray[np.bool_], units: Array, link_density: Array, declared: Declared
) -> PageKind:
    """The kind of a page by its selected blocks and the links around them.

    Args:
        reading: of the page.
        selected: the blocks of the main text.
        units: length of each block.
        link_density: share of links in each, in [0, 1].
        declared: what the page says.
    """
    own = float(units[selected].sum())
    linked = (link_density > 0.5) & ~selected
    headlines = linked & (units >= _HEADLINE_UNITS)
    in_links = float(units[linked].sum())
    is_list = (declared.front and in_links > own / 2) or (declared.listing and in_links > own)
    is_sure = float((reading.blocks * units)[selected].sum()) >= _SURE * own > 0
    if (
        not is_sure
        and own < _LITTLE_UNITS
        and headlines.sum() >= _MANY_HEADLINES
        and units[headlines].sum() >= 2 * own
    ):
        is_list = True
    if is_list and not declared.article:
        return PageKind.LIST
    if reading.thread > THREAD_CHANCE:
        return PageKind.THREAD
    if not selected.any():
        return PageKind.EMPTY
    if not declared.article and _is_cut(selected, headlines, units):
        return PageKind.LIST
    return PageKind.MEDIA if declared.media and own < SHORT_UNITS else PageKind.ARTICLE


def _is_cut(selected: NDArray[np.bool_], headlines: NDArray[np.bool_], units: Array) -> bool:
    """Headlines cut the main text into several pieces, none of which is most of it."""
    pieces = np.bincount(np.cumsum(headlines)[selected], units[selected]) if selected.any() else np.zeros(0)
    pieces = pieces[pieces > 0]
    return bool(pieces.size >= _PIECES and pieces.max() < _LARGEST * pieces.sum())
