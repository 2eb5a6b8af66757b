"""The part of a store around some pages, read ahead: clustering asks page by page, a server is asked level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from es_dedup.clustering import same_neighbours

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.port import FeatureRecord, Index
    from es_dedup.model import Edge

MOST_PAGES: Final = 20_000  # whose edges are read ahead


class Near:
    """An index whose edges around some pages are at hand; everything else is asked of the index itself.

    Edges that are put or dropped through it are no longer at hand. Others' writes are not noticed: hold
    ``index.writing()`` as long as it is used.
    """

    def __init__(self, index: Index, seeds: Iterable[str]) -> None:
        self._index = index
        self._beside: dict[str, list[Edge]] = {}
        self._records: dict[str, FeatureRecord] = {}
        front = set(seeds)
        while front and len(self._beside) < MOST_PAGES:
            edges = index.edges_of(front)
            self._beside.update((name, []) for name in front)
            for edge in edges:
                for name in (edge.left, edge.right):
                    if name in front:
                        self._beside[name].append(edge)
            same = [edge for edge in edges if edge.relation.same]
            front = same_neighbours(same, front) - self._beside.keys()

    def as_index(self) -> Index:
        """Itself, with the type of what it stands for."""
        return cast("Index", self)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``ClusterStore.edges_of``."""
        names = set(page_ids)
        if not names <= self._beside.keys():
            return self._index.edges_of(names)
        found = {(edge.left, edge.right): edge for name in names for edge in self._beside[name]}
        return [found[pair] for pair in sorted(found)]

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """See ``FeatureIndex.get_many``."""
        names = list(dict.fromkeys(page_ids))
        missing = [name for name in names if name not in self._records]
        if missing:
            self._records.update(self._index.get_many(missing))
        return {name: self._records[name] for name in names if name in self._records}

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``ClusterStore.put_edges``."""
        given = list(edges)
        self._index.put_edges(given)
        for edge in given:
            self._beside.pop(edge.left, None)
            self._beside.pop(edge.right, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)
