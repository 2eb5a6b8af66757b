"""What the decision rules know of pairs beside their measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PairContext:
    """Context of pairs that is not measured; every array has shape (pairs,).

    Attributes:
        left_titles, right_titles: number of title terms of each page.
        titled: both pages have titles that say something of them.
        days: days between the publications; 0 when one is unknown, or without titles and signs of a series.
        exact: the texts are equal, see ``FeatureTable.hashes``.
        in_words: both are written in words (Latin and the like, not Chinese characters) and one has no title.
        menus: of these, pairs whose pages both carry menus, lists or tables.
    """

    left_titles: NDArray[np.int64]
    right_titles: NDArray[np.int64]
    titled: NDArray[np.bool_]
    days: NDArray[np.int64]
    exact: NDArray[np.bool_]
    in_words: NDArray[np.bool_]
    menus: NDArray[np.bool_]
