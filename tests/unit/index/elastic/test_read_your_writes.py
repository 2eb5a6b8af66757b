"""What searches do not see yet completes their answers: pages, changed edges and assignments, which pages answer, how long they are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.index.cluster_changes import Assignment, ClusterChanges
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.clusters import _writes
from es_dedup.index.elastic.collection import Collection, Result
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.elastic.read_your_writes import MOST_PAGES, PageWriteCache, newest_of, postings_of
from es_dedup.index.elastic.server import Server
from es_dedup.index.records import RecordBatch
from es_dedup.model import Edge, Relation
from es_dedup.testing.builders import random_records, record


def written(first: int, count: int, status: int = 201) -> list[Result]:
    return [Result(status, condition=(number, 1)) for number in range(first, first + count)]


def begun() -> PageWriteCache:
    """After a first write, which nothing is known to precede."""
    recent = PageWriteCache()
    assert not recent.add(RecordBatch.of([record("first")]), [0], written(0, 1))
    assert len(recent) == 0
    return recent


def batch(*names: str) -> RecordBatch:
    return RecordBatch.of([record(name, [number, 9], content_hash=7) for number, name in enumerate(names)])


class TestKept:
    def test_writes_that_follow_each_other_are_enough(self) -> None:
        recent = begun()
        assert recent.add(batch("a", "b"), [0, 1], written(1, 2))
        assert recent.add(batch("c"), [0], written(3, 1))
        assert len(recent) == 3

    @pytest.mark.parametrize(
        "results",
        [written(2, 2), written(1, 2, 200), [*written(1, 1), *written(3, 1)], written(1, 1) + written(1, 1)],
        ids=["another writer before", "replaced", "another writer between", "another shard"],
    )
    def test_else_searches_have_to_be_refreshed(self, results: list[Result]) -> None:
        recent = begun()
        assert not recent.add(batch("a", "b"), [0, 1], results)
        assert len(recent) == 0

    def test_another_primary_is_noticed(self) -> None:
        assert not begun().add(batch("a"), [0], [Result(201, condition=(1, 2))])

    def test_what_searches_see_is_forgotten(self) -> None:
        recent = begun()
        recent.add(batch("a", "b"), [0, 1], written(1, 2))
        recent.add(batch("c"), [0], written(3, 1))
        recent.seen(1)
        assert len(recent) == 3
        recent.seen(newest_of({"hits": {"hits": [{"sort": [2]}]}}))
        assert recent.copies([7]) == {7: ["c"]}
        recent.seen(recent.newest())
        assert (len(recent), recent.newest()) == (0, -1)
        assert newest_of({"hits": {"hits": []}}) == -1

    def test_too_many_are_not_kept(self) -> None:
        recent = begun()
        names = [str(number) for number in range(MOST_PAGES)]
        assert recent.add(batch(*names), range(MOST_PAGES), written(1, MOST_PAGES))
        assert not recent.add(batch("more"), [0], written(MOST_PAGES + 1, 1))
        assert recent.copies([7]) == {7: ["more"]}


def test_postings_are_those_of_a_plain_count() -> None:
    recent, stored = begun(), random_records(90, seed=1, vocabulary=120)
    for start in (0, 30, 60):
        part = RecordBatch.of(stored[start : start + 30])
        assert recent.add(part, range(30), written(1 + start, 30))
    terms = np.arange(0, 150, 2, dtype=np.uint64)
    postings = postings_of(recent.parts(), terms)
    for place, term in enumerate(terms.tolist()):
        carriers = postings.pages[postings.bounds[place] : postings.bounds[place + 1]].tolist()
        assert carriers == [at for at, each in enumerate(stored) if term in each.terms]


PAGES = "abcd"
pages = st.sampled_from(PAGES)
pairs = st.tuples(pages, pages).filter(lambda pair: pair[0] != pair[1])
steps = st.one_of(
    st.tuples(st.just("put"), pairs, st.floats(0, 1)),
    st.tuples(st.just("drop"), pairs),
    st.tuples(st.just("assign"), pages, pages),
    st.tuples(st.just("unassign"), pages),
    st.tuples(st.just("sent")),
    st.tuples(st.just("shown")),
)


def edge_of(pair: tuple[str, str], score: float = 0.0) -> Edge:
    left, right = sorted(pair)
    return Edge(left, right, Relation.DUPLICATE, score)


class Model:
    """What is true, and what searches see of it."""

    def __init__(self) -> None:
        self.edges: dict[tuple[str, str], Edge] = {}
        self.assigned: dict[str, Assignment] = {}
        self.sent = self.copy()
        self.seen = self.copy()

    def copy(self) -> tuple[dict[tuple[str, str], Edge], dict[str, Assignment]]:
        return dict(self.edges), dict(self.assigned)


def step(what: tuple, model: Model, changes: ClusterChanges, kept: ClusterChanges) -> None:  # type: ignore[type-arg]
    kind, *given_ = what
    if kind == "put":
        edge = edge_of(*given_)
        changes.put([edge])
        model.edges[edge.left, edge.right] = edge
    elif kind == "drop":
        edge = edge_of(*given_)
        changes.drop([edge])
        model.edges.pop((edge.left, edge.right), None)
    elif kind == "assign":
        each = Assignment(given_[0], given_[1], given_[1], Relation.EXACT, 1.0)
        changes.assign([each])
        model.assigned[each.page_id] = each
    elif kind == "unassign":
        changes.unassign(given_)
        model.assigned.pop(given_[0], None)
    elif kind == "sent":
        kept.add(changes)
        changes.clear()
        model.sent = model.copy()
    else:
        kept.clear()
        model.seen = model.sent


@given(st.lists(steps, max_size=30))
def test_completed_answers_are_true(history: list[tuple]) -> None:  # type: ignore[type-arg]
    model, changes, kept = Model(), ClusterChanges(), ClusterChanges()
    for what in history:
        step(what, model, changes, kept)
        edges, assigned = model.seen
        for page in PAGES:
            found = [edge for pair, edge in edges.items() if page in pair]
            assert changes.edges_of([page], kept.edges_of([page], found)) == [
                edge for pair, edge in sorted(model.edges.items()) if page in pair
            ]
            members = [each for each in assigned.values() if each.cluster_id == page]
            assert {
                each.page_id: each for each in changes.members([page], kept.members([page], members))
            } == {each.page_id: each for each in model.assigned.values() if each.cluster_id == page}
        now = {name: assigned.get(name) for name in PAGES} | kept.assigned | changes.assigned
        assert now == {name: model.assigned.get(name) for name in PAGES}


def test_what_is_sent_is_each_change_once() -> None:
    changes = ClusterChanges()
    changes.put([Edge("b", "a", Relation.CONTAINS, 0.5), edge_of(("a", "c"))])
    changes.put([edge_of(("a", "b"), 0.7)])
    changes.assign(
        [Assignment("a", "a", "a", Relation.EXACT, 1.0), Assignment("b", "a", "a", Relation.EXACT, 1.0)]
    )
    changes.drop([edge_of(("a", "c"))])
    changes.unassign(["a"])
    sent = list(
        _writes(changes, Collection(Server(parse_address("http://localhost:9200/i"), Options()), "i"))
    )
    assert [write.operation for write in sent] == ["index", "delete", "index", "index"]
    assert sent[-1].body == {"page_id": "a"}  # a document without cluster, which who follows changes sees
    assert len(changes) == 4
    changes.clear()
    assert len(changes) == 0
