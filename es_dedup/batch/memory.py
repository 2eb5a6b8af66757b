"""Memory that was freed goes back to the system, not only to the process."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def release_memory() -> None:
    """Let the C library return what is free; glibc keeps the memory of large arrays otherwise, once it has met a few.

    Does nothing where the library cannot.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found
