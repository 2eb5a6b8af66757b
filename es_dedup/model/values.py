"""Values as other tools write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

_AROUND: Final = ("$oid", "$date", "$numberLong", "$numberInt", "$numberDouble", "$uuid", "rendered")
"""Names under which extended JSON of MongoDB, and the REST API of WordPress, put the only value of an object."""
_JOINT: Final = re.compile(r"\.(?=.)|(?=\[)")
_PLACE: Final = re.compile(r"\[(\d{1,9})\](?:\.(?=.)|(?=\[)|$)")


def plain_value(value: Any) -> Any:
    """A value without what tools put around it.

    Of a list of one value (a field of Scrapy's ``ItemLoader``), or an object around one, the value; of a list of texts, as of
    paragraphs, one text with line ends between them; a list without values is None; a key of its own type (UUID, ObjectId) is text.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, UUID) or type(value).__name__ == "ObjectId":
        return str(value)
    if isinstance(value, Mapping):
        inner = [value[name] for name in _AROUND if name in value]
        return plain_value(inner[0]) if inner else value
    values = value.tolist() if getattr(value, "shape", ()) else value  # of numpy, as pandas has lists
    if not isinstance(values, list | tuple):
        return value
    values = [plain for each in values if (plain := plain_value(each)) is not None]
    if len(values) > 1:
        return "\n".join(values) if all(isinstance(each, str) for each in values) else values
    return values[0] if values else None


def value_of(value: Any, path: str, absent: Any = None) -> Any:
    """What a path such as ``_source.body`` or ``title[0]`` leads to, ``absent`` where that is nothing.

    Names of fields may have dots: at each step a field with the whole rest as its name comes first, then one with the least of it.
    Through a list of objects it leads to the values of all, as in Elasticsearch.
    """
    if isinstance(value, list):
        if place := _PLACE.match(path):
            inner, rest = value[int(place[1]) :][:1], path[place.end() :]
            return value_of(inner[0], rest, absent) if inner and rest else (inner or [absent])[0]
        found = [each for part in value if (each := value_of(part, path, absent)) is not absent]
        values = [one for each in found for one in (each if isinstance(each, list) else [each])]
        return values if found else absent
    if not isinstance(value, Mapping) or path in value:
        return value[path] if isinstance(value, Mapping) else absent
    for joint in _JOINT.finditer(path):
        if (head := path[: joint.start()]) in value:
            found = value_of(value[head], path[joint.end() :], absent)
            if found is not absent:
                return found
    return absent


def put_nested(target: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The target with values put into its objects by dotted names; objects that are missing are made."""
    for path, value in values.items():
        *parents, name = path.split(".")
        place = target
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
    return target
