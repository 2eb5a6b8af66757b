"""Targets: answers of Elasticsearch to all that the feature index, the user's index and jobs ask."""

import random
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from elasticsearch import Elasticsearch

from es_dedup.deduplicator.index_reader import IndexReader
from es_dedup.detectors.named_fields import field_types, term_fields
from es_dedup.errors import UnreadableAnswer
from es_dedup.index import factory
from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.elastic.documents import TermFields
from es_dedup.index.source_index import DedupField, Shard, SourceDocument, document_key
from es_dedup.model import Page
from es_dedup.settings import Settings
from es_dedup.testing.builders import assignment, candidate_query, copies, edge, record
from tests.fuzz.harness import Target
from tests.fuzz.node import DEAD, JOB, PART, Node
from tests.fuzz.target_formats import contents, payloads

ADDRESS: Final = "http://localhost:9200/i"
FIELDS: Final = TermFields(term_fields(Settings()), field_types(Settings()))
OPTIONS: Final = Options(retry_seconds=0, lock_seconds=0.05)
IDS: Final = ("p0", "p1", "p2", "i/p3")
DEDUP_FIELD: Final = DedupField(
    "p0", canonical=True, relation="unique", duplicate_of="", contained_in=(), cluster_size=1
)
DOCUMENT: Final = SourceDocument(document_key("i/p3"), {"content": "x"}, {"waiting": True}, 3, 1)

INDEX: Final[Mapping[str, Callable[[Any], object]]] = {
    "get": lambda index: index.get_many(IDS),
    "payloads": lambda index: index.payloads(IDS),
    "known": lambda index: index.pages_and_assignments(IDS, ("a",)),
    "both": lambda index: index.edges_and_members(IDS, IDS),
    "texts": lambda index: index.texts(IDS),
    "candidate_query": lambda index: index.candidates_with_copies(
        [candidate_query(1, 2), candidate_query(2, 3, limit=1)], [5, 6], limit=2
    ),
    "put": lambda index: index.put_many([record("p1", (1, 2)), record("p2", (2,))]),
    "delete": lambda index: index.delete_many(IDS),
    "scan": lambda index: list(index.scan(batch=5)),
    "search": lambda index: index.search("水"),
    "hash": lambda index: copies(index, 5),
    "note": lambda index: (index.note("a"), index.set_note("a", "b")),
    "count": lambda index: index.count(),
    "edges": lambda index: (index.edges_of(IDS), index.put_edges([edge("p0", "p1")]), index.drop_edges(IDS)),
    "assignments": lambda index: (index.assignments(IDS), index.assign_many([assignment("p0")])),
    "members": lambda index: (index.members(IDS), list(index.clusters(min_size=2))),
    "replace": lambda index: index.replace_all([edge("p0", "p1")], [assignment("p0")]),
    "statistics": lambda index: (index.load_statistics(), index.save_statistics(b"x")),
    "sizes": lambda index: index.sizes(),
    "check": lambda index: IndexReader(index, Settings()).check(Page("n", text=contents()[0].text)),
    "explain": lambda index: IndexReader(index, Settings()).explain("p0", "p1"),
    "clusters": lambda index: list(IndexReader(index, Settings()).clusters()),
    "stats": lambda index: IndexReader(index, Settings()).stats(),
    "found": lambda index: IndexReader(index, Settings()).search("水"),
}
SOURCE_INDEX: Final[Mapping[str, Callable[[Any], object]]] = {
    "indices": lambda source: source.indices("i*"),
    "prepare": lambda source: (source.prepare(["i"]), source.prepared("i"), source.check(["i"])),
    "server": lambda source: source.server(),
    "shards": lambda source: source.shards("i"),
    "read": lambda source: source.read(["i/a", "i/b"], ["content"]),
    "scan": lambda source: list(source.scan(Shard("i", 0, 3, 9), ["content"], batch=5)),
    "without": lambda source: list(source.without_dedup_field("i", ["content"], batch=5)),
    "write": lambda source: source.write_dedup_fields({"i/a": DEDUP_FIELD, "i/b": None}),
    "count": lambda source: (source.count("i"), source.count_waiting("i"), source.refresh("i")),
    "target": lambda source: source.write_target("i"),
    "delete": lambda source: source.delete(["i/a"]),
    "waiting": lambda source: (
        list(source.waiting("i", ["content"])),
        source.decided([DOCUMENT], ["content"]),
    ),
}
JOBS: Final[Mapping[str, Callable[[Any], object]]] = {
    "job": lambda jobs: (jobs.job("j1"), jobs.change(JOB, (1, 1)), jobs.create(JOB)),
    "jobs": lambda jobs: jobs.jobs(unfinished=True),
    "parts": lambda jobs: (
        jobs.parts("j1", "a", [0, 1]),
        jobs.change_partition(PART, (1, 1)),
        jobs.create_partitions([PART]),
    ),
    "drop": lambda jobs: jobs.drop(JOB),
    "dead": lambda jobs: (
        jobs.dead(),
        jobs.count_dead(),
        jobs.put_dead_letters([DEAD]),
        jobs.drop_dead([DEAD]),
    ),
}
GENERATIONS: Final[Mapping[str, Callable[[Settings], object]]] = {
    "swap": lambda settings: factory.swap_generation(ADDRESS, "g", settings),
    "drop": lambda settings: factory.drop_generation(ADDRESS, "g", settings),
}


