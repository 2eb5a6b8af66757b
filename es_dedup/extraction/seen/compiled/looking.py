"""Kernels of ``lengths``, ``kinds`` and ``view``: one pass over the blocks, one over the elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.compiled import kernel
from es_dedup.extraction.seen.lengths import (
    FEW_UNITS,
    FURNITURE,
    LATIN_SHARE,
    LINK_COST,
    LINKED,
    LINKED_LEAST,
    MANY_UNITS,
    SHORT_LEAST,
    SHORT_LINKED,
    TOO_MANY_UNITS,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def lengths_of(
    chars: NDArray[np.int64],
    link_chars: NDArray[np.int64],
    narrow: NDArray[np.int64],
    stop_counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Units and prose of blocks whose characters and stops are counted, see ``Columns``; shape (2, blocks)."""
    found = np.empty((2, len(chars)), dtype=np.float64)
    for block in range(len(chars)):
        units = (chars[block] - narrow[block]) + narrow[block] / LATIN_SHARE
        found[0, block] = units
        if link_chars[block] > LINKED * chars[block]:
            found[1, block] = -(LINKED_LEAST + FURNITURE * units)
            continue
        linked, stops = link_chars[block] / chars[block], stop_counts[block]
        reads = stops > 1 or (stops and units >= FEW_UNITS) or MANY_UNITS <= units <= TOO_MANY_UNITS
        if units >= TOO_MANY_UNITS and not (reads and stops):
            found[1, block] = -FURNITURE * units
        else:
            found[1, block] = (
                units * (1 - LINK_COST * linked) if reads else -(SHORT_LEAST + SHORT_LINKED * linked)
            )
    return found


@kernel
def kinds_of(
    marks: NDArray[np.int64],
    bits: int,
    is_part: NDArray[np.bool_],
    parents: NDArray[np.int64],
    look_of: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Kind of each element, and the element around it that is no part of a text.

    Args:
        marks: by look, the number of its mark, from one on.
        bits: as many as these numbers have.
        is_part: by look, whether it is that of a part of a text.
        parents: of each element, -1 for none.
        look_of: of each element.

    Returns:
        Both with one more that stands for no element; shape (2, elements + 1).
    """
    count = len(parents)
    found = np.full((2, count + 1), -1, dtype=np.int64)
    for element in range(count):
        look, parent = look_of[element], parents[element]
        kind = marks[look]
        if parent >= 0:
            kind |= marks[look_of[parent]] << bits
            if parents[parent] >= 0:
                kind |= marks[look_of[parents[parent]]] << 2 * bits
        found[0, element] = kind
        if not is_part[look]:
            found[1, element] = element
        elif parent >= 0:
            found[1, element] = found[1, parent]
    return found
