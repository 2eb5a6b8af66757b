"""Period signatures as sets: the features of CCDet, for the methods that other papers run over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.ccdet import period_table
from es_dedup.text.normalise import normalise_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WINDOW: Final = 10  # characters before a full stop, as in CCDet


def period_sets(texts: Sequence[str]) -> list[NDArray[np.uint64]]:
    """Distinct signatures of several texts, as 40-bit hashes, ascending."""
    table = period_table(normalise_many(texts), WINDOW)
    return np.split(table.signatures, table.offsets[1:-1]) if texts else []
