"""Edges and assignments that were changed and that searches may not see yet: their answers are completed by them.

``ClusterChanges`` holds the last state of what was changed. An index keeps one for what it has sent within write sessions; it holds as long as
nobody else changes clusters, so only within a session, and from one session to the next when no other was between. ``ClusterBatch``
has one of its own for what it has not sent yet.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from es_dedup.index.elastic.cluster_documents import assignment_writes, edge_writes, grouped, turned
from es_dedup.index.elastic.tokens import key_of, pair_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_dedup.index.elastic.bulk import Write
    from es_dedup.index.elastic.collection import Collection
    from es_dedup.index.port import Assignment, Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Edge

    Pair = tuple[str, str]

MOST: Final = 20_000  # changes that are kept


class ClusterChanges:
    """The last state of what was changed, None for what was taken away; for one thread at a time."""

    def __init__(self) -> None:
        self._edges: dict[Pair, Edge | None] = {}
        self._of_page: dict[str, set[Pair]] = {}
        self._assigned: dict[str, Assignment | None] = {}

    def __len__(self) -> int:
        """How many changes there are."""
        return len(self._edges) + len(self._assigned)

    def clear(self) -> None:
        """Forget everything."""
        for kept in (self._edges, self._of_page, self._assigned):
            kept.clear()

    def add(self, later: ClusterChanges) -> None:
        """Keep what was changed later, too."""
        for pair, edge in later._edges.items():
            self._keep(pair, edge)
        self._assigned |= later._assigned

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
        self._assigned.update((each.page_id, each) for each in assignments)

    def unassign(self, page_ids: Iterable[str]) -> None:
        """Assignments that are no more."""
        self._assigned.update(dict.fromkeys(page_ids))

    def writes(self, documents: Collection) -> list[Write]:
        """What is to be sent; a page without assignment keeps a document without cluster, so that who follows changes sees it."""
        edges, pages = sorted(self._edges.items()), sorted(self._assigned.items())
        return [
            *edge_writes([edge for _, edge in edges if edge], documents),
            *(documents.delete(pair_key(*pair)) for pair, edge in edges if not edge),
            *assignment_writes([each for _, each in pages if each], documents),
            *(documents.put(key_of(page_id), {"page_id": page_id}) for page_id, each in pages if not each),
        ]

    # Answers, completed

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
        for page_id in pair:
            self._of_page.setdefault(page_id, set()).add(pair)


class ClusterBatch:
    """Cluster changes that are sent together, see ``Index.batched_cluster_updates``; reads through it see them, and nobody else does.

    Attributes:
        changes: what was changed through it.
        changed_notes: notes that were set through it.
    """

    def __init__(self, index: Index) -> None:
        self._index, self.changes = index, ClusterChanges()
        self.changed_notes: dict[str, str | None] = {}
        self.get_many, self.note, self.notes = index.get_many, index.note, index.notes

    def pages_and_assignments(
        self, page_ids: Iterable[str], notes: Sequence[str] = ()
    ) -> tuple[dict[str, FeatureRecord], dict[str, Assignment], dict[str, str | None]]:
        """See ``Index.pages_and_assignments``."""
        names = list(dict.fromkeys(page_ids))
        stored, found, said = self._index.pages_and_assignments(names, notes)
        now = found | self.changes.known(names)
        return stored, {name: each for name in names if (each := now.get(name)) is not None}, said

    def set_note(self, name: str, value: str | None) -> None:
        """See ``ClusterBatch.set_note`` of the port."""
        self.changed_notes[name] = value

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``ClusterStore.put_edges``."""
        self.changes.put(edges)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``ClusterStore.edges_of``."""
        return self.edges_and_members(page_ids, ())[0]

    def edges_and_members(
        self, page_ids: Iterable[str], cluster_ids: Iterable[str]
    ) -> tuple[list[Edge], dict[str, list[Assignment]]]:
        """See ``ClusterStore.edges_and_members``."""
        pages, wanted = list(page_ids), list(cluster_ids)
        edges, groups = self._index.edges_and_members(pages, wanted)
        members = self.changes.members(wanted, chain.from_iterable(groups.values()))
        return self.changes.edges_of(pages, edges), grouped(members)

    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """See ``ClusterStore.drop_edges``."""
        self.changes.drop(self.edges_of(page_ids))

    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """See ``ClusterStore.assign_many``."""
        self.changes.assign(assignments)

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``ClusterStore.assignments``."""
        names = list(dict.fromkeys(page_ids))
        changed = self.changes.known(names)
        found = self._index.assignments(name for name in names if name not in changed) | changed
        return {name: each for name in names if (each := found.get(name)) is not None}

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``ClusterStore.members``."""
        return self.edges_and_members((), cluster_ids)[1]
