"""``StoredReader``: what an index has, as it is stored."""

from __future__ import annotations

import time
from itertools import chain
from typing import TYPE_CHECKING, Final

from es_dedup.batch import overrides
from es_dedup.batch.annotations import load_annotations
from es_dedup.batch.clusters import CLUSTERS_PENDING
from es_dedup.batch.featurise import checked_id
from es_dedup.batch.stored_pages import traces
from es_dedup.errors import UnknownPage
from es_dedup.index.port import Closing
from es_dedup.model import RemoveReport
from es_dedup.model.batches import chunked
from es_dedup.model.cluster_changes import Cursor

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model.annotations import Annotation
    from es_dedup.model.cluster_changes import ClusterChange
    from es_dedup.model.overrides import Override

IDS_AT_A_TIME: Final = 500
"""Names of notes of programs that use the library begin with it."""
ROOT = "root"
"""The note that has the root of page files."""


class StoredReader(Closing):
    """Queries for which nothing is compared: pages, clusters by id, decisions and labels of people."""

    def __init__(self, index: Index) -> None:
        """Over an index at hand."""
        self._index = index

    def close(self) -> None:
        """Let go of the storage; may be called twice."""
        self._index.close()

    @property
    def clusters_pending(self) -> bool:
        """Whether pages are stored that are not clustered yet: a writer was stopped half-way, or is at work."""
        return self._index.note(CLUSTERS_PENDING) is not None

    def root(self) -> str | None:
        """The folder that ids of page files are relative to, for ``ReadOptions(root=…)``; None: no page files are stored."""
        return self._index.note(ROOT)

    def overrides(self, *, undone: bool = False) -> list[Override]:
        """Decisions of people that go before the rules, by time; with ``undone`` also those that were undone."""
        return [each for each in overrides.load_overrides(self._index).values() if undone or each.in_force]

    def annotations(self, *, removed: bool = False) -> tuple[Annotation, ...]:
        """What readers said of pairs of pages, by time, with ``removed`` also what they took back; decisions do not depend on it."""
        return load_annotations(self._index, removed=removed)

    def overrides_of(self, page_ids: Iterable[str]) -> dict[str, tuple[Override, ...]]:
        """Overrides in force that name a page, by time, for each of some pages that has any."""
        known = overrides.JOURNAL.recorded(self._index).by_page
        return {page: known[page] for page in page_ids if page in known}

    def cluster_ids(self, page_ids: Iterable[str]) -> dict[str, str]:
        """Ids of the clusters that stored pages are in, by page id."""
        return {name: each.cluster_id for name, each in self._index.assignments(page_ids).items()}

    def traces(self, page_id: str) -> list[str]:
        """Where the index still has something of a page that was to be forgotten, in words; overrides that name it do not count."""
        return traces(self._index, checked_id(page_id))

    def record(self, page_id: str) -> FeatureRecord:
        """What is stored of a page, without its text.

        Raises:
            UnknownPage: the id is not stored.
        """
        page_id = checked_id(page_id)
        found = self._index.get_many([page_id])
        if page_id not in found:
            raise UnknownPage(page_id)
        return found[page_id]

    def changes(
        self, since: str | None = None, *, poll_seconds: float | None = None
    ) -> Iterator[ClusterChange]:
        """Pages whose cluster has changed, with the present one; for keeping a copy of all clusters elsewhere.

        Keep ``ClusterChange.cursor`` once a change is applied, and pass the last one to go on. Changes may come again, never in part:
        to apply one twice changes nothing. A change with ``reset`` says to forget all pages; all that are clustered follow.

        Args:
            since: cursor of the last change that was applied; None gives all clusters.
            poll_seconds: go on for ever and look for changes so often; None: end after those that there are.

        Raises:
            ValueError: ``since`` is no cursor.
        """
        return self._changes(None if since is None else Cursor.parse(since), poll_seconds)

    def _changes(self, place: Cursor | None, poll_seconds: float | None) -> Iterator[ClusterChange]:
        while True:
            for change in self._index.changes(place):
                place = Cursor.parse(change.cursor)
                yield change
            if poll_seconds is None:
                return
            time.sleep(poll_seconds)

    def changes_cursor(self) -> str:
        """The cursor of now: ``changes`` since then gives what changes later. Take it before an export, not after."""
        return str(self._index.changes_end())

    def page_ids(self) -> Iterator[str]:
        """Ids of all stored pages that are clustered, in no order."""
        return self._index.page_ids()

    def pages_before(self, day: str) -> Iterator[str]:
        """Ids of pages that were published before a day (``2026-08-26``), ascending; pages without a time are not among them."""
        return chain.from_iterable(self._index.pages_before(day))

    def records_of(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """What is stored of some pages, by id; unknown ids are absent."""
        return self._index.get_many(page_ids)

    def records(self) -> Iterator[FeatureRecord]:
        """What is stored of all pages, without their texts, by page id."""
        return chain.from_iterable(self._index.scan())

    def text(self, page_id: str) -> str:
        """Main text of a stored page; empty when texts are not kept.

        Raises:
            UnknownPage: the id is not stored.
        """
        page_id = self.record(page_id).page_id
        return self._index.texts([page_id]).get(page_id, "")

    def texts_of(self, page_ids: Iterable[str]) -> dict[str, str]:
        """Main texts of some pages, by id; absent where a page is unknown or its text was not kept."""
        return self._index.texts(page_ids)

    def pages_of_cluster(self, name: str) -> list[str]:
        """Ids of the pages of a cluster, named by its id or by that of a page, the canonical document first; of an unknown name none."""
        name = checked_id(name)
        assigned = self._index.assignments([name]).get(name)
        cluster_id = name if assigned is None else assigned.cluster_id
        members = self._index.members([cluster_id]).get(cluster_id, [])
        return sorted((each.page_id for each in members), key=lambda page: page != members[0].canonical)

    def would_remove(self, page_ids: Iterable[str]) -> RemoveReport:
        """What ``Deduplicator.remove`` would do now; nothing is written, nor compared. ``repaired_clusters`` counts those of several pages."""
        removed = 0
        unknown: list[str] = []
        repaired: set[str] = set()
        for some in chunked(dict.fromkeys(map(checked_id, page_ids)), IDS_AT_A_TIME):
            assigned = self._index.assignments(some)
            known = self._index.get_many(some).keys() | assigned.keys()
            members = self._index.members({each.cluster_id for each in assigned.values()})
            repaired |= {name for name, group in members.items() if len(group) > 1}
            unknown += (name for name in some if name not in known)
            removed += len(known)
        return RemoveReport(removed, tuple(unknown), len(repaired))

    def cluster_sizes(self) -> Counter[int]:
        """Number of clusters by number of pages, pages that are alone among them."""
        return self._index.cluster_sizes()

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """Pages that are not the canonical document of their cluster: how many by site, and by month of publication (``2026-03``)."""
        return self._index.duplicate_counts()
