"""What a page says of itself in JSON-LD: types, dates, author, publisher, and the article's text where it is given."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_VALUES: Final = 2_000
"""Objects and lists of a page that are looked at."""

_TEXT_LISTS: Final = {
    "datePublished": "dates",
    "headline": "headlines",
    "description": "descriptions",
    **dict.fromkeys(("articleBody", "reviewBody", "text"), "bodies"),
}
_NAME_LISTS: Final = {"author": "authors", "publisher": "publishers"}
_KEYS: Final = frozenset({"@type", *_TEXT_LISTS, *_NAME_LISTS})


@dataclass(slots=True)
class Structured:
    """Values found, in page order.

    Attributes:
        types: values of ``@type`` in lower case, of all objects.
        dates: values of ``datePublished``.
        authors: names of authors.
        publishers: names of publishers.
        headlines: values of ``headline``.
        descriptions: values of ``description``.
        bodies: values of ``articleBody`` and the like.
    """

    types: set[str] = field(default_factory=set)
    dates: list[str] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    publishers: list[str] = field(default_factory=list)
    headlines: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)


def read_structured(scripts: Iterable[tuple[bytes, bytes]], charset: str) -> Structured:
    """Read all JSON-LD of a page; what is malformed is left out.

    Args:
        scripts: attributes and content of each script.
        charset: of both.
    """
    found = Structured()
    for attributes, source in scripts:
        if b"ld+json" in attributes:
            for value in _objects(source.decode(charset, "replace")):
                _read(value, found)
    return found


def parsed(source: str) -> Any:
    """The JSON value in a text, or None; never raises."""
    try:
        return json.loads(source, strict=False)
    except (ValueError, RecursionError):
        return None


def _objects(source: str) -> Iterator[dict[str, Any]]:
    waiting: list[Any] = [parsed(source)]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(item for item in reversed(value.values()) if isinstance(item, dict | list))
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def _read(value: dict[str, Any], found: Structured) -> None:
    for key, item in value.items():
        if key not in _KEYS:
            continue
        if key == "@type":
            found.types.update(text.lower() for text in _texts(item))
        elif key in _NAME_LISTS:
            getattr(found, _NAME_LISTS[key]).extend(_names(item))
        else:
            getattr(found, _TEXT_LISTS[key]).extend(_texts(item))


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str) and item.strip()]


def _names(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return _texts([item.get("name") if isinstance(item, dict) else item for item in values])
