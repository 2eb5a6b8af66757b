"""``text.hashing.mix64`` of one value, for other kernels."""

from __future__ import annotations

import numpy as np

from es_dedup.kernels.dispatch import kernel
from es_dedup.text.hashing import MIX_1, MIX_2, MIX_ADD

_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


@kernel
def mix(value: np.uint64) -> np.uint64:
    """See ``mix64``."""
    value = value + MIX_ADD
    value ^= value >> _S30
    value *= MIX_1
    value ^= value >> _S27
    value *= MIX_2
    return value ^ (value >> _S31)
