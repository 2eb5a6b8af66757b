"""Values in lists: what is read lazily and dealt with some at a time, and values by their keys."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Key = TypeVar("Key")
    Value = TypeVar("Value")


def by_key(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, all in the order of the pairs."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def chunked(values: Iterable[Value], size: int) -> Iterator[list[Value]]:
    """Values in lists of ``size``, the last one shorter; no value is read before its list is asked for."""
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some


def chunked_by_size(
    values: Iterable[Value], most: int, size_of: Callable[[Value], int], *, count: int | None = None
) -> Iterator[list[Value]]:
    """Values in lists whose sizes add up to ``most`` or less; a larger value comes alone.

    Args:
        values: read lazily, one beyond the list that is made.
        most: total size of a list.
        size_of: size of a value.
        count: most values of a list; None: any number.
    """
    some: list[Value] = []
    total = 0
    for value in values:
        size = size_of(value)
        if some and (total + size > most or len(some) == count):
            yield some
            some, total = [], 0
        some.append(value)
        total += size
    if some:
        yield some
