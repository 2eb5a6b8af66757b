"""What is imported or made when it is first asked for, so that who needs one name of a package does not load what all need."""

from __future__ import annotations

import dis
import re
import sys
import threading
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def attributes(package: str, first: str = "") -> Callable[[str], Any]:
    """The ``__getattr__`` of a package (PEP 562): its modules, and the names that it imports for type checkers alone.

    Type checkers must not see it: they would take any name.

    Args:
        package: its ``__name__``.
        first: a module that is imported before any name.
    """

    def find(name: str) -> Any:
        if module := imported_for_types(package).get(name):
            if first:
                import_module(first)
            value = getattr(import_module(module), name)
            setattr(sys.modules[package], name, value)  # the next time it is found without this function
            return value
        if name.startswith("_") or find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return find


@cache
def imported_for_types(package: str) -> dict[str, str]:
    """The modules that names of a package come from, by all imports in its code, also those for type checkers; without its own modules.

    The compiled code is read: packages need not be installed with their source.
    """
    loader: Any = sys.modules[package].__loader__
    modules, module = dict[str, str](), package
    for step in dis.get_instructions(loader.get_code(package)):
        if step.opname == "IMPORT_NAME":
            module = str(step.argval)
        elif step.opname == "IMPORT_FROM" and module != package:
            modules[step.argval] = module
    return modules


def once(make: Callable[[], T]) -> Callable[[], T]:
    """``make``, called once by all threads together: those that ask meanwhile wait, where ``functools.cache`` lets each of them make it."""
    made, lock = cache(make), threading.Lock()

    def value() -> T:
        with lock:
            return made()

    return value


def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression that is compiled when one of its methods is first called; classes of thousands of characters take milliseconds."""
    return cast("re.Pattern[str]", _Pattern(expression, flags))


class _Pattern:
    def __init__(self, expression: str, flags: int) -> None:
        self._definition = expression, flags

    def __getattr__(self, method: str) -> Any:
        value = getattr(re.compile(*self._definition), method)
        setattr(self, method, value)  # the next time it is found without this function
        return value