class Given(NamedTuple):
    """What is asked, and what decides on the answers; ``late``: only those after opening are damaged."""

    part: str
    call: str
    seed: int
    late: bool
    damage: float = 0.3


def asked(rng: random.Random) -> Given:
    """Any call."""
    part, calls = rng.choice(
        (
            ("index", INDEX),
            ("index", INDEX),
            ("source index", SOURCE_INDEX),
            ("jobs", JOBS),
            ("generations", GENERATIONS),
        )
    )
    return Given(
        part, rng.choice(list(calls)), rng.randrange(2**32), rng.random() < 0.8, rng.choice((0.03, 0.1, 0.3))
    )


@cache
def settings() -> Settings:
    """Nothing is repeated or waited for."""
    return Settings.model_validate({"elastic": {"retry_seconds": 0}})


def answered(given: Given, *, errors: float, damage: float | None = None) -> None:
    """Open what is asked, and ask."""
    damage = given.damage if damage is None else damage
    Node.rng, Node.payloads = random.Random(given.seed), payloads(Settings())
    Node.features = factory.features_of(settings())
    Node.damage, Node.errors = (0, 0) if given.late else (damage, errors)
    # The client that the adapter makes is the real one, over a node in this process.
    client = partial(Elasticsearch, node_class=Node)
    with patch("elasticsearch.Elasticsearch", client), patch("time.sleep", lambda _: None):
        if given.part == "generations":
            Node.damage, Node.errors = damage, errors
            GENERATIONS[given.call](settings())
            return
        opened = _opened(given.part)
        Node.damage, Node.errors = damage, errors
        calls: Mapping[str, Callable[[Any], object]] = {
            "index": INDEX,
            "source index": SOURCE_INDEX,
            "jobs": JOBS,
        }[given.part]
        try:
            calls[given.call](opened)
        finally:
            opened.close()


def _opened(part: str) -> Any:
    match part:
        case "index":
            return ElasticIndex(
                parse_address(ADDRESS), features=Node.features, options=OPTIONS, fields=lambda _: FIELDS
            )
        case "source index":
            return factory.open_source_index(ADDRESS, settings())
    return factory.open_jobs(ADDRESS, settings())


def refused(given: Given) -> None:
    """Errors that the server may answer with are not taken for answers that cannot be read."""
    try:
        answered(given, damage=0, errors=0.3)
    except UnreadableAnswer as error:
        raise AssertionError(str(error)) from error


TARGETS: Final = (
    Target("elastic-answers", asked, partial(answered, errors=0.02), 60_000),
    Target("elastic-errors", asked, refused, 30_000),
)
