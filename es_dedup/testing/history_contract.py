"""Answers of an index after any calls in any order, compared with dictionaries of what was given; part of ``FeatureIndexContract``."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import pytest

from es_dedup.index.cluster_changes import grouped
from es_dedup.index.records import RecordBatch
from es_dedup.model import Relation
from es_dedup.model.cluster_changes import ClusterChange, Cursor
from es_dedup.testing.builders import assignment, copies, edge, posting_counts, record
from es_dedup.testing.contract_fixtures import IndexFixtures, same_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Edge

    Call = Callable[[Index, "Known", random.Random], None]
    Sentences = Iterator[tuple[str, Any, Any]]
    """A sentence on the index, what it answers, and what is right."""

CALLS: Final = 25
NAMES: Final = (*"abcdef", "页", "\uffee", "\U0001f600")
"""Page ids; in UTF-16 the last two would be in the other order."""
NEVER_STORED: Final = ("unknown", "", "a\0b", "a\0", "bad\ud800", "\ud83d\ude00")
TERMS: Final = (0, 1, 2, 3, 1 << 47, (1 << 48) - 1)
HASHES: Final = (0, 7, (1 << 64) - 1)
FIELDS: Final[dict[str, tuple[Any, ...]]] = {
    "length": (0, 123_456),
    "content_hash": HASHES,
    "url": ("", "http://site.example/1", "https://example.org/新闻?a=1"),
    "site": ("", "x.org", "y.org"),
    "title": ("", "标题 “引号” 😀"),
    "published": ("", "1999", "2026-08-25T23:59:59", "2026-08-26", "2027-01-01T00:00+08:00"),
    "language": ("zh", "und"),
    "text": ("", "x", "重复的句子。" * 2000, "第一段。\n第二段，𠮷。Straße naïve\x00 ٣ भारत ελληνικά"),
    "skipped": ("", "too short"),
}
"""Values of the fields of records."""
RELATIONS: Final = (Relation.DUPLICATE, Relation.CONTAINS, Relation.CONTAINED)
SCORES: Final = (0.25, 0.5, 1.0)


PLACE_OF: Final = attrgetter("cluster_id", "canonical", "relation", "score")
"""Of an assignment and of a change."""


@dataclass(slots=True)
class Known:
    """What the index must hold; and the changes it has given, by page, with the place where they go on."""

    pages: dict[str, FeatureRecord] = field(default_factory=dict)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)
    assigned: dict[str, Assignment] = field(default_factory=dict)
    given: dict[str, ClusterChange] = field(default_factory=dict)
    place: Cursor | None = None

    def touching(self, names: Iterable[str]) -> list[Edge]:
        """Edges of any of the pages, by both ends."""
        return [each for pair, each in sorted(self.edges.items()) if not set(names).isdisjoint(pair)]

    def forget(self, edges: Iterable[Edge]) -> None:
        """Remove edges."""
        for each in edges:
            del self.edges[each.left, each.right]


def some_names(rng: random.Random) -> list[str]:
    """Different page ids, perhaps none."""
    return rng.sample(NAMES, rng.randint(0, 5))


def some_record(name: str, rng: random.Random) -> FeatureRecord:
    """A record with any values."""
    terms = rng.sample(TERMS, rng.randint(0, len(TERMS)))
    fields = {field: rng.choice(values) for field, values in FIELDS.items()}
    return record(name, terms, payload=rng.randbytes(rng.randint(0, 40)), **fields)


def some_edges(rng: random.Random) -> dict[tuple[str, str], Edge]:
    """Edges by both ends, perhaps none."""
    pairs = [sorted(rng.sample(NAMES, 2)) for _ in range(rng.randint(0, 5))]
    return {(low, high): edge(low, high, rng.choice(RELATIONS), rng.choice(SCORES)) for low, high in pairs}


def some_assignment(name: str, rng: random.Random) -> Assignment:
    """A page in any cluster."""
    return assignment(name, rng.choice(NAMES[:4]), rng.choice(RELATIONS), rng.choice(SCORES))


def put_many(index: Index, known: Known, rng: random.Random) -> None:
    """A known id replaces record, terms and text; the last of equal ids in a batch wins."""
    records = [some_record(name, rng) for name in rng.choices(NAMES, k=rng.randint(0, 6))]
    assert index.put_many(iter(records)) == {}
    known.pages |= {each.page_id: each for each in records}


def put_new(index: Index, known: Known, rng: random.Random) -> None:
    """Only pages that are not stored are written, the others are named."""
    new = {name: some_record(name, rng) for name in some_names(rng)}
    stored = new.keys() & known.pages.keys()
    assert index.put_new(RecordBatch.of(list(new.values()))) == ({}, stored)
    known.pages = new | known.pages


def delete_many(index: Index, known: Known, rng: random.Random) -> None:
    """Pages go with their terms, texts, edges and assignments, also those that are not stored; unknown ids are no error."""
    names = some_names(rng)
    stored = sum(known.pages.pop(name, None) is not None for name in names)
    assert index.delete_many([*names, *names, *NEVER_STORED]) == stored
    known.forget(known.touching(names))
    for name in names:
        known.assigned.pop(name, None)


def put_edges(index: Index, known: Known, rng: random.Random) -> None:
    """An edge between the same two pages is replaced; the pages need not be stored."""
    edges = some_edges(rng)
    index.put_edges(edges.values())
    known.edges |= edges


def drop_edges(index: Index, known: Known, rng: random.Random) -> None:
    """All edges that touch any of the pages go; unknown ids are no error."""
    names = some_names(rng)
    index.drop_edges([*names, "unknown"])
    known.forget(known.touching(names))


def assign_many(index: Index, known: Known, rng: random.Random) -> None:
    """A page's earlier assignment is replaced, and the last of a batch wins; the pages need not be stored."""
    assignments = [some_assignment(name, rng) for name in rng.choices(NAMES, k=rng.randint(0, 8))]
    index.assign_many(assignments)
    known.assigned |= {each.page_id: each for each in assignments}


