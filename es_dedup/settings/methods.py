"""Names of methods in settings, which are checked without loading the methods."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DETECTORS: Final = "detectors"
EXTRACTOR: Final = "extraction.extractor"

known: Final[dict[str, Callable[[], tuple[str, ...]]]] = {
    DETECTORS: lambda: ("ccdet", "char_frequency", "coverage", "dwdcs", "multi_simhash", "simhash"),
    EXTRACTOR: lambda: ("blocks", "plain", "topic"),
}
"""Gives the names that a setting takes: the built-in ones, until their registry is loaded, which gives those that were registered, too."""


def wrong_names(names: Sequence[str], key: str) -> Iterator[str]:
    """What is wrong with names that are given for the setting ``key``, a key of ``known``: unknown ones, and those given twice."""
    among = known[key]()
    for name in dict.fromkeys(names):
        if name not in among:
            near = difflib.get_close_matches(name, among, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield f"must be {'one ' * (key == EXTRACTOR)}of {', '.join(among)}, got {name!r}{hint}"
        elif names.count(name) > 1:
            yield f"names {name!r} {names.count(name)} times, once is enough"
