"""What an index must offer: feature records, postings by term, edges and clusters.

Each sentence of a docstring of ``Index`` has a test in ``es_dedup.testing.index_contract``; an adapter inherits that
suite.
No query language crosses this port: the only question is ``CandidateQuery``.

Abstract methods are those that every adapter has to write. The others are built on them, for an adapter whose engine has nothing better: it
overrides them where it answers in fewer requests, or faster.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from es_dedup.index.closing import Closing
from es_dedup.index.cluster_changes import Assignment, ClusterChanges
from es_dedup.index.records import FeatureRecord, RecordBatch
from es_dedup.model.batches import by_key

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.model import CandidateQuery, CandidateResult, Edge, Progress
    from es_dedup.model.cluster_changes import ClusterChange, Cursor
    from es_dedup.model.cluster_lists import ClusterQuery, ClusterSummary, Place

Notes: TypeAlias = "Mapping[str, str | None]"
"""Small texts by name; None: there is none."""
NO_NOTES: Final[Notes] = MappingProxyType({})
ATTACHMENTS: Final = "attachments"
"""Note of a feature index: which source indices are attached."""
REMOVED: Final = "removed"
"""Note of a feature index: of which source indices pages were removed whose documents stayed, see ``MaintenanceContext.note_removed``."""


class ClusterUpdates(Protocol):
    """What changes clusters around some pages: edges and assignments by page and by cluster, the pages' records and the notes."""

    @abstractmethod
    def put_edges(self, edges: Iterable[Edge]) -> None:
        """Store edges; an edge between the same two pages is replaced. The pages need not be stored."""

    @abstractmethod
    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """All edges that touch any of the pages, each once, ordered by (left, right)."""

    @abstractmethod
    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """Remove all edges that touch any of the pages; unknown ids are no error."""

    @abstractmethod
    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """Store assignments; a page's earlier one is replaced, and the last of a batch wins.

        The pages need not be stored.
        """

    @abstractmethod
    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """Assignments by page id; pages without one are absent."""

    @abstractmethod
    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """Assignments by cluster id, ordered by page id; unknown clusters are absent."""

    @abstractmethod
    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """Records by id as they are now; unknown ids are absent.

        They come without ``text`` and ``named``, with their terms in any order or without any, and with the payload or, in its place, its version.
        """

    def note(self, name: str) -> str | None:
        """What ``notes`` answers for one name."""
        return self.notes([name])[name]

    @abstractmethod
    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """Small texts kept with the index under these names, or None; within ``writing`` each may be read only once."""


