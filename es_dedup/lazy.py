"""What is imported or made when it is first asked for, so that who needs one name of a package does not load what all need."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def attributes(package: str, names: Mapping[str, tuple[str, ...]] | None = None) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package (PEP 562): its modules, and names that come from them.

    Args:
        package: its ``__name__``.
        names: what comes from which module, by the module's name below the package. Type checkers need these imports, and not
            this function: they would take any name.
    """
    places = {name: module for module, some in (names or {}).items() for name in some}

    def find(name: str) -> Any:
        if name in places:
            value = getattr(import_module(f"{package}.{places[name]}"), name)
            setattr(sys.modules[package], name, value)  # the next time it is found without this function
            return value
        if name.startswith("_") or find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return find


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
