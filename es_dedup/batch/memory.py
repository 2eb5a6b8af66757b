"""Memory that was freed goes back to the system, not only to the process; and the collector of cycles rests where there are none."""

from __future__ import annotations

import ctypes
import gc
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def release_memory() -> None:
    """Let the C library return what is free; glibc keeps the memory of large arrays otherwise, once it has met a few.

    Does nothing where the library cannot.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Do without the collector where very many objects are made that stay, none of them in cycles: it would walk over all of them several times."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found
