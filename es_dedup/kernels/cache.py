"""Where compiled kernels are kept between processes, and which of them are still valid.

numba's own cache depends on the file of a kernel alone, so a constant or a kernel that was imported from elsewhere stays
compiled in after it has changed; and it wants to write where it only has to read. The cache here is valid by what was
compiled in, and may lie in a folder that this user cannot write to.

The only module that imports numba.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

kernels: Final[list[Any]] = []
"""All kernels of the modules that this process has imported; ``signatures`` says for which types each is ready."""
listeners: Final[list[Callable[[], None]]] = []
"""Called after each compilation in this process."""

_log = logging.getLogger(__name__)


def compile_with_cache(function: Callable[..., Any], folder: Path) -> Any:
    """A kernel: exact arithmetic, no reordered sums, compiled at the first call with each set of types.

    Args:
        function: uses arrays, numbers and other kernels only.
        folder: where machine code is kept.
    """
    dispatcher: Any = numba.njit(nogil=True)(function)
    dispatcher._cache = _Cache(function, folder)  # noqa: SLF001 - numba's own ``enable_caching`` does no more
    kernels.append(dispatcher)
    return dispatcher


@cache
def stamp(function: Callable[..., Any]) -> str:
    """Digest of all that machine code is made from: the source, the constants it reads, and the kernels it calls.

    The fields of all named tuples of the module count, too: an argument may be one, and is read by position.
    """
    digest = hashlib.sha256(inspect.getsource(function).encode())
    for name, value in sorted(function.__globals__.items()):
        if isinstance(value, type) and hasattr(value, "_fields"):
            digest.update(f"{name}={value._fields};".encode())
    for name, value in sorted(inspect.getclosurevars(function).globals.items()):
        digest.update(f"{name}={_fixed(value)};".encode())
    return digest.hexdigest()


def _fixed(value: Any) -> str:
    """What numba compiles in for a value of the module."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if (called := getattr(value, "py_func", None)) is not None:
        return stamp(called)
    return repr(value) if isinstance(value, (int, float, str, bytes, tuple, np.generic)) else str(type(value))


class _Locator:
    """Where the machine code of one kernel lies; the interface of locators of ``numba.core.caching``."""

    folder: ClassVar[Path]

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._path = self.folder / function.__module__

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], _py_file: str) -> _Locator:
        return cls(py_func)

    def ensure_cache_path(self) -> None:
        self._path.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return stamp(self._function)

    def get_disambiguator(self) -> str:
        return str(self._function.__code__.co_firstlineno)


class _IndexFile(IndexDataCacheFile):
    def _load_index(self) -> Any:
        """Machine code by signature; none where a signature names a type that does not exist any more."""
        try:
            return super()._load_index()  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            return {}


class _Cache(FunctionCache):
    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        locator = type("Locator", (_Locator,), {"folder": folder})
        self._impl_class: Any = type("Impl", (CompileResultCacheImpl,), {"_locator_classes": [locator]})
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file = _IndexFile(  # type: ignore[no-untyped-call]
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code, where the folder can be written to."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _log.warning("compiled code cannot be kept, the next process compiles it again: %s", error)
        for listener in listeners:
            listener()
