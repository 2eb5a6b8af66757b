"""Edges and assignments changed by this object that searches may not see yet: answers are completed by them.

They hold as long as nobody else changes clusters, so only within a write session, and from one session to the next when no other was
between. What is written in ``batched_cluster_updates`` is kept here until it is sent, in one request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.index.elastic import clusters
from es_dedup.index.elastic.clusters import turned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_dedup.index.elastic.bulk import Write
    from es_dedup.index.port import Assignment
    from es_dedup.model import Edge

    Pair = tuple[str, str]

MOST: Final = 20_000  # changes that are kept


class ClusterWriteCache:
    """The last state of what was changed, None for what was taken away; for the thread that holds the write session."""

    def __init__(self) -> None:
        self._edges: dict[Pair, Edge | None] = {}
        self._of_page: dict[str, set[Pair]] = {}
        self._assigned: dict[str, Assignment | None] = {}
        self._unsent_edges: set[Pair] = set()
        self._unsent_pages: set[str] = set()
        self.stamp = 0  # rises whenever something was sent

    def __len__(self) -> int:
        """How many changes are kept."""
        return len(self._edges) + len(self._assigned)

    def clear(self) -> None:
        """Forget everything, also what was not sent."""
        for kept in (self._edges, self._of_page, self._assigned, self._unsent_edges, self._unsent_pages):
            kept.clear()

    def shown(self) -> None:
        """Forget what searches see now: all that was sent."""
        edges = {pair: self._edges[pair] for pair in self._unsent_edges}
        assigned = {page_id: self._assigned[page_id] for page_id in self._unsent_pages}
        self.clear()
        for pair, edge in edges.items():
            self._keep(pair, edge)
        self._assigned.update(assigned)
        self._unsent_edges, self._unsent_pages = set(edges), set(assigned)

    def put(self, edges: Iterable[Edge]) -> None:
        """New or replaced edges, not sent yet."""
        for edge in map(turned, edges):
            self._keep((edge.left, edge.right), edge)

    def drop(self, edges: Iterable[Edge]) -> None:
        """Edges that are no more, not sent yet."""
        for edge in edges:
            self._keep((edge.left, edge.right), None)

    def assign(self, assignments: Iterable[Assignment]) -> None:
        """New or replaced assignments, not sent yet."""
        for each in assignments:
            self._assigned[each.page_id] = each
            self._unsent_pages.add(each.page_id)

    def unassign(self, page_ids: Iterable[str]) -> None:
        """Assignments that are no more, not sent yet."""
        for page_id in page_ids:
            self._assigned[page_id] = None
            self._unsent_pages.add(page_id)

    def unsent(self, index: str) -> list[Write]:
        """What is to be sent."""
        edges = [(pair, self._edges[pair]) for pair in sorted(self._unsent_edges)]
        pages = [(page_id, self._assigned[page_id]) for page_id in sorted(self._unsent_pages)]
        return [
            *clusters.edge_writes([edge for _, edge in edges if edge], index),
            *clusters.pair_deletes([pair for pair, edge in edges if not edge], index),
            *clusters.assignment_writes([each for _, each in pages if each], index),
            *clusters.removals([page_id for page_id, each in pages if not each], index),
        ]

    def sent(self) -> None:
        """All of it was."""
        self.stamp += 1
        self._unsent_edges.clear()
        self._unsent_pages.clear()

    # Answers of searches and reads, completed

    def edges_of(self, page_ids: Iterable[str], found: Iterable[Edge]) -> list[Edge]:
        """All edges that touch the pages, by (left, right)."""
        edges: dict[Pair, Edge | None] = {(edge.left, edge.right): edge for edge in found}
        for page_id in page_ids:
            edges.update((pair, self._edges[pair]) for pair in self._of_page.get(page_id, ()))
        return [edge for _, edge in sorted(edges.items()) if edge is not None]

    def known(self, page_ids: Iterable[str]) -> dict[str, Assignment | None]:
        """Of the pages those whose assignment was changed."""
        return {page_id: self._assigned[page_id] for page_id in page_ids if page_id in self._assigned}

    def members(self, cluster_ids: Iterable[str], found: Iterable[Assignment]) -> Iterator[Assignment]:
        """All assignments of the clusters."""
        wanted = set(cluster_ids)
        yield from (each for each in found if each.page_id not in self._assigned)
        yield from (each for each in self._assigned.values() if each and each.cluster_id in wanted)

    def _keep(self, pair: Pair, edge: Edge | None) -> None:
        self._edges[pair] = edge
        self._unsent_edges.add(pair)
        for page_id in pair:
            self._of_page.setdefault(page_id, set()).add(pair)
