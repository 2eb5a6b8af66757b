"""``IndexBase``: what an index adapter inherits, so that it has to write only the abstract methods of the port."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from es_dedup.index.closing import Closing
from es_dedup.index.port import NO_NOTES, Index
from es_dedup.index.records import RecordBatch
from es_dedup.model.cluster_lists import ClusterOrder, ClusterSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from es_dedup.index.port import Assignment, ClusterBatch, WriteReport
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import CandidateQuery, CandidateResult, Edge, Progress
    from es_dedup.model.cluster_lists import ClusterQuery, Place


class IndexBase(Closing, Index):
    """The methods of ``Index`` that can be built on the abstract ones.

    An adapter overrides a method where its engine answers in fewer requests or faster than the one here. Some read everything:
    ``count``, ``pages_before`` and ``pages_with_url`` all pages, the lists and counts of clusters all clusters.
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

    def erase(self, page_ids: Iterable[str]) -> str:  # noqa: ARG002 - nothing is known of the storage
        """See ``FeatureIndex.erase``: not known."""
        return "this index does not say what becomes of removed data"

    def names_page(self, page_id: str) -> bool:  # noqa: ARG002 - nothing is kept
        """See ``FeatureIndex.names_page``: nothing is kept."""
        return False

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

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        """See ``FeatureIndex.payloads``."""
        return {page_id: (each.payload, each.published) for page_id, each in self.get_many(page_ids).items()}

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

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """See ``FeatureIndex.notes``."""
        return {name: self.note(name) for name in names}

    def set_notes(self, notes: Mapping[str, str | None]) -> None:
        """See ``FeatureIndex.set_notes``."""
        for name, value in notes.items():
            self.set_note(name, value)

    def count(self) -> int:
        """See ``FeatureIndex.count``."""
        return sum(map(len, self.scan()))

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

    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """See ``ClusterStore.list_clusters``."""
        scoped = query.order is ClusterOrder.NEWEST or query.scope.bounded
        listed = []
        for members in self.clusters(min_size=query.min_size):
            records = self.get_many(each.page_id for each in members) if scoped else {}
            summary = _summary(query, members, records, scoped=scoped)
            if summary is not None and query.follows(query.place_of(summary), after):
                listed.append(summary)
        listed.sort(key=lambda each: each.id)
        listed.sort(key=lambda each: query.place_of(each)[0], reverse=query.order.descending)
        return listed[:limit]

    def cluster_sizes(self) -> Counter[int]:
        """See ``ClusterStore.cluster_sizes``."""
        return Counter(map(len, self.clusters()))

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """See ``ClusterStore.duplicate_counts``."""
        sites: Counter[str] = Counter()
        months: Counter[str] = Counter()
        for members in self.clusters():
            copies = (each.page_id for each in members if each.page_id != each.canonical)
            for record in self.get_many(copies).values():
                sites[record.site] += 1
                months[record.published[:7]] += 1
        return sites, months

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


def _summary(
    query: ClusterQuery,
    members: Sequence[Assignment],
    records: Mapping[str, FeatureRecord],
    *,
    scoped: bool,
) -> ClusterSummary | None:
    """What a list says of a cluster; None where the query does not want it."""
    others = [each for each in members if each.page_id != each.canonical]
    if query.relation is not None and all(each.relation != query.relation for each in others):
        return None
    times = [
        each.published
        for each in records.values()
        if query.scope.includes(each.site, each.published, each.length)
    ]
    if scoped and not times:
        return None
    weakest = min(members, key=lambda each: (each.score, each.page_id == each.canonical, each.page_id))
    newest = max(times) if query.order is ClusterOrder.NEWEST else ""
    return ClusterSummary(
        weakest.cluster_id, weakest.canonical, len(members), newest, weakest.score, weakest.page_id
    )