class Index(ClusterUpdates, Closing):
    """Feature records by page id and the pages that share terms, edges and clusters, the statistics of the corpus; ``with`` closes it.

    Writes are batches; a batch is kept whole or, when the call raises, not at all. An index on a server, to
    which a batch is several requests, may have kept a part: it then raises ``IndexInterrupted``. To repeat a
    call is safe always: it changes nothing twice. What a call has returned from is durable: it survives the
    death of the process. Writes are seen by later reads of the same object at once, by other readers after
    ``refresh()`` at the latest. A read that got a part of the answer only raises ``IndexUnavailable``; it never
    passes for a whole one.
    """

    @property
    @abstractmethod
    def features(self) -> Mapping[str, Any]:
        """The settings that shape features which the index was made with, JSON-ready by name."""

    def refresh_clusters(self) -> None:
        """See all edges and assignments that other writers have stored before the call."""
        self.refresh()

    def pages_and_assignments(
        self, page_ids: Iterable[str], notes: Sequence[str] = ()
    ) -> tuple[dict[str, FeatureRecord], dict[str, Assignment], dict[str, str | None]]:
        """What ``get_many`` and ``assignments`` answer for pages, and ``note`` for each name of ``notes``, asked for together."""
        wanted = list(page_ids)
        return self.get_many(wanted), self.assignments(wanted), self.notes(notes)

    @abstractmethod
    def change_clusters(self, changes: ClusterChanges, notes: Notes = NO_NOTES) -> None:
        """Store edges and assignments that were changed, and then notes, all at once where that is quicker; when it raises, a part may be kept."""

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``ClusterUpdates.put_edges``."""
        changes = ClusterChanges()
        changes.put(edges)
        self.change_clusters(changes)

    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """See ``ClusterUpdates.drop_edges``."""
        changes = ClusterChanges()
        changes.drop(self.edges_of(page_ids))
        self.change_clusters(changes)

    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """See ``ClusterUpdates.assign_many``."""
        changes = ClusterChanges()
        changes.assign(assignments)
        self.change_clusters(changes)

    def keep_writer_lock(self) -> AbstractContextManager[None]:
        """Let the sessions of ``writing`` inside follow each other more quickly, by keeping others out also in between while none waits.

        Who begins to wait for a session is let in at the next read of ``pages_and_assignments``, after the session that goes on, or after some seconds
        without a session.
        """
        return nullcontext()

    def only_writer(self) -> bool:
        """Whether no other write session was held since this object's last one; False where that is not known."""
        return False

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Bytes of storage per part, and their ``total``."""

    @property
    def keeps_named(self) -> bool:
        """Whether ``FeatureRecord.named`` is kept; elsewhere it need not be made. An adapter that keeps it overrides ``named``, too."""
        return False

    def put_many(self, records: Iterable[FeatureRecord]) -> dict[str, str]:
        """Store records; one with a known ``page_id`` replaces the old one and its terms.

        The last of several records with one id in a batch wins. A single record that cannot be stored is
        named and the others are written: a page id that is empty, longer than 512
        characters or with a null character, a term beyond 48 bits, a length or hash out of range, half a
        surrogate pair in any string. Edges and assignments of a replaced page stay; repairing them is the
        caller's part.

        Returns:
            Page id to reason, of those that cannot be stored.

        Raises:
            IndexUnavailable: storage failed (full disk, no answer); nothing of the batch was kept.
            IndexLocked: another process writes; nothing of the batch was kept.
        """
        return self.put_batch(RecordBatch.of(list(records)))

    def put_batch(self, batch: RecordBatch, notes: Notes = NO_NOTES) -> dict[str, str]:
        """Store records given as columns, with the guarantees of ``put_many``; fastest in large batches.

        ``notes`` are kept before the records, and with them where that saves a request.
        """
        kept, failed = batch.storable()
        return failed | self.put_distinct(kept, notes)

    @abstractmethod
    def put_distinct(self, batch: RecordBatch, notes: Notes) -> dict[str, str]:
        """What ``put_batch`` does for records of distinct pages that can be stored; gives those that the storage itself refuses."""

    def put_new(self, batch: RecordBatch, notes: Notes = NO_NOTES) -> tuple[dict[str, str], set[str]]:
        """Store, as ``put_batch``, those records whose page is not stored; also gives the ids of the pages that are stored.

        Of these nothing is changed. Where the call was interrupted before, its own pages may be among them; they get the texts that they lack.
        """
        with self.writing():
            stored = set(self.get_many(batch.ids))
            rows = [row for row, page_id in enumerate(batch.ids) if page_id not in stored]
            return self.put_batch(batch.take(rows), notes), stored

    @abstractmethod
    def writing(self) -> AbstractContextManager[bool]:
        """Keep other writers out over several calls; may be nested within one thread.

        Each call inside is still kept by itself: what it returned from stays when a later one fails.
        The value is True only where no other session was held since this object's last one.

        Raises:
            IndexLocked: another writer did not finish in time.
            IndexUnavailable: opened for reading only.
        """

    @abstractmethod
    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        """Payload and time of publication by id, which is what comparing needs; unknown ids are absent.

        What others have written may be missing until it is refreshed, as in searches.
        """

    @abstractmethod
    def texts(self, page_ids: Iterable[str]) -> dict[str, str]:
        """Main texts by id, where kept; unknown ids are absent."""

    def named(self, page_ids: Iterable[str]) -> dict[str, dict[str, Any]]:  # noqa: ARG002 - none are kept
        """Features by field name by page id, where kept; unknown ids are absent."""
        return {}

    def candidates_many(self, candidate_queries: Sequence[CandidateQuery]) -> list[CandidateResult]:
        """One answer per candidate query, in order.

        A distinct term that a page shares weighs one part in ``min_shared`` of its group (in several groups: where it
        weighs most), and half of it where more pages than ``common_df`` of that group have it. A page answers if the
        terms it shares weigh 1 or more together, so if it has ``min_shared`` of any one group. Candidates are ordered
        by weight, most first, then page id ascending, at most ``limit``; ``truncated`` tells that more answered. Terms
        of more than ``max_df`` pages are left out and counted, also towards ``min_shared``. A query without terms has no
        candidates. ``exclude`` is never returned, nor does it make an answer truncated.
        """
        return self.candidates_with_copies(candidate_queries, ())[0]

    @abstractmethod
    def candidates_with_copies(
        self, candidate_queries: Sequence[CandidateQuery], hashes: Sequence[int], *, limit: int | None = None
    ) -> tuple[list[CandidateResult], dict[int, list[str]]]:
        """What ``candidates_many`` answers; and exact copies: page ids, ascending, by content hash, however common their terms.

        Args:
            candidate_queries: as for ``candidates_many``.
            hashes: content hashes, each in [0, 2^64); 0 finds nothing.
            limit: most ids for one hash, the first ones; None gives all.
        """

    @abstractmethod
    def delete_many(self, page_ids: Iterable[str]) -> int:
        """Remove pages with their terms, texts, edges and assignments, also those of pages that are not stored; unknown ids are no error.

        Other pages' assignments that name a removed page as cluster or canonical document stay; repairing them is
        the caller's part.

        Returns:
            How many of the pages were stored.

        Raises:
            IndexUnavailable: storage failed; nothing was removed.
            IndexLocked: another process writes; nothing was removed.
        """

    def pages_with_url(self, urls: Iterable[str]) -> dict[str, list[str]]:
        """Page ids, ascending, by URL; URLs of no stored page are absent."""
        wanted = set(urls)
        return by_key((each.url, each.page_id) for some in self.scan() for each in some if each.url in wanted)

    def pages_before(self, day: str) -> Iterator[list[str]]:
        """Ids of pages that were published before a day, in batches, ascending; pages without a time are not met.

        Pages may be removed meanwhile. One that was stored anew since the iteration began may be met by its old time.

        Args:
            day: ISO 8601 (``2026-08-26``).
        """
        for records in self.scan():
            if old := [each.page_id for each in records if "" < each.published < day]:
                yield old

    @abstractmethod
    def erase(self, page_ids: Iterable[str]) -> str:
        """Make what was removed of pages unreadable in the storage, also their names and what search keeps of texts.

        Args:
            page_ids: of pages that are not stored and that no edge and no assignment names.

        Returns:
            Why some of it may still be readable; empty when it is not.
        """

    @abstractmethod
    def names_page(self, page_id: str) -> bool:
        """Whether the storage has the id of a page outside of records, edges and assignments."""

    @abstractmethod
    def scan(self, *, after: str | None = None, batch: int = 1000) -> Iterator[list[FeatureRecord]]:
        """All records, as ``get_many`` gives them but with their payloads, in batches, by page id ascending; resumable with the last id seen.

        Ids are ordered by code points. A page written meanwhile is met if its id lies ahead.

        Args:
            after: an id, stored or not; only greater ids are met.
            batch: most records at once, at least 1.
        """

    @abstractmethod
    def search(self, query: str, *, limit: int = 10) -> list[tuple[str, float]]:
        """Page ids by full-text relevance with a score, at most ``limit``, best first, then by page id.

        Titles and kept texts are searched for plain words: no character of the query is read as syntax. Pages
        with all words are found or, where there is none, pages with any of them. A query without words finds
        nothing.
        """

    @abstractmethod
    def matches(self, query: str) -> int:
        """Number of the pages that ``search`` finds."""

    def prepare_search(self, progress: Callable[[Progress], None] | None = None) -> None:
        """Add new texts to the full-text index, where writes do not: for all, or for this object where it was opened for reading only."""

    def unsearchable(self) -> int:
        """Number of texts that ``search`` does not find yet, as they are still to be added."""
        return 0

    @abstractmethod
    def note_names(self) -> list[str]:
        """Names of all notes, ascending, those that other objects have set before the call too."""

    def set_note(self, name: str, value: str | None) -> None:
        """What ``set_notes`` does for one name."""
        self.set_notes({name: value})

    @abstractmethod
    def set_notes(self, notes: Notes) -> None:
        """Keep small texts under names, in order; None removes one. Where it is interrupted, some of the first may be kept."""

    @abstractmethod
    def count(self) -> int:
        """Number of stored pages."""

    @abstractmethod
    def refresh(self) -> None:
        """Make all earlier writes visible to every reader."""

    # Clusters

    def edges_and_members(
        self, page_ids: Iterable[str], cluster_ids: Iterable[str]
    ) -> tuple[list[Edge], dict[str, list[Assignment]]]:
        """What ``edges_of`` the pages and ``members`` of the clusters answer, asked for together."""
        return self.edges_of(page_ids), self.members(cluster_ids)

    @abstractmethod
    def replace_all(self, edges: Iterable[Edge], assignments: Iterable[Assignment]) -> None:
        """Replace all stored edges and assignments by these, at once."""

    @abstractmethod
    def clusters(self, *, min_size: int = 1, after: str | None = None) -> Iterator[list[Assignment]]:
        """Each cluster's assignments, clusters by id ascending, members by page id; resumable with an id."""

    @abstractmethod
    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """Clusters that a query wants, in its order, without their pages.

        A cluster has the time ``newest`` in the order of time only. Bounds of a scope are inclusive, times are compared as ISO text, an upper
        bound of less precision covers all that begins with it (``2024-05`` all of May), and a page without time lies outside any bound on
        time. Where pages are assigned that are not stored, clusters may be
        passed over in the order of time, and by a scope.

        Args:
            query: which, and in what order.
            after: only those that come later in that order.
            limit: at most so many.

        Raises:
            ValueError: the store cannot go so far into an order that is not that of ids or times; it says how far.
        """

    @abstractmethod
    def cluster_sizes(self) -> Counter[int]:
        """How many clusters there are of each number of pages."""

    @abstractmethod
    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """How many stored pages are not the canonical document of their cluster: by site, and by month of publication (``2026-03``).

        Pages without site or time are counted under the empty text.
        """

    @abstractmethod
    def changes(self, since: Cursor | None = None) -> Iterator[ClusterChange]:
        """Pages whose assignment has changed, with the present one, in the order of their last changes up to the call.

        A page comes once, whatever happened to it meanwhile; one whose assignment was removed comes without. Applied in turn to what
        was known at ``since``, they give all assignments; so they do to what an earlier, unfinished call has given. Who stores an
        assignment or removes one cannot leave its change out. Where the store does not reach back to ``since`` (it is of another
        log, or comes after the last change) the first is a reset, and all assignments follow.

        Args:
            since: of the last change that was applied; None: before all, without a reset.
        """

    @abstractmethod
    def changes_end(self) -> Cursor:
        """The place after the last change; ``changes`` since then gives what changes from now on."""

    # Statistics: the latest ones, as an opaque versioned snapshot

    @abstractmethod
    def load_statistics(self) -> bytes | None:
        """The last stored snapshot, or None."""

    @abstractmethod
    def save_statistics(self, snapshot: bytes, notes: Notes = NO_NOTES) -> None:
        """Replace the stored snapshot, and keep notes in the same write."""
