"""``IndexBase``: what an index adapter inherits, so that it has to write only the abstract methods of the port."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from es_dedup.index.closing import Closing
from es_dedup.index.port import NO_NOTES, Index
from es_dedup.index.records import RecordBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from es_dedup.index.port import Assignment, ClusterBatch, WriteReport
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import CandidateQuery, CandidateResult, Edge, Progress


class IndexBase(Closing, Index):
    """The methods of ``Index`` that can be built on the abstract ones.

    An adapter overrides a method where its engine answers in fewer requests or faster than the one here: ``pages_before`` and
    ``pages_with_url`` read all pages.
    """

    @property
    def keeps_named(self) -> bool:
        """See ``FeatureIndex.keeps_named``: not without ``named``."""
        return False

    def pages_with_url(self, urls: Iterable[str]) -> dict[str, list[str]]:
        """See ``FeatureIndex.pages_with_url``: all pages are read."""
        wanted, found = set(urls), dict[str, list[str]]()
        for record in (each for some in self.scan() for each in some if each.url in wanted):
            found.setdefault(record.url, []).append(record.page_id)
        return found

    def pages_before(self, day: str) -> Iterator[list[str]]:
        """See ``FeatureIndex.pages_before``: all pages are read."""
        for records in self.scan():
            if old := [each.page_id for each in records if "" < each.published < day]:
                yield old

    def put_many(self, records: Iterable[FeatureRecord]) -> WriteReport:
        """See ``FeatureIndex.put_many``."""
        return self.put_batch(RecordBatch.of(list(records)))

    def put_new(
        self, batch: RecordBatch, notes: Mapping[str, str | None] = NO_NOTES
    ) -> tuple[WriteReport, set[str]]:
        """See ``FeatureIndex.put_new``."""
        with self.writing():
            stored = set(self.get_many(batch.ids))
            rows = [row for row, page_id in enumerate(batch.ids) if page_id not in stored]
            return self.put_batch(batch.take(rows), notes), stored

    def named(self, page_ids: Iterable[str]) -> dict[str, dict[str, Any]]:  # noqa: ARG002 - none are kept
        """See ``FeatureIndex.named``."""
        return {}

    def candidates_many(self, candidate_queries: Sequence[CandidateQuery]) -> list[CandidateResult]:
        """See ``FeatureIndex.candidates_many``."""
        return self.candidates_with_copies(candidate_queries, ())[0]

    def prepare_search(self, progress: Callable[[Progress], None] | None = None) -> None:
        """See ``FeatureIndex.prepare_search``: writes do so."""

    def unsearchable(self) -> int:
        """See ``FeatureIndex.unsearchable``: none."""
        return 0

    def note(self, name: str) -> str | None:
        """See ``FeatureIndex.note``."""
        return self.notes([name])[name]

    def set_note(self, name: str, value: str | None) -> None:
        """See ``FeatureIndex.set_note``."""
        self.set_notes({name: value})

    def refresh(self) -> None:
        """See ``FeatureIndex.refresh``: nothing to do where every reader sees what a call has returned from."""

    def refresh_clusters(self) -> None:
        """See ``ClusterStore.refresh_clusters``."""
        self.refresh()

    def edges_and_members(
        self, page_ids: Iterable[str], cluster_ids: Iterable[str]
    ) -> tuple[list[Edge], dict[str, list[Assignment]]]:
        """See ``ClusterStore.edges_and_members``."""
        return self.edges_of(page_ids), self.members(cluster_ids)

    def pages_and_assignments(
        self, page_ids: Iterable[str], notes: Sequence[str] = ()
    ) -> tuple[dict[str, FeatureRecord], dict[str, Assignment], dict[str, str | None]]:
        """See ``Index.pages_and_assignments``."""
        wanted = list(page_ids)
        return self.get_many(wanted), self.assignments(wanted), self.notes(notes)

    def batched_cluster_updates(self) -> AbstractContextManager[ClusterBatch]:
        """See ``Index.batched_cluster_updates``: each call is kept by itself."""
        return nullcontext(self)

    def keep_writer_lock(self) -> AbstractContextManager[None]:
        """See ``Index.keep_writer_lock``: a session costs nothing that could be saved."""
        return nullcontext()

    def only_writer(self) -> bool:
        """See ``Index.only_writer``: not known."""
        return False
