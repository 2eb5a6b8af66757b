"""When the inner loops run as machine code: where numba is installed (``pip install es-dedup[fast]``).

The kernels stand in the packages ``compiled`` of the rooms they serve. Each gives, bit for bit, what the numpy code
beside its call gives; which of the two ran never shows in a result. Loading them takes about half a second, so a
process does so when it has enough to do.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

WORTH_LOADING: Final = 400_000  # characters or values that numpy handles before the kernels are loaded
SWITCH: Final = "ES_DEDUP_COMPILED"  # "off": never; "on": from the first value; else: when it is worth it

_log = logging.getLogger(__name__)


class _State:
    """What this process has handled, and whether its kernels run."""

    handled = 0
    chosen: bool | None = None


def worthwhile(work: int) -> bool:
    """Whether kernels shall do a piece of work.

    Args:
        work: characters or values about to be handled.
    """
    if _State.chosen is None:
        _State.handled += work
        if os.environ.get(SWITCH) != "on" and _State.handled < WORTH_LOADING:
            return False
        return warm_up()
    return _State.chosen


def warm_up() -> bool:
    """Use the kernels from now on, for a process that must not pause later; False where they cannot be had."""
    if _State.chosen is None:
        _State.chosen = os.environ.get(SWITCH) != "off" and _usable()
    return _State.chosen


def kernel(function: F) -> F:
    """A function over arrays and numbers as machine code, kept on disk; exact arithmetic, no reordered sums."""
    import numba  # noqa: PLC0415 - optional, and takes a third of a second to import

    return cast("F", numba.njit(cache=True, nogil=True)(function))


def _usable() -> bool:
    if importlib.util.find_spec("numba") is None:
        return False
    try:
        kernel(_usable)  # compiled never; shows whether there is a folder to keep compiled code in
    except (ImportError, RuntimeError) as error:
        _log.warning("numba cannot be used, features take about five times as long: %s", error)
        return False
    return True
