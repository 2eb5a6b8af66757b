"""When the inner loops run as machine code: where numba is installed (extra ``fast``).

The kernels are in the packages ``kernels`` of the folders they serve. Each gives, bit for bit, what the numpy code
beside its call gives; which of the two ran never shows in a result. Compiling them takes 40 seconds of processor time,
once per installation (``es-dedup compile``); loading them then takes half a second. So a process uses numpy until it has
enough to do for either.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

WORTH_LOADING: Final = 400_000  # characters or values that numpy handles before the kernels are loaded
WORTH_COMPILING: Final = 1_000_000_000  # handled by numpy in about the time that compiling takes
SWITCH: Final = "ES_DEDUP_COMPILED"  # "off": never; "on": from the first value; else: when it is worth it
PACKAGE: Final = Path(__file__).parents[1]

_log = logging.getLogger(__name__)


class _State:
    """What this process has handled, and whether its kernels run."""

    handled = 0
    next_look = WORTH_LOADING
    chosen: bool | None = None
    compiler: subprocess.Popen[bytes] | None = None


def worthwhile(work: int) -> bool:
    """Whether kernels shall do a piece of work.

    Args:
        work: characters or values about to be handled.
    """
    if _State.chosen is not None:
        return _State.chosen
    _State.handled += work
    if os.environ.get(SWITCH) != "on" and _State.handled < _State.next_look:
        return False
    _State.next_look = _State.handled + WORTH_LOADING
    if warm_up():
        return True
    if _State.handled >= WORTH_COMPILING:
        _compile_beside()
    return False


def warm_up() -> bool:
    """Use the kernels from now on if they are compiled, for a process that must not pause later; whether it does."""
    if _State.chosen is None:
        switch = os.environ.get(SWITCH)
        if switch == "off" or not _usable():
            _State.chosen = False
        elif switch == "on" or is_compiled():
            _State.chosen = True
    return _State.chosen is True


def kernel(function: F) -> F:
    """A function over arrays and numbers as machine code, see ``kernels.cache.compile_with_cache``."""
    from es_dedup.kernels.cache import compile_with_cache  # noqa: PLC0415 - imports numba, in a third of a second

    folder = cache_folder()
    if folder is None:
        raise RuntimeError("no folder to keep compiled code in: set NUMBA_CACHE_DIR")
    return cast("F", compile_with_cache(function, folder))


def is_compiled() -> bool:
    """Whether all kernels have been compiled for this machine, by ``es-dedup compile``."""
    folder = cache_folder()
    return folder is not None and _marker(folder).is_file()


def mark_compiled() -> None:
    """Note that all kernels have been compiled for this machine."""
    if (folder := cache_folder()) is not None:
        _marker(folder).touch()


@cache
def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None when there is no such place.

    The folder that NUMBA_CACHE_DIR names, else one in the package, else one of the user: the first in which all are
    compiled, else the first that can be written to.
    """
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        places = [Path(named) / "es-dedup"]
    else:
        own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        places = [PACKAGE / "__pycache__" / "kernels", own / "es-dedup" / "kernels"]
    for place in places:
        if _marker(place).is_file():
            return place
    return next(filter(_writable, places), None)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@cache
def _marker_name() -> str:
    """Differs where other machine code is needed: another processor, interpreter, numba, or other kernels."""
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name  # noqa: PLC0415 - comes with numba

    processor = f"{get_host_cpu_name()} {get_host_cpu_features().flatten()}"
    digest = hashlib.sha256(f"{processor} {sys.version} {version('numba')}".encode())
    for path in sorted(PACKAGE.rglob("kernels/*.py")):
        digest.update(path.read_bytes())
    return f"all-{digest.hexdigest()[:16]}"


def _marker(folder: Path) -> Path:
    return folder / _marker_name()


def _compile_beside() -> None:
    """Start compiling in a process of its own, once; work goes on by numpy until it has ended."""
    if _State.chosen is None and _State.compiler is None:
        _log.warning(
            "compiling kernels beside this work, once per installation; `es-dedup compile` does it ahead"
        )
        command = [sys.executable, "-m", "es_dedup.cli", "--quiet", "compile", "--parent", str(os.getpid())]
        _State.compiler = subprocess.Popen(  # noqa: S603 - our own command
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )


def _usable() -> bool:
    if importlib.util.find_spec("numba") is None:
        return False
    problem = ""
    if cache_folder() is None:
        problem = "there is no folder to keep compiled code in: set NUMBA_CACHE_DIR"
    else:
        try:
            importlib.import_module("es_dedup.kernels.cache")
        except (ImportError, AttributeError) as error:  # another version of numba than those tried
            problem = str(error)
    if problem:
        _log.warning("numba cannot be used, features take about five times as long: %s", problem)
    return not problem
