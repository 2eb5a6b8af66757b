"""What a page says of itself in JSON-LD: types, dates, and the article's text where it is given."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_VALUES: Final = 2_000
"""Objects and lists of a page that are looked at."""

_TEXT_LISTS: Final = {
    "datePublished": "dates",
    "headline": "headlines",
    **dict.fromkeys(("articleBody", "reviewBody", "text"), "bodies"),
}
_OF_PARTS: Final = frozenset(
    "answer claim comment offer person product quotation rating review service userreview".split()
)
"""Types of things in or below an article; when they were made says nothing of the article."""

_MEDIA: Final = frozenset("audioobject clip imageobject mediaobject videoobject".split())
"""When they were made counts where nothing else does."""

_NESTED: Final = (dict, list)
DECODER: Final = json.JSONDecoder(strict=False)
_WRAPPING: Final = re.compile(
    r"^\s*(?://|/\*)?\s*(?:<!\[CDATA\[|<!--)\s*(?:\*/)?|(?://|/\*)?\s*(?:\]\]>|-->)\s*(?:\*/)?\s*;?\s*$"
)


@dataclass(slots=True)
class Structured:
    """Values found, in page order.

    Attributes:
        types: values of ``@type`` in lower case, of all objects.
        dates: values of ``datePublished``.
        headlines: values of ``headline``.
        bodies: values of ``articleBody`` and the like.
    """

    types: set[str] = field(default_factory=set)
    dates: list[str] = field(default_factory=list)
    headlines: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)


def read_structured(scripts: Iterable[tuple[Mapping[str, str], str]]) -> Structured:
    """Read all JSON-LD of a page; what is malformed is left out.

    Dates of comments, reviews and products are not the page's, those of pictures and films come last.

    Args:
        scripts: attributes and source text of each script.
    """
    found = Structured()
    values = [
        value
        for attributes, source in scripts
        if "ld+json" in attributes.get("type", "").lower()
        for value in _objects(source)
    ]
    typed = [(value, [text.lower() for text in _texts(value.get("@type"))]) for value in values]
    for value, types in sorted(typed, key=lambda pair: not _MEDIA.isdisjoint(pair[1])):
        _read(value, types, found)
    return found


def parsed(source: str) -> Any:
    """The JSON value in a text, or None; never raises."""
    try:
        return DECODER.decode(source)
    except (ValueError, RecursionError):
        return None


def objects_in(value: Any, most: int) -> Iterator[dict[str, Any]]:
    """The objects in a JSON value, in page order.

    Args:
        value: as parsed.
        most: so many objects, lists and items of lists are looked at.
    """
    waiting = [value]
    for _ in range(most):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(item for item in reversed(value.values()) if isinstance(item, _NESTED))
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def _objects(source: str) -> Iterator[dict[str, Any]]:
    bare = source.lstrip().startswith(("{", "["))
    return objects_in(parsed(source if bare else _WRAPPING.sub("", source)), MAX_VALUES)


def _read(value: dict[str, Any], types: list[str], found: Structured) -> None:
    found.types.update(types)
    is_part = not _OF_PARTS.isdisjoint(types)
    for key, item in value.items():
        if key in _TEXT_LISTS and not (is_part and key == "datePublished"):
            getattr(found, _TEXT_LISTS[key]).extend(_texts(item))


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str) and item.strip()]
