"""Relations of pages whose documents have no cluster id: from stored assignments, else from stored features."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from es_dedup.batch.featurise import day_of
from es_dedup.batch.learning import EffectiveSettings
from es_dedup.collapse.operations import StoredRelations
from es_dedup.decision.candidate_search import CandidateSearch
from es_dedup.errors import NotAnIndex, SettingsDiffer
from es_dedup.index import factory
from es_dedup.index.closing import Closing
from es_dedup.settings.loading import settings_in_force
from es_dedup.settings.recorded import STATISTICS, decision_differences, decisions_in

if TYPE_CHECKING:
    from pathlib import Path

    from es_dedup.collapse.operations import FindRelations
    from es_dedup.errors import Difference
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings


class RelationReader(Closing):
    """The feature index, read only. Use it in a ``with`` block, or call ``close``.

    Warns (``SettingsDiffer``) of decision settings that are not in force: pages are compared as they were clustered.
    """

    def __init__(
        self, index: Index, settings: Settings | None = None, *, name: str = "the feature index"
    ) -> None:
        """From an open index, called ``name`` in warnings and errors; ``open`` is the usual way."""
        self._index, self._given, self._name = index, settings_in_force(settings), name
        self._in_force: EffectiveSettings | None = None
        self._warned: tuple[Difference, ...] = ()

    @classmethod
    def open(cls, path: str | Path, settings: Settings | None = None) -> RelationReader:
        """Open the feature index at a path or address; arguments and errors as for ``Deduplicator.open``."""
        chosen = settings_in_force(settings)
        index = factory.open_index(path, chosen, read_only=True)
        try:
            name = factory.shown(path)
            found = cls(index, factory.fitted(index, chosen, name), name=name)
            found._warn(decision_differences(decisions_in(index.note(STATISTICS)), chosen))
        except BaseException:
            index.close()
            raise
        return found

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

    def _lookup(self) -> CandidateSearch:
        """Candidate retrieval with the settings and statistics the pages were clustered with."""
        found = self._basis()
        return CandidateSearch(self._index, found.settings, found.statistics, day_of)

    def _basis(self) -> EffectiveSettings:
        note, before = self._index.note(STATISTICS), self._in_force
        try:
            self._in_force = found = EffectiveSettings.read(self._index, self._given, note, before)
        except ValueError as error:
            raise NotAnIndex(
                self._name, "its statistics are damaged: run `es-dedup elastic recluster`"
            ) from error
        self._warn(found.differences)
        return found

    def _warn(self, decisions: tuple[Difference, ...]) -> None:
        """Warn, once, of settings that are not in force."""
        if decisions and decisions != self._warned:
            warnings.warn(SettingsDiffer(self._name, (), decisions), stacklevel=3)
        self._warned = decisions
