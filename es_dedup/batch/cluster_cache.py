"""Cache of edges, clusters, keys and notes around some pages, within one write session."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from es_dedup.clustering import same_neighbours

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.index.port import Assignment, ClusterBatch
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Edge

MOST_PAGES: Final = 20_000  # whose edges are read ahead


class ClusterCache:
    """A cluster store with cached edges, assignments, page keys and notes; the rest is read from the index.

    Writes of others are not seen: hold ``index.writing()`` as long as it is used. Records may lack payload and terms.

    Args:
        index: what is cached of: an index, or changes to it that are kept together.
        notes: those that are known.

    Attributes:
        reassigned: pages whose assignment was changed through this cache.
        left: clusters that they were in before.
    """

    def __init__(self, index: ClusterBatch, notes: Mapping[str, str | None] = MappingProxyType({})) -> None:
        self._index, self._notes = index, dict(notes)
        self._edges: dict[str, dict[tuple[str, str], Edge]] = {}
        self._records: dict[str, FeatureRecord] = {}
        self._assigned: dict[str, Assignment | None] = {}
        self._groups: dict[str, dict[str, Assignment]] = {}
        self.reassigned: set[str] = set()
        self.left: set[str] = set()

    def learn(
        self,
        records: Mapping[str, FeatureRecord],
        assigned: Mapping[str, Assignment],
        unassigned: Iterable[str] = (),
    ) -> None:
        """Add records and assignments to the cache; ``unassigned`` pages are known to have no assignment unless one is given."""
        self._records.update(records)
        self._assigned.update(dict.fromkeys(unassigned))
        self._assigned.update(assigned)

    def unknown(self, page_ids: Iterable[str]) -> set[str]:
        """Those of the pages whose record or assignment has not been learned."""
        return {name for name in page_ids if name not in self._records or name not in self._assigned}

    def read_pages(self, page_ids: Collection[str]) -> None:
        """Read records and assignments of pages."""
        if page_ids:
            stored, assigned, _ = self._index.pages_and_assignments(page_ids)
            self.learn(stored, assigned, page_ids)

    def with_clusters(self, page_ids: Iterable[str]) -> set[str]:
        """The pages, and those that are known to be in the same clusters."""
        names = set(page_ids)
        clusters = {each.cluster_id for name in names if (each := self._assigned.get(name))}
        assigned = (each for each in self._assigned.values() if each)
        return names | {each.page_id for each in assigned if each.cluster_id in clusters}

    def read_around(self, seeds: Iterable[str]) -> None:
        """Read the edges and clusters of these pages, and of all that same-edges and clusters lead to, level by level.

        A page whose assignment is known leads to its cluster at once, and any other one a level later.
        """
        front = set(seeds) - self._edges.keys()
        while front and len(self._edges) < MOST_PAGES:
            assigned = (self._assigned.get(name) for name in front)
            clusters = {*front, *(each.cluster_id for each in assigned if each)} - self._groups.keys()
            edges, groups = self._index.edges_and_members(front, clusters)
            self._edges.update((name, {}) for name in front)
            self._keep(edges)
            self._learn_groups(clusters, groups)
            same = [edge for edge in edges if edge.relation.same]
            within = {each.page_id for group in groups.values() for each in group}
            front = (same_neighbours(same, front) | within) - self._edges.keys()

    def _keep(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            for name in (edge.left, edge.right):
                if name in self._edges:
                    self._edges[name][edge.left, edge.right] = edge

    def _learn_groups(self, names: Iterable[str], groups: Mapping[str, Sequence[Assignment]]) -> None:
        for name in names:
            self._groups[name] = {each.page_id: each for each in groups.get(name, ())}
            self._assigned.update(self._groups[name])

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``Index.edges_of``."""
        names = set(page_ids)
        if not names <= self._edges.keys():
            return self._index.edges_of(names)
        found = {pair: edge for name in names for pair, edge in self._edges[name].items()}
        return [found[pair] for pair in sorted(found)]

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """See ``Index.get_many``."""
        names = list(dict.fromkeys(page_ids))
        missing = [name for name in names if name not in self._records]
        if missing:
            self._records.update(self._index.get_many(missing))
        return {name: self._records[name] for name in names if name in self._records}

    def note(self, name: str) -> str | None:
        """See ``Index.note``."""
        if name not in self._notes:
            self._notes[name] = self._index.note(name)
        return self._notes[name]

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """See ``Index.notes``."""
        return self._index.notes(names)

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``Index.put_edges``; the lesser page id is on the left."""
        given = list(edges)
        self._index.put_edges(given)
        self._keep(given)

    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """See ``Index.drop_edges``."""
        self._index.drop_edges(page_ids)
        self._edges.clear()

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``Index.assignments``."""
        names = list(dict.fromkeys(page_ids))
        missing = [name for name in names if name not in self._assigned]
        if missing:
            self.learn({}, self._index.assignments(missing), missing)
        return {name: each for name in names if (each := self._assigned[name]) is not None}

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``Index.members``."""
        names = sorted(set(cluster_ids))
        missing = [name for name in names if name not in self._groups]
        if missing:
            self._learn_groups(missing, self._index.members(missing))
        groups = {name: self._groups[name] for name in names}
        return {
            name: [group[page_id] for page_id in sorted(group)] for name, group in groups.items() if group
        }

    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """See ``Index.assign_many``."""
        given = {each.page_id: each for each in assignments}
        before = self.assignments(given)
        changed = {name for name, each in given.items() if before.get(name) != each}
        self.reassigned |= changed
        self.left |= {before[name].cluster_id for name in changed if name in before}
        self._index.assign_many(given.values())
        for group in self._groups.values():
            for page_id in group.keys() & given.keys():
                del group[page_id]
        for each in given.values():
            if each.cluster_id in self._groups:
                self._groups[each.cluster_id][each.page_id] = each
        self._assigned.update(given)
