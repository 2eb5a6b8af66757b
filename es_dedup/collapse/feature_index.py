"""Relations of pages whose documents have no cluster id: from stored assignments, else from stored features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup import wiring
from es_dedup.batch.featurise import day_of
from es_dedup.batch.in_force import InForce
from es_dedup.closing import Closing
from es_dedup.collapse.operations import StoredRelations
from es_dedup.config import settings_in_force
from es_dedup.errors import NotAnIndex
from es_dedup.judgement.lookup import Lookup
from es_dedup.recorded import STATISTICS

if TYPE_CHECKING:
    from pathlib import Path

    from es_dedup.collapse.operations import FindRelations
    from es_dedup.config import Settings
    from es_dedup.index.port import Index


class FeatureIndex(Closing):
    """The feature index, read only. Use it in a ``with`` block, or call ``close``."""

    def __init__(self, index: Index, settings: Settings | None = None) -> None:
        """From an open index; ``open`` is the usual way."""
        self._index, self._given = index, settings_in_force(settings)
        self._in_force: InForce | None = None

    @classmethod
    def open(cls, path: str | Path, settings: Settings | None = None) -> FeatureIndex:
        """Open the feature index at a path or address; arguments and errors as for ``Deduplicator.open``."""
        chosen = settings_in_force(settings)
        index = wiring.open_index(path, chosen, read_only=True)
        try:
            return cls(index, wiring.fitted(index, chosen, wiring.shown(path)))
        except BaseException:
            index.close()
            raise

    def close(self) -> None:
        """Close the index; may be called twice."""
        self._index.close()

    def relations(self, asked: FindRelations) -> StoredRelations:
        """Stored clusters of these pages, and which of the others are near-duplicates; pages that are not stored are left out.

        Raises:
            IndexUnavailable: see the ports of the index.
            NotAnIndex: its statistics are damaged.
        """
        found = self._index.assignments(asked.unassigned)
        clusters = {page_id: each.cluster_id for page_id, each in found.items()}
        unknown = [page_id for page_id in asked.unassigned if page_id not in clusters]
        if not unknown:
            return StoredRelations(clusters)
        lookup = self._lookup()
        pages = lookup.load(unknown)
        every = [*asked.unassigned, *asked.others]
        compared = lookup.among(pages, [[name for name in every if name != mine] for mine in pages.ids])
        pairs = [(edge.left, edge.right) for edge in compared.edges() if edge.relation.same]
        return StoredRelations(clusters, frozenset(pairs) | {(right, left) for left, right in pairs})

    def _lookup(self) -> Lookup:
        """Candidate retrieval with the settings and statistics the pages were clustered with."""
        note = self._index.note(STATISTICS)
        try:
            self._in_force = found = InForce.read(self._index, self._given, note, self._in_force)
        except ValueError as error:
            raise NotAnIndex(
                "the feature_index", "its statistics are damaged: run `es-dedup recluster`"
            ) from error
        return Lookup(self._index, found.settings, found.statistics, day_of)
