"""Threads share one index: each finds what it has written, whatever the others do at the same time, and nothing of it is lost.

On the server, searches are never refreshed by themselves.
"""

from __future__ import annotations

import inspect
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from es_dedup.batch.clusters import ClusterCache
from es_dedup.index.cluster_changes import ClusterChanges
from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.elastic.address import is_address, parse_address
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.index.port import Index
from es_dedup.index.records import RecordBatch
from es_dedup.model.cluster_lists import ClusterQuery
from es_dedup.testing.builders import assignment, candidate_query, edge, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Edge

THREADS = 8
ROUNDS = 10
PAGES = 5  # of each thread
FEATURES = {"ccdet.window": 10}
LAST = {"replace_all", "close"}  # by one thread at a time, as they say


@pytest.fixture
def index(place: str) -> Iterator[Index]:
    """An empty index, in a file or on a server."""
    opened: Index
    if is_address(place):
        options = Options(refresh="-1", lock_seconds=60)
        opened = ElasticIndex(parse_address(place), features=FEATURES, options=options)
    else:
        opened = EmbeddedIndex(place, features=FEATURES, lock_seconds=60)
    with opened:
        yield opened


def asked_of_all() -> set[str]:
    """The methods of the port."""
    public = {name for name, _ in inspect.getmembers(Index, inspect.isfunction) if not name.startswith("_")}
    return (public | {"features", "keeps_named"}) - {"put_distinct"}  # put_batch and put_new call it


class Caller:
    """What one thread does to its own pages, and what is stored of them."""

    def __init__(self, index: Index, number: int, called: set[str]) -> None:
        self._index, self._number, self._called = index, number, called
        self._random = random.Random(number)
        self.names = [f"{number}-{page}" for page in range(PAGES)]
        self.records: dict[str, FeatureRecord] = {}
        self.edges: dict[tuple[str, str], Edge] = {}
        self.assigned: dict[str, Assignment] = {}
        self.note: str | None = None

    def call(self, method: str, *given: Any, **named: Any) -> Any:
        """Call a method of the index, all of an iterator's values."""
        self._called.add(method)
        answer = getattr(self._index, method)
        answer = answer(*given, **named) if callable(answer) else answer
        return list(answer) if inspect.isgenerator(answer) else answer

    def run(self) -> None:
        """Some random steps, each in a session or outside of any."""
        for _ in range(ROUNDS):
            step = self._random.choice((self.put, self.put_some, self.delete, self.cluster, self.batch))
            with self._random.choice((nullcontext, self._session))():
                step()
                self.check_clusters()
            self.check_pages()
            self._random.choice((self.ask_lists, self.ask_pages, self.keep_note))()

    def _session(self) -> AbstractContextManager[object]:
        session: AbstractContextManager[object] = self.call("writing")
        return session

    def put(self) -> None:
        name = self._random.choice(self.names)
        terms = [self._number * 100 + self._random.randrange(20) for _ in range(4)]
        self.records[name] = record(
            name, sorted(set(terms)), text=f"word{self._number} page {name}", url=name
        )
        self.call("put_many", [self.records[name]])

    def put_some(self) -> None:
        made = [record(name, [self._number * 100 + 50], published="2024-05-01") for name in self.names[:3]]
        if self._random.random() < 0.5:
            self.call("put_batch", RecordBatch.of(made))
            self.records |= {each.page_id: each for each in made}
            return
        _, there = self.call("put_new", RecordBatch.of(made))
        assert there == self.records.keys() & set(self.names[:3])
        self.records |= {each.page_id: each for each in made if each.page_id not in there}

    def delete(self) -> None:
        if not self.records:
            return
        name = self._random.choice(sorted(self.records))
        assert self.call("delete_many", [name]) == 1
        del self.records[name]
        self.assigned.pop(name, None)
        self.edges = {pair: each for pair, each in self.edges.items() if name not in pair}

    def _changes(self) -> tuple[list[Edge], list[str], list[Assignment]]:
        left, right = sorted(self._random.sample(self.names, 2))
        made = edge(left, right, score=round(self._random.random(), 3))
        dropped = [self._random.choice(self.names)] if self._random.random() < 0.3 else []
        cluster = self._random.choice(self.names)
        given = [
            assignment(cluster),
            *(assignment(name, cluster) for name in (left, right) if name != cluster),
        ]
        self.edges = {pair: each for pair, each in self.edges.items() if not {*pair} & {*dropped}}
        self.edges[left, right] = made
        self.assigned |= {each.page_id: each for each in given}
        return [made], dropped, given

    def cluster(self) -> None:
        edges, dropped, given = self._changes()
        self.call("drop_edges", dropped)
        self.call("put_edges", edges)
        self.call("assign_many", given)

    def batch(self) -> None:
        with self.call("keep_writer_lock"), self._session():
            edges, dropped, given = self._changes()
            changes = ClusterChanges()
            changes.drop(self.call("edges_of", dropped))
            changes.put(edges)
            changes.assign(given)
            self.call("change_clusters", changes)

    @property
    def edges_stored(self) -> list[Edge]:
        return [each for _, each in sorted(self.edges.items())]

    @property
    def members(self) -> dict[str, list[Assignment]]:
        groups: dict[str, list[Assignment]] = {}
        for _, each in sorted(self.assigned.items()):
            groups.setdefault(each.cluster_id, []).append(each)
        return groups

    def check_clusters(self) -> None:
        assert self.call("edges_of", self.names) == self.edges_stored
        assert self.call("assignments", self.names) == self.assigned
        assert self.call("members", self.names) == self.members
        assert self.call("edges_and_members", self.names, self.names) == (self.edges_stored, self.members)

    def check_pages(self) -> None:
        found, assigned, notes = self.call("pages_and_assignments", self.names, ["note"])
        assert found.keys() == self.records.keys()
        assert (assigned, notes.keys()) == (self.assigned, {"note"})
        assert self.call("get_many", self.names).keys() == self.records.keys()
        assert self.call("payloads", self.names).keys() == self.records.keys()
        texts = {name: each.text for name, each in self.records.items() if each.text}
        assert self.call("texts", self.names) == texts
        self.call("named", self.names)
        for name, each in self.records.items():
            query = candidate_query(each.terms[0])
            (answer,) = self.call("candidates_many", [query])
            expected = {other.page_id for other in self.records.values() if each.terms[0] in other.terms}
            assert name in expected == set(answer.candidates)
            assert self.call("candidates_with_copies", [query], [1])[0] == [answer]

    def ask_pages(self) -> None:
        self.call("prepare_search")
        assert self.call("unsearchable") >= 0  # others write meanwhile
        found = {name for name, _ in self.call("search", f"word{self._number}", limit=100)}
        assert found == {name for name, each in self.records.items() if each.text}
        assert self.call("matches", f"word{self._number}") == len(found)
        scanned = {each.page_id for some in self.call("scan") for each in some}
        assert scanned & {*self.names} == self.records.keys()
        urls = {name: [name] for name, each in self.records.items() if each.url}
        assert self.call("pages_with_url", self.names) == urls
        before = {name for some in self.call("pages_before", "2024-06-01") for name in some} & {*self.names}
        assert before == {name for name, each in self.records.items() if each.published}
        assert self.call("count") >= len(self.records)
        self.call("names_page", self.names[0])

    def ask_lists(self) -> None:
        groups = {each[0].cluster_id: each for each in self.call("clusters")}
        assert {name: groups[name] for name in groups if name in self.names} == self.members
        assigned = {each.page_id for group in self.members.values() for each in group}
        assert assigned == {*self.names} & {each.page_id for group in groups.values() for each in group}
        listed = {
            each.id: each.size for each in self.call("list_clusters", ClusterQuery(min_size=1), limit=1_000)
        }
        assert {name: size for name, size in listed.items() if name in self.names} == {
            name: len(group) for name, group in self.members.items()
        }
        assert self.call("cluster_sizes").total() >= len(self.members)
        self.call("duplicate_counts")
        changes = {change.page_id: change for change in self.call("changes")}
        assert {name for name in self.names if name in changes and changes[name].cluster_id} == {
            *self.assigned
        }
        for method in (
            "changes_end",
            "refresh",
            "refresh_clusters",
            "only_writer",
            "features",
            "keeps_named",
            "sizes",
        ):
            self.call(method)

    def keep_note(self) -> None:
        name = f"note {self._number}"
        self.note = self._random.choice((None, str(self._random.random())))
        self.call("set_note", name, self.note)
        self.call("set_notes", {name: self.note})
        assert self.call("note", name) == self.note
        assert self.call("notes", [name]) == {name: self.note}
        assert (name in self.call("note_names")) == (self.note is not None)
        if self._number == 0:
            self.call("save_statistics", b"some")
            assert self.call("load_statistics") == b"some"
            gone = f"gone {self._random.random()}"
            self.call("put_many", [record(gone)])
            self.call("delete_many", [gone])
            self.call("erase", [gone])


