"""Values as other tools write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

_AROUND: Final = ("$oid", "$date", "$numberLong", "$numberInt", "$numberDouble", "$uuid", "rendered")
"""Names under which extended JSON of MongoDB, and the REST API of WordPress, put the only value of an object."""


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
