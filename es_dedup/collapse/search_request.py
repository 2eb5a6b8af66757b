"""One search as asked for: checked, and with what every mode needs of it.

Of the body the shape of the parts that are read here is checked; their meaning is checked by the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as Limited

from es_dedup.collapse import search_bodies
from es_dedup.collapse.model import DEFAULT_SIZE, Body, Mode, SearchOptions
from es_dedup.collapse.operations import Server
from es_dedup.errors import SearchRefused, wrong_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.operations import Answer

MOST_DEPTH: Final = 200
"""Objects and lists within each other. Elasticsearch takes 30 nested ``bool`` queries, three levels each."""
NOWHERE: Final = Server()
Object: TypeAlias = dict[str, Any]
_NEVER: Final = {"sub_searches": "use a retriever", "rank": "use a retriever", "scroll": "page with a cursor"}
"""Keys of a body that searches which only count could not follow."""


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


@dataclass(frozen=True, slots=True)
class Request:
    """A search.

    Attributes:
        index: alias, pattern or names.
        body: the user's.
        options: of this search.
        header: routing and preference; empty for a search on a point in time, which has them already.
        server: where it is sent.
    """

    index: str
    body: Body
    options: SearchOptions
    header: Mapping[str, str]
    server: Server = NOWHERE

    @property
    def first(self) -> int:
        """How many groups come before the wanted ones."""
        return int(self.body.get("from", 0))

    @property
    def size(self) -> int:
        """How many groups are wanted."""
        return int(self.body.get("size", DEFAULT_SIZE))

    def paged(self, first: int, size: int) -> Request:
        """The same search for other groups of its order."""
        return replace(self, body=self.body | {"from": first, "size": size})

    async def ask(
        self, bodies: Sequence[Body], *, skip_unmatched: bool = False, filter_path: str = ""
    ) -> list[Answer]:
        """The answers to several searches of this index in one request, in order.

        Args:
            bodies: of the searches; one with a point in time names no index.
            skip_unmatched: skip shards that cannot match.
            filter_path: which parts of the answers are wanted, as Elasticsearch takes it; empty: all.
        """
        header = {"index": self.index, **self.header}
        searches = [part for body in bodies for part in ({} if "pit" in body else header, body)]
        options: dict[str, Any] = {"pre_filter_shard_size": 1} if skip_unmatched else {}
        return await self.server.search(
            searches, **options | ({"filter_path": filter_path} if filter_path else {})
        )

    @property
    def fetched(self) -> Body:
        """The body of a search whose hits are shown."""
        return search_bodies.named_fields(self.body, containment=self.options.nest_contained)

    @property
    def facets(self) -> Body:
        """The user's aggregations."""
        return search_bodies.facets_of(self.body)

    @property
    def counted(self) -> Body:
        """What says how far documents are counted; empty: as the server does by itself."""
        name = "track_total_hits"
        return {name: self.body[name]} if name in self.body else {}


def request_of(index: str, body: Mapping[str, Any] | None, options: SearchOptions) -> Request:
    """A checked search.

    Raises:
        SearchRefused: the body holds what cannot go together with its mode.
        TypeError: the body is no mapping.
    """
    if not isinstance(body, Mapping | None):
        raise wrong_type("body", "a search body", body, 'write {"query": …}')
    given = dict(body or {})
    refuse_misshapen(given)
    given |= _made_explicit(given, options)
    for name in ("from", "size"):
        if type(value := given.get(name, 0)) is not int or value < 0:
            raise SearchRefused(f"{name} is {repr(value)[:60]}", "give a whole number of 0 or more")
    if options.mode is not Mode.OFF and "collapse" in given:
        raise SearchRefused("the body collapses by itself", "leave it out, or choose mode 'off'")
    for name, advice in _NEVER.items():
        if name in given:
            raise SearchRefused(f"the body holds {name}", advice)
    if given.get("stored_fields") in ("_none_", ["_none_"]):
        raise SearchRefused("stored_fields _none_ leaves out the ids of hits", "use _source: false")
    if options.mode in (Mode.COLLAPSE, Mode.GROUP) and "slice" in given:
        raise SearchRefused(f"a slice in mode '{options.mode}' would cut clusters", "choose mode 'canonical'")
    if options.mode is Mode.COLLAPSE and "rescore" in given:  # done after collapsing, in each shard
        raise SearchRefused("rescore in mode 'collapse' would show clusters twice", "choose mode 'group'")
    if options.mode in (Mode.COLLAPSE, Mode.GROUP) and "search_after" in given:
        raise SearchRefused(
            f"search_after in mode '{options.mode}' would show groups twice", "page with a cursor instead"
        )
    chosen = {"routing": options.routing, "preference": options.preference}
    header = {} if "pit" in given else {name: value for name, value in chosen.items() if value}
    return Request(index, given, options, header)


def _made_explicit(body: Body, options: SearchOptions) -> Body:
    """Parts of a body in the form in which the server treats them as this mode does."""
    names = body.keys() & {"aggs", "aggregations"} if options.mode is Mode.CANONICAL else ()
    made = {name: search_bodies.among_shown(body[name] or {}) for name in names}
    if "suggest" in body and not body.keys() & {"query", "knn", "retriever"}:
        made["query"] = search_bodies.MATCH_ALL  # without, Elasticsearch returns suggestions and no hits
    return made
