"""What the kernels of this room ask of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from es_dedup.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

ZERO, NONE, NOT = cast("int", np.int64(0)), cast("int", np.int64(-1)), cast("bool", np.False_)
"""What variables and arguments begin with that other kernels take: numba compiles a kernel once more for a plain ``0``, ``-1`` or ``False``."""

_SPACE, _TAB, _RETURN = ord(" "), ord("\t"), ord("\r")


@kernel
def byte_at(data: NDArray[np.uint8], place: int) -> int:
    """A byte as a signed number: with an unsigned one numba turns whole numbers to fractions."""
    return np.int64(data[place])  # type: ignore[return-value]


@kernel
def is_space(byte: int) -> bool:
    """White space of ASCII: what ``bytes.isspace`` takes for it."""
    return byte == _SPACE or _TAB <= byte <= _RETURN


@kernel
def flagged(flags: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Places of all ones among zeros; eight zeros are passed over at once.

    Args:
        flags: 0 or 1; their number is a multiple of eight.
    """
    eight = flags.view(np.uint64)
    found = np.empty(flags.sum() + 1, dtype=np.int64)  # one place for what is no one
    count = np.int64(0)
    for word in range(len(eight)):
        if eight[word] == 0:
            continue
        for place in range(8 * word, 8 * word + 8):
            found[count] = place
            count += np.int64(flags[place])
    return found[:count]


@kernel
def whole_words(size: int) -> int:
    """The next multiple of eight."""
    return (size + 7) // 8 * 8
