"""Check the shape of the parts of a search body that are read here; their meaning is checked by the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as Limited

from es_dedup.errors import SearchRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_DEPTH: Final = 200
"""Objects and lists within each other. Elasticsearch takes 30 nested ``bool`` queries, three levels each."""
Object: TypeAlias = dict[str, Any]


class Field(BaseModel):
    """A field that is named with a format."""

    field: str


class Facet(BaseModel):
    """An aggregation: its kinds, and those inside of it."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Object]

    meta: Any = None
    aggs: dict[str, Facet] | None = None
    aggregations: dict[str, Facet] | None = None


class SearchBody(BaseModel):
    """The parts that are read."""

    query: Object = {}
    post_filter: Object = {}
    knn: Object | list[Object] = {}
    retriever: Annotated[dict[str, Object], Limited(min_length=1, max_length=1)] = {}
    sort: str | Object | list[str | Object] | None = None
    docvalue_fields: list[str | Field] = []
    fields: list[str | Field] = []
    stored_fields: str | list[str | Field] = []
    aggs: dict[str, Facet] | None = None
    aggregations: dict[str, Facet] | None = None


def refuse_misshapen(body: Mapping[str, Any]) -> None:
    """Refuse a body that cannot be read.

    Raises:
        SearchRefused: a part is of a wrong type, or nested too deeply.
    """
    if _too_deep(body):
        raise SearchRefused(f"the body is nested more than {MOST_DEPTH} deep", "make it flatter")
    try:
        SearchBody.model_validate(body)
    except ValidationError as error:
        part = str(error.errors()[0]["loc"][0])
        problem = f"{part} is {repr(body[part])[:60]}"
        raise SearchRefused(problem, "give what the search API of Elasticsearch has there") from error


def _too_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level:
        if (depth := depth + 1) > MOST_DEPTH:
            return True
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for some in inner for each in some if isinstance(each, dict | list | tuple)]
    return False