def replace_all(index: Index, known: Known, rng: random.Random) -> None:
    """There are these edges and assignments, and no others."""
    known.edges = some_edges(rng)
    known.assigned = {name: some_assignment(name, rng) for name in some_names(rng)}
    index.replace_all(known.edges.values(), known.assigned.values())


def of_records(index: Index, known: Known, rng: random.Random) -> Sentences:
    """On records by id."""
    names = [*some_names(rng), *NEVER_STORED]
    pages, found = among(names, known.pages), index.get_many(names)
    yield "unknown ids are absent", found.keys(), pages.keys()
    yield "a record comes back", [name for name in pages if not same_record(found[name], pages[name])], []
    yield "records come without text", {each.text for each in found.values()} - {""}, set()
    features = {name: (each.payload, each.published) for name, each in pages.items()}
    yield "payloads come with the time", index.payloads(names), features
    texts = {name: each.text for name, each in pages.items() if each.text}
    yield "texts come back", index.texts(names), texts
    yield "count is the number of stored pages", index.count(), len(known.pages)
    both = index.pages_and_assignments(names)[:2]
    yield "records and assignments together", both, (found, index.assignments(names))
    after, batch = rng.choice(("", "c", "cc")), rng.choice((1, 2, 1000))
    parts = list(index.scan(after=after or None, batch=batch))
    scanned = [each for part in parts for each in part]
    stored = [page for name, page in sorted(known.pages.items()) if name > after]
    yield "a batch has at most so many", max(map(len, parts), default=0) <= batch, True
    yield "scan orders by id", [each.page_id for each in scanned], [each.page_id for each in stored]
    yield "scan gives records", all(map(same_record, scanned, stored)), True
    yield "scan gives payloads", [each.payload for each in scanned], [each.payload for each in stored]


