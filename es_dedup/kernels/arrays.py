"""Names for the types of the arrays that kernels take and return."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints32 = NDArray[np.int32]
Ints = NDArray[np.int64]
UInts32 = NDArray[np.uint32]
UInts64 = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Arrays = tuple[NDArray[Any], ...]
