"""What is known of the tags, blocks and elements of a page as arrays, where kernels read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

START, NAME, NAME_END, END, NUMBER = range(5)
"""Columns of spans, see ``compiled.cutting.tag_spans``."""

FIRST, LAST, LINKED = range(3)
"""Columns of parts, see ``compiled.walking.runs_of``; ``LAST`` is behind the last byte."""

FIRST_PART, AROUND, LINKS, DEPTH = range(4)
"""Columns of runs, see there."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays of numbers.

    Attributes:
        chars: see ``Block``.
        link_chars: see ``Block``.
        narrow: how many of the characters are ASCII; -1 where nobody has counted.
        stops: how many ``measures.STOPS`` there are; -1 where nobody has counted.
        parents: of each element, the index of the one around it, -1 for none.
        look_of: of each element, the number of its look.
    """

    chars: NDArray[np.int64]
    link_chars: NDArray[np.int64]
    narrow: NDArray[np.int64]
    stops: NDArray[np.int64]
    parents: NDArray[np.int64]
    look_of: NDArray[np.int64]
