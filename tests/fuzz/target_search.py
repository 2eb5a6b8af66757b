"""Targets: users' search bodies, and answers to them."""

import random
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple

from elasticsearch import Elasticsearch

from es_dedup.collapse import DedupSearch, SearchOptions
from es_dedup.collapse.cursor_paging import Cursor, pack
from es_dedup.collapse.model import Bound, Total
from es_dedup.errors import IndexUnavailable, UnreadableAnswer
from tests.fuzz.harness import Target
from tests.fuzz.mutate import damaged_json, nested, value_of
from tests.fuzz.node import Node

TERMS: Final = {"terms": {"field": "site"}}
BODY: Final[Mapping[str, Any]] = {
    "query": {"bool": {"must": [{"match": {"content": "水"}}], "filter": [{"term": {"site": "a"}}]}},
    "knn": [
        {"field": "v", "k": 3, "num_candidates": 9, "query_vector": [1, 2], "filter": {"term": {"y": 2}}}
    ],
    "retriever": {"standard": {"query": {"match_all": {}}, "filter": []}},
    "aggs": {
        "sites": TERMS
        | {
            "aggs": {
                "days": {"date_histogram": {"field": "at", "calendar_interval": "day"}},
                "top": {"top_hits": {"size": 1}},
            }
        },
        "most": {
            "terms": {"field": "site", "order": [{"_count": "asc"}, {"_key": "asc"}], "size": 3},
            "meta": {"a": 1},
        },
        "mean": {"avg": {"field": "price"}},
        "one": {
            "filter": {"term": {"a": 1}},
            "aggregations": {"two": {"filters": {"filters": {"x": {"match_all": {}}}}}},
        },
        "three": {"range": {"field": "n", "ranges": [{"to": 5}]}},
    },
    "sort": ["_score", {"at": {"order": "desc"}}, "name"],
    "post_filter": {"term": {"z": 3}},
    "from": 4,
    "size": 5,
    "docvalue_fields": ["n", {"field": "at", "format": "epoch_millis"}],
    "fields": ["title", {"field": "at"}],
    "stored_fields": ["x"],
    "_source": ["title"],
    "highlight": {"fields": {"content": {}}},
    "track_total_hits": True,
    "min_score": 0.5,
    "rescore": {"window_size": 5, "query": {"rescore_query": {"match_all": {}}}},
    "suggest": {"s": {"text": "x", "term": {"field": "content"}}},
    "search_after": [1, "x"],
    "pit": {"id": "p", "keep_alive": "1m"},
    "collapse": {"field": "x"},
    "runtime_mappings": {"r": {"type": "long"}},
    "profile": True,
    "timeout": "1s",
}
OPTIONS: Final = tuple(
    SearchOptions(**given)
    for given in (
        {"mode": "canonical"}, {"mode": "collapse"}, {"mode": "collapse", "group_total": "exact"}, {"mode": "group", "window": 20}, {"mode": "off"},
        {"mode": "collapse", "nest_contained": True, "window": 10},
        {"mode": "collapse", "group_total": "none", "document_total": False}, {"mode": "group", "nest_contained": True},
    )
)  # fmt: skip
CALLS: Final = ("search", "search", "search", "first", "next", "expand")


class Given(NamedTuple):
    """A search: its body, how it is made, and what decides on the answers."""

    body: Any
    options: SearchOptions
    call: str
    seed: int


@cache
def client() -> Elasticsearch:
    """The real client, over a node in this process."""
    return Elasticsearch("http://localhost:9200", node_class=Node, max_retries=0)


def sound_body(rng: random.Random) -> dict[str, Any]:
    """Some parts of a body that go together."""
    names = rng.sample(list(BODY), rng.randrange(7))
    made = {name: BODY[name] for name in names}
    if rng.random() < 0.85:
        for name in ("retriever", "search_after", "pit", "collapse"):
            made.pop(name, None)
    return made


def bodies(rng: random.Random) -> Given:
    """Any JSON, or a body with damage."""
    body: Any = sound_body(rng)
    if rng.random() < 0.8:
        body = damaged_json(rng, body)
    if rng.random() < 0.05:
        body = value_of(rng)
    if rng.random() < 0.03 and isinstance(body, dict):
        body[rng.choice(list(BODY))] = nested(rng)
    return Given(body, rng.choice(OPTIONS), rng.choice(CALLS), rng.randrange(2**32))


def sound(rng: random.Random) -> Given:
    """A body as users send it."""
    return Given(sound_body(rng), rng.choice(OPTIONS), rng.choice(CALLS), rng.randrange(2**32))


def searched(given: Given, *, damage: float, errors: float) -> None:
    """Search, page or expand."""
    Node.rng, Node.damage, Node.errors = random.Random(given.seed), damage, errors
    search = DedupSearch(client(), "i", options=given.options)
    if given.call == "expand":
        search.expand("c1", given.body)
    elif given.call == "search":
        search.search(given.body)
    else:
        page = search.search(given.body, cursor="start")
        if given.call == "next" and page.cursor:
            search.search(given.body, cursor=page.cursor)
            search.close(pack(Cursor("p", "x", (), Total(1, Bound.EXACT))))


def asked(given: Given) -> None:
    """A body whose answers are sound is never the server's fault."""
    try:
        searched(given, damage=0, errors=0)
    except TypeError:
        if isinstance(given.body, dict | None):
            raise  # only the whole body may be of a wrong type
    except (IndexUnavailable, UnreadableAnswer) as error:
        raise AssertionError(f"blames the server: {error}") from error


TARGETS: Final = (
    Target("search-bodies", bodies, asked, 100_000),
    Target("search-answers", sound, partial(searched, damage=0.5, errors=0.02), 60_000),
)
