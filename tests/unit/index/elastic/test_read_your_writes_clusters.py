"""Changed edges and assignments complete what searches find: against a store that sees everything at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from es_dedup.index.elastic.read_your_writes_clusters import ClusterChanges
from es_dedup.index.port import Assignment
from es_dedup.model import Edge, Relation

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
        now = {name: assigned.get(name) for name in PAGES} | kept.known(PAGES) | changes.known(PAGES)
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
    sent = changes.writes("i")
    assert [write.operation for write in sent] == ["index", "delete", "index", "index"]
    assert sent[-1].body == {"page_id": "a"}  # a document without cluster, which who follows changes sees
    assert len(changes) == 4
    changes.clear()
    assert len(changes) == 0