def test_each_of_eight_threads_finds_what_it_has_written(index: Index) -> None:
    called: set[str] = set()
    callers = [Caller(index, number, called) for number in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(caller.run) for caller in callers]:
            done.result()
    for caller in callers:
        caller.check_clusters()
        caller.check_pages()
    every = [name for caller in callers for name in caller.names]
    index.replace_all(index.edges_of(every), index.assignments(every).values())
    for caller in callers:
        caller.check_clusters()
        caller.ask_lists()
    index.close()
    assert called | LAST >= asked_of_all()


def test_a_call_outside_of_sessions_is_kept_while_another_thread_changes_clusters_in_one(
    index: Index,
) -> None:
    """The other thread's changes are kept together, and its session is lost meanwhile: neither concerns this one."""
    inside, written = threading.Event(), threading.Event()

    def hold() -> None:
        with index.writing():
            updates = ClusterCache(index)
            updates.put_edges([edge("c", "d")])
            inside.set()
            written.wait(20)
            updates.store()

    with ThreadPoolExecutor(2) as pool:
        holding = pool.submit(hold)
        assert inside.wait(20)
        putting = pool.submit(index.put_edges, [edge("a", "b")])
        if isinstance(index, ElasticIndex):  # which keeps nobody out who holds no session
            putting.result(20)
            assert index.edges_of(["a"]) == [edge("a", "b")]
        written.set()
        for done in (holding, putting):
            done.result(20)
    assert index.edges_of(["a", "c"]) == [edge("a", "b"), edge("c", "d")]
