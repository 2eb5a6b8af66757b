"""Assignments of pages to clusters, and changes of these and of edges that an index does not show yet."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from es_dedup.model import Edge, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Pair = tuple[str, str]


class Assignment(NamedTuple):
    """Which cluster a page belongs to, and as what; a tuple, because every page has one.

    Attributes:
        page_id: the page.
        cluster_id: never empty; a singleton's own page id.
        canonical: page id of the cluster's canonical document; the page's own when it is the canonical document.
        relation: to the canonical document; ``exact`` for the canonical document itself.
        score: agreement with the canonical document, in [0, 1]; 1.0 for the canonical document itself, and 0.0 where the page was replaced
            since it was clustered, see ``outdated``.
    """

    page_id: str
    cluster_id: str
    canonical: str
    relation: Relation
    score: float

    @property
    def outdated(self) -> bool:
        """Whether the stored page is another version than the one that was clustered: its writer is at work, or was killed."""
        return self.score == 0.0


class ClusterChanges:
    """The last state of what was changed; for one thread at a time.

    Attributes:
        edges: by both ends, the lesser id first; None for those that are no more.
        assigned: assignments by page; None for those that are no more.
    """

    def __init__(self) -> None:
        self.edges: dict[Pair, Edge | None] = {}
        self._of_page: dict[str, set[Pair]] = {}
        self.assigned: dict[str, Assignment | None] = {}

    def __len__(self) -> int:
        """How many changes there are."""
        return len(self.edges) + len(self.assigned)

    def clear(self) -> None:
        """Forget everything."""
        for kept in (self.edges, self._of_page, self.assigned):
            kept.clear()

    def add(self, later: ClusterChanges) -> None:
        """Keep what was changed later, too."""
        for pair, edge in later.edges.items():
            self._keep(pair, edge)
        self.assigned |= later.assigned

    def put(self, edges: Iterable[Edge]) -> None:
        """New or replaced edges."""
        for edge in map(turned, edges):
            self._keep((edge.left, edge.right), edge)

    def drop(self, edges: Iterable[Edge]) -> None:
        """Edges that are no more."""
        for edge in edges:
            self._keep((edge.left, edge.right), None)

    def assign(self, assignments: Iterable[Assignment]) -> None:
        """New or replaced assignments."""
        self.assigned.update((each.page_id, each) for each in assignments)

    def unassign(self, page_ids: Iterable[str]) -> None:
        """Assignments that are no more."""
        self.assigned.update(dict.fromkeys(page_ids))

    # Answers, completed

    def edges_of(self, page_ids: Iterable[str], found: Iterable[Edge]) -> list[Edge]:
        """All edges that touch the pages, by (left, right)."""
        edges: dict[Pair, Edge | None] = {(edge.left, edge.right): edge for edge in found}
        for page_id in page_ids:
            edges.update((pair, self.edges[pair]) for pair in self._of_page.get(page_id, ()))
        return [edge for _, edge in sorted(edges.items()) if edge is not None]

    def members(self, cluster_ids: Iterable[str], found: Iterable[Assignment]) -> Iterator[Assignment]:
        """All assignments of the clusters."""
        wanted = set(cluster_ids)
        yield from (each for each in found if each.page_id not in self.assigned)
        yield from (each for each in self.assigned.values() if each and each.cluster_id in wanted)

    def _keep(self, pair: Pair, edge: Edge | None) -> None:
        self.edges[pair] = edge
        for page_id in pair:
            self._of_page.setdefault(page_id, set()).add(pair)


def turned(edge: Edge) -> Edge:
    """The same edge with the lesser id on the left."""
    if edge.left <= edge.right:
        return edge
    return Edge(edge.right, edge.left, edge.relation.reversed, edge.score)


def grouped(found: Iterable[Assignment]) -> dict[str, list[Assignment]]:
    """Assignments by cluster id, clusters and members by id ascending."""
    ordered = sorted(found, key=lambda each: (each.cluster_id, each.page_id))
    return {cluster: list(group) for cluster, group in groupby(ordered, key=lambda each: each.cluster_id)}
