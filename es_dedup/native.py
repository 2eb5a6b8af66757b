"""The native core: the inner loops as machine code, where the distribution ``es-dedup-native`` is installed.

Each of its functions gives, bit for bit, what the Python code beside its call gives, so which of the two ran never shows in
a result. They run outside the interpreter's lock, in as many threads as ``threads`` allows.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import Any, Final

INTERFACE: Final = 11  # of the functions; another number is another release, which is not used
SWITCH: Final = "ES_DEDUP_NATIVE"  # "off": the Python form in any case
HOW_TO_GET_IT: Final = (
    "`pip install ./native` in the source, with Rust on the machine, installs the native core"
)

_log = logging.getLogger(__name__)


def _load() -> Any:
    if os.environ.get(SWITCH) == "off":
        return None
    try:
        import es_dedup_native  # noqa: PLC0415 - optional
    except ImportError:
        return None
    if getattr(es_dedup_native, "INTERFACE", None) != INTERFACE:
        _log.warning(
            "the native core that is installed is of another release and is not used: %s", HOW_TO_GET_IT
        )
        return None
    return es_dedup_native


core: Any = _load()
"""The functions, see ``native/es_dedup_native.pyi``; None where there are none."""


class _OfThread(threading.local):
    threads = 0


_of_thread: Final = _OfThread()


def threads() -> int:
    """How many native threads a call from this Python thread may use: what ``use_threads`` has set, else one for each processor of the process."""
    if not _of_thread.threads:
        _of_thread.threads = (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
    return _of_thread.threads


def use_threads(count: int) -> None:
    """Set ``threads`` for this Python thread, at least 1: where several do the same work they share the processors."""
    _of_thread.threads = max(count, 1)
