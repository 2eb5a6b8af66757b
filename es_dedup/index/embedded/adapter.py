"""``EmbeddedIndex``: features, clusters and statistics in one SQLite file, behind the ports."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexLocked
from es_dedup.index.base import IndexBase
from es_dedup.index.embedded import (
    candidates,
    changes,
    cluster_lists,
    clusters,
    fulltext,
    records,
    schema,
    sizes,
)
from es_dedup.index.embedded.connection import Connection
from es_dedup.index.embedded.online_copy import online_copy
from es_dedup.index.port import NO_NOTES
from es_dedup.model import Progress
from es_dedup.model.cluster_changes import ClusterChange, Cursor
from es_dedup.text.tokens import characters_apart

if TYPE_CHECKING:
    import sqlite3
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from es_dedup.index.port import Assignment, WriteReport
    from es_dedup.index.records import FeatureRecord, RecordBatch
    from es_dedup.model import CandidateQuery, CandidateResult, Edge
    from es_dedup.model.cluster_lists import ClusterQuery, ClusterSummary, Place

CLUSTERS_PER_QUERY: Final = 500


class EmbeddedIndex(IndexBase):
    """All ports of ``es_dedup.index.port`` over one file.

    One process writes at a time, any number read meanwhile. Threads may share one object: calls wait for each
    other. A call that writes is kept whole or not at all, and once it has returned it survives the death of
    the process; a power cut may take the last calls, back to the last checkpoint (``close`` makes one), but
    leaves a sound file.

    Use it in a ``with`` block, or call ``close``.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        features: Mapping[str, Any] | None,
        segment: Callable[[Sequence[str]], list[str]] | None = None,
        lock_seconds: float = 10.0,
        read_only: bool = False,
    ) -> None:
        """Open a file, or make it when it does not exist and its folder does.

        Args:
            path: the file, or ``:memory:`` for an index that lives as long as the object.
            features: the settings that shape features, JSON-ready by name; must equal those the file was made with. None: whatever
                these are.
            segment: makes words, separated by spaces, of a query. Without it each Chinese character counts as a word.
            lock_seconds: how long a write waits for another writer; 0 tries once.
            read_only: the file must exist and is never changed.

        Raises:
            NotAnIndex: a folder, another application's file, damaged, not readable, or missing while
                ``read_only``.
            SchemaMismatch: written in another format.
            SettingsMismatch: filled with other settings.
            IndexUnavailable: must be written and cannot be.
            IndexLocked: another process is making the same file.
        """
        self._connection = Connection(path, features=features, lock_seconds=lock_seconds, read_only=read_only)
        self._segment = segment or characters_apart
        self._fulltext = fulltext.FullText()

    @property
    def features(self) -> Mapping[str, Any]:
        """See ``Index.features``."""
        return self._connection.features

    def close(self) -> None:
        """Let go of the file; may be called twice. Later calls raise ``IndexUnavailable``."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[bool]:
        """Keep other writers out over several calls; may be nested within one thread.

        Each call inside is still kept by itself: what it returned from stays when a later one fails.

        Raises:
            IndexLocked: another writer did not finish within ``lock_seconds``.
            IndexUnavailable: opened for reading only.
        """
        with self._connection.writing():
            yield False

    # FeatureIndex

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """See ``FeatureIndex.get_many``."""
        with self._connection.reading() as connection:
            return records.get_many(connection, page_ids)

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        """See ``FeatureIndex.payloads``."""
        with self._connection.reading() as connection:
            return records.payloads(connection, page_ids)

    def texts(self, page_ids: Iterable[str]) -> dict[str, str]:
        """See ``FeatureIndex.texts``."""
        with self._connection.reading() as connection:
            return records.texts(connection, page_ids)

    def delete_many(self, page_ids: Iterable[str]) -> int:
        """See ``FeatureIndex.delete_many``."""
        wanted = list(page_ids)
        with self._connection.transaction() as connection:
            return records.delete_many(connection, wanted)

    def pages_with_url(self, urls: Iterable[str]) -> dict[str, list[str]]:
        """See ``FeatureIndex.pages_with_url``."""
        with self._connection.reading() as connection:
            return records.pages_with_url(connection, urls)

    def erase(self, page_ids: Iterable[str]) -> str:
        """See ``FeatureIndex.erase``: the file is written anew."""
        with self._connection.transaction() as connection:
            records.rename(connection, page_ids)
            fulltext.clear(connection)
        done = self._connection.rewrite()
        return "" if done else "another process reads the index; repeat the command when it has ended"

    def names_page(self, page_id: str) -> bool:
        """See ``FeatureIndex.names_page``: as the name of a cluster or of a page that was removed."""
        with self._connection.reading() as connection:
            return records.known(connection, page_id)

    def scan(self, *, after: str | None = None, batch: int = 1000) -> Iterator[list[FeatureRecord]]:
        """See ``FeatureIndex.scan``."""
        last = after or ""  # every id is above the empty string
        while True:
            with self._connection.reading() as connection:
                found = records.scan(connection, last, batch)
            if not found:
                return
            yield found
            last = found[-1].page_id

    def search(self, query: str, *, limit: int = 10, offset: int = 0) -> list[tuple[str, float]]:
        """See ``FeatureIndex.search``: new texts are added to the full-text index first; where the file cannot be written now, only a few."""
        with self._searching() as connection:
            return self._fulltext.search(connection, self._segment([query])[0], limit, offset)

    def matches(self, query: str) -> int:
        """See ``FeatureIndex.matches``."""
        with self._searching() as connection:
            return self._fulltext.matches(connection, self._segment([query])[0])

    @contextmanager
    def _searching(self) -> Iterator[sqlite3.Connection]:
        if not self._connection.read_only:
            self.prepare_search()
        if 0 < self.unsearchable() <= fulltext.TEXTS_PER_STEP:
            self._add_texts(aside=True)
        with self._connection.reading() as connection:
            yield connection

    def copy_to(self, place: str | Path) -> AbstractContextManager[Path]:
        """A copy of the file as it is now, with all that was committed before; others may read and write meanwhile.

        Args:
            place: where the copy goes when the block ends without an error; in the block it is in another file, whose path is given.

        Raises:
            IndexUnavailable: it cannot be written, or is there and is not an earlier copy, unchanged since and open in no process.
            IndexLocked: another process writes to what is there.
            NotAnIndex: this file is damaged.
        """
        return online_copy(self._connection, place)

    def unsearchable(self) -> int:
        """See ``FeatureIndex.unsearchable``."""
        with self._connection.reading() as connection:
            return self._fulltext.missing(connection)

    def prepare_search(self, progress: Callable[[Progress], None] | None = None) -> None:
        """See ``FeatureIndex.prepare_search``; nothing while another process writes."""
        if self._connection.read_only:
            self._add_texts(progress, aside=True)
        elif self.unsearchable():
            with suppress(IndexLocked), self._connection.writing(lock_seconds=0):
                self._add_texts(progress, aside=False)

    def _add_texts(self, progress: Callable[[Progress], None] | None = None, *, aside: bool) -> None:
        missing, done = self.unsearchable(), 0
        more = missing > 0
        while more:
            with self._connection.reading() if aside else self._connection.transaction() as connection:
                more = self._fulltext.add(connection, aside=aside)
            done = min(done + fulltext.TEXTS_PER_STEP, missing)
            if progress is not None:
                progress(Progress("search", done, missing))

    def count(self) -> int:
        """See ``FeatureIndex.count``."""
        with self._connection.reading() as connection:
            return records.count(connection)

    # ClusterStore

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``ClusterStore.put_edges``."""
        kept = list(edges)  # before the transaction: an iterator may be slow, or read this index
        with self._connection.transaction() as connection:
            clusters.put_edges(connection, kept)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``ClusterStore.edges_of``."""
        with self._connection.reading() as connection:
            return clusters.edges_of(connection, page_ids)

    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """See ``ClusterStore.assign_many``."""
        kept = list(assignments)
        with self._connection.transaction() as connection:
            clusters.assign_many(connection, kept)

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``ClusterStore.assignments``."""
        with self._connection.reading() as connection:
            return clusters.assignments(connection, page_ids)

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``ClusterStore.members``."""
        with self._connection.reading() as connection:
            return clusters.members(connection, cluster_ids)

    def clusters(self, *, min_size: int = 1, after: str | None = None) -> Iterator[list[Assignment]]:
        """See ``ClusterStore.clusters``."""
        last = after or ""
        while True:
            with self._connection.reading() as connection:
                ids = clusters.cluster_ids(connection, min_size, last, CLUSTERS_PER_QUERY)
                found = clusters.members(connection, ids)
            if not ids:
                return
            yield from found.values()
            last = ids[-1]

    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """See ``ClusterStore.list_clusters``."""
        with self._connection.reading() as connection:
            return cluster_lists.list_clusters(connection, query, after, limit)

    def cluster_sizes(self) -> Counter[int]:
        """See ``ClusterStore.cluster_sizes``."""
        with self._connection.reading() as connection:
            return cluster_lists.cluster_sizes(connection)

    def changes(self, since: Cursor | None = None) -> Iterator[ClusterChange]:
        """See ``ClusterStore.changes``."""
        last = self.changes_end()
        if since is None:
            since = Cursor(last.log, 0)
        elif since.log != last.log or since.place > last.place:
            since = Cursor(last.log, 0)
            yield ClusterChange(str(since))
        while since.place < last.place:
            with self._connection.reading() as connection:
                found = changes.after(connection, since)
            if not found:
                return
            yield from found
            since = Cursor.parse(found[-1].cursor)

    def changes_end(self) -> Cursor:
        """See ``ClusterStore.changes_end``."""
        with self._connection.reading() as connection:
            return changes.end(connection)

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """See ``ClusterStore.duplicate_counts``."""
        with self._connection.reading() as connection:
            return cluster_lists.duplicate_counts(connection)

    # StatisticsStore

    def load_statistics(self) -> bytes | None:
        """See ``StatisticsStore.load_statistics``."""
        with self._connection.reading() as connection:
            return clusters.load_statistics(connection)

    def save_statistics(self, snapshot: bytes) -> None:
        """See ``StatisticsStore.save_statistics``."""
        with self._connection.transaction() as connection:
            clusters.save_statistics(connection, snapshot)

    def note(self, name: str) -> str | None:
        """See ``FeatureIndex.note``."""
        with self._connection.reading() as connection:
            found = schema.read_meta(connection, f"note:{name}")
        return None if found is None else str(found)

    def note_names(self) -> list[str]:
        """See ``FeatureIndex.note_names``."""
        with self._connection.reading() as connection:
            names = schema.meta_names(connection)
        return [name.removeprefix("note:") for name in names if name.startswith("note:")]

    def set_note(self, name: str, value: str | None) -> None:
        """See ``FeatureIndex.set_note``."""
        with self._connection.transaction() as connection:
            _set_note(connection, name, value)

    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """See ``ClusterStore.drop_edges``."""
        with self._connection.transaction() as connection:
            clusters.drop_edges(connection, page_ids)

    def replace_all(self, edges: Iterable[Edge], assignments: Iterable[Assignment]) -> None:
        """See ``ClusterStore.replace_all``."""
        with self._connection.transaction() as connection:
            clusters.replace_all(connection, edges, list(assignments))

    def put_batch(self, batch: RecordBatch, notes: Mapping[str, str | None] = NO_NOTES) -> WriteReport:
        """See ``FeatureIndex.put_batch``: the notes are kept with the records, or neither is.

        Raises:
            IndexUnavailable: storage failed; nothing of the batch was kept.
            IndexLocked: another process writes; nothing of the batch was kept.
        """
        with self._connection.transaction() as connection:
            for name, value in notes.items():
                _set_note(connection, name, value)
            return records.put_batch(connection, batch)

    def candidates_with_copies(
        self, candidate_queries: Sequence[CandidateQuery], hashes: Sequence[int], *, limit: int | None = None
    ) -> tuple[list[CandidateResult], dict[int, list[str]]]:
        """See ``FeatureIndex.candidates_with_copies``."""
        with self._connection.reading() as connection:
            copies = records.pages_with_hash(connection, hashes)
            found = candidates.candidates_many(connection, candidate_queries)
        return found, {each: ids[:limit] for each, ids in copies.items()}

    def sizes(self) -> dict[str, int]:
        """Bytes of the file per part, and their ``total``; see ``embedded.sizes``."""
        with self._connection.reading() as connection:
            return sizes.sizes(connection)


def _set_note(connection: sqlite3.Connection, name: str, value: str | None) -> None:
    if value is None:
        schema.delete_meta(connection, f"note:{name}")
    else:
        schema.write_meta(connection, f"note:{name}", value)