def of_values(index: Index, known: Known, rng: random.Random) -> Sentences:
    """On pages by what they hold."""
    pages = dict(sorted(known.pages.items()))

    def having(name: str, values: Iterable[Any], most: int | None = None) -> dict[Any, list[str]]:
        ids = {value: [page for page in pages if getattr(pages[page], name) == value] for value in values}
        return {value: found[:most] for value, found in ids.items() if found}

    counts = [sum(term in each.terms for each in pages.values()) for term in TERMS]
    yield "terms are those of the records", posting_counts(index, *TERMS), counts
    most = rng.choice((None, 1, 2))
    alike = having("content_hash", HASHES[1:], most)
    yield "copies by hash, 0 finds nothing", copies(index, *HASHES, 5, limit=most), alike
    urls = FIELDS["url"][1:]
    yield "pages by URL", index.pages_with_url([*urls, "http://nobody.example"]), having("url", urls)
    day = rng.choice(FIELDS["published"][1:])
    older = [name for name, each in pages.items() if "" < each.published < day]
    yield "pages before a day", [name for some in index.pages_before(day) for name in some], older


def of_clusters(index: Index, known: Known, rng: random.Random) -> Sentences:
    """On edges, assignments and clusters."""
    names, clusters = some_names(rng), grouped(known.assigned.values())
    edges, members = known.touching(names), among(names, clusters)
    yield "edges of pages", index.edges_of([*names, *NEVER_STORED]), edges
    yield "assignments", index.assignments([*names, "unknown"]), among(names, known.assigned)
    yield "members of clusters", index.members([*names, "unknown"]), members
    yield "edges and members together", index.edges_and_members(names, names), (edges, members)
    size, after = rng.choice((1, 2, 3)), rng.choice(("", "a", "bb"))
    wanted = [each for name, each in clusters.items() if name > after and len(each) >= size]
    yield "clusters by id", list(index.clusters(min_size=size, after=after or None)), wanted
    yield "sizes of clusters", index.cluster_sizes(), Counter(map(len, clusters.values()))
    copied = [name for name, each in known.assigned.items() if name != each.canonical]
    duplicates = among(copied, known.pages).values()
    by = Counter(each.site for each in duplicates), Counter(each.published[:7] for each in duplicates)
    yield "duplicates by site and month", index.duplicate_counts(), by


def of_changes(index: Index, known: Known, rng: random.Random) -> Sentences:
    """On the feed of changes."""
    for change in index.changes(known.place):
        if change.page_id is None:  # a reset
            known.given.clear()
        else:
            known.given[change.page_id] = change
    known.place = index.changes_end()
    yield "nothing has changed since the end", list(index.changes(known.place)), []
    given = {name: PLACE_OF(each) for name, each in known.given.items() if each.cluster_id is not None}
    now = {name: PLACE_OF(each) for name, each in known.assigned.items()}
    yield "changes give all assignments", given, now
    changes = list(index.changes())
    yield "a page comes once", len({change.page_id for change in changes}), len(changes)
    for at in rng.sample(range(len(changes)), min(1, len(changes))):
        after = Cursor.parse(changes[at].cursor)
        yield "changes go on after any", list(index.changes(after)), changes[at + 1 :]


def among(names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of those names that have one."""
    return {name: values[name] for name in names if name in values}


class HistoryContract(IndexFixtures):
    """What was written is answered, and nothing else."""

    @pytest.mark.parametrize("seed", range(4))
    def test_any_calls_in_any_order(self, index: Index, seed: int) -> None:
        rng, known = random.Random(seed), Known()  # noqa: S311 - seeded, no secret
        calls: list[Call] = [put_many, put_new, delete_many, put_edges, drop_edges, assign_many, replace_all]
        for _ in range(CALLS):
            call, state = rng.choice(calls), rng.getstate()
            for _ in range(2):  # to repeat a call is safe
                rng.setstate(state)
                call(index, known, rng)
            index.refresh()
            for sentences in (of_records, of_values, of_clusters, of_changes):
                for sentence, answer, right in sentences(index, known, rng):
                    assert answer == right, f"{sentence}, after {call.__name__}"
