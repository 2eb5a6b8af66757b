"""Names of a package that are imported when they are first asked for, so that who needs one does not load what all need."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def attributes(package: str, names: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package (PEP 562); type checkers need the same imports below ``if TYPE_CHECKING``.

    Args:
        package: its ``__name__``.
        names: what comes from which of its modules, by the module's name below the package; the modules are attributes, too.
    """
    places = {name: module for module, some in names.items() for name in some}

    def find(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next time it is found without this function
        return value

    return find
