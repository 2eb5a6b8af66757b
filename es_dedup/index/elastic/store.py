"""What writing to the indices and catching up with it rest on: write sessions, and what searches do not see yet."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from es_dedup.errors import IndexUnavailable, WriteFailed
from es_dedup.index.elastic.bulk import Write, write_all
from es_dedup.index.elastic.generation_watch import GenerationWatch
from es_dedup.index.elastic.locking import WriterLock
from es_dedup.index.elastic.mappings import CLUSTERS, FEATURES, KINDS, META, alias_of
from es_dedup.index.elastic.read_your_writes_clusters import MOST, ClusterWriteCache
from es_dedup.index.elastic.read_your_writes_pages import PageWriteCache
from es_dedup.index.elastic.schema import Schema
from es_dedup.index.elastic.server import Server
from es_dedup.index.elastic.tokens import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from es_dedup.index.elastic.address import Address
    from es_dedup.index.elastic.bulk import Result
    from es_dedup.index.elastic.fields import TermFields
    from es_dedup.index.elastic.options import Options


class Store:
    """The indices of one name on one server, without what is read and written of them.

    Args:
        address, features, options, fields, read_only: as ``ElasticIndex``.
    """

    def __init__(
        self,
        address: Address,
        features: Mapping[str, Any] | None,
        options: Options,
        fields: Callable[[Mapping[str, Any]], TermFields] | None,
        *,
        read_only: bool,
    ) -> None:
        self._options, self._read_only = options, read_only
        self._server = Server(address, options)
        self._of = {kind: alias_of(address.name, kind) for kind in KINDS}
        self._schema = Schema(self._server, address.name, features, options, fields)
        self._watch = GenerationWatch(self._schema)
        self._lock = WriterLock(self._server, self._of[META])
        self._guard = threading.Lock()
        self._one_write = (
            threading.Lock()
        )  # of features: whether a search shows all before it is known of one at a time
        # what searches may not show: for each kind a mark of its last write
        self._dirty: dict[str, object] = {}
        self._recent = PageWriteCache()
        self._changes = ClusterWriteCache()
        self._shown = 0  # stamp of the changes that searches see
        self._together = False
        self._others = False  # changes were made outside any session

    @contextmanager
    def writing(self) -> Iterator[bool]:
        """Keep other write sessions out over several calls; may be nested within one thread.

        A call outside any session is not kept out: it replaces whole documents, and repeating it is safe.

        Yields:
            Whether no other session was held since this object's last one.

        Raises:
            IndexLocked: another session did not finish within ``lock_seconds``.
            IndexUnavailable: opened for reading only, or no answer.
            SettingsMismatch: it was filled anew with other settings since it was opened.
        """
        self._must_write()
        nested = self._lock.inside()
        with self._lock.held(self._options.lock_seconds):
            self._watch.seen(META, filter(None, [self._lock.place]))
            if not nested and (self._others or not self._lock.alone):
                self._distrust()
            yield self._lock.alone

    def keep_writer_lock(self) -> AbstractContextManager[None]:
        """See ``Index.keep_writer_lock``."""
        return self._lock.keep_writer_lock()

    @contextmanager
    def batched_cluster_updates(self) -> Iterator[None]:
        """Send what is changed inside of edges and assignments in one request when the block ends; see ``Index.batched_cluster_updates``."""
        self._together = self._lock.inside()
        try:
            yield
            self._together = False
            self._send_changes()
        except BaseException:
            self._distrust()  # nothing of it is kept, or nobody knows what
            raise
        finally:
            self._together = False

    def only_writer(self) -> bool:
        """See ``Index.only_writer``."""
        return self._lock.untouched()

    def _must_write(self) -> None:
        if self._read_only:
            raise IndexUnavailable(self._server.name, "it was opened for reading only")
        self._lock.check()
        self._watch.check()

    def _write(self, kind: str, writes: Iterable[Write]) -> list[Result]:
        self._must_write()
        given = list(writes)  # before anything is sent: an iterator may be slow, or read this index
        if not given:
            return []
        with self._guard:
            self._dirty[kind] = object()
        return self._send(given, alias=True)

    def _send(self, writes: Iterable[Write], *, alias: bool) -> list[Result]:
        options = self._options
        return write_all(
            self._server, writes, chunk_bytes=options.chunk_bytes, seconds=options.retry_seconds, alias=alias
        )

    def _must_all(self, results: Iterable[Result]) -> None:
        problems = [result.reason for result in results if not result.done]
        if problems:
            raise WriteFailed(self._server.name, f"{len(problems)} writes failed: {problems[0]}")

    def _deletes(self, kind: str, page_ids: Iterable[str]) -> list[Write]:
        return [Write("delete", self._of[kind], key_of(page_id)) for page_id in page_ids]

    @contextmanager
    def _changing(self) -> Iterator[ClusterWriteCache]:
        """Change edges and assignments: at once, or together with others."""
        self._must_write()
        changes = self._changes
        if not self._lock.inside():
            self._others = True
            changes = ClusterWriteCache()
        yield changes
        if not self._together:
            self._send_changes(changes)

    def _send_changes(self, changes: ClusterWriteCache | None = None) -> None:
        given = self._changes if changes is None else changes
        with self._guard:
            clean = CLUSTERS not in self._dirty
        try:
            self._must_all(self._write(CLUSTERS, given.unsent(self._of[CLUSTERS])))
        except BaseException:
            given.clear()
            raise
        given.sent()
        # Searches within the session are completed by what is kept.
        if clean and given is self._changes and len(given) <= MOST:
            with self._guard:
                self._dirty.pop(CLUSTERS, None)

    def _distrust(self) -> None:
        """Take nothing of what is kept of clusters for granted."""
        self._changes.clear()
        self._others = False
        with self._guard:
            self._dirty[CLUSTERS] = object()

    def _catch_up(self, kind: str) -> None:
        """Make our own earlier writes visible to searches."""
        if kind == CLUSTERS and not self._lock.inside() and self._changes.stamp != self._shown:
            with self._guard:
                self._dirty[CLUSTERS] = object()
        if not self._options.fresh_reads or (kind == FEATURES and not self._options.fresh_candidates):
            return
        with self._guard:
            behind = kind in self._dirty
        if behind:
            self._refresh([kind])

    def _show(self, kind: str) -> None:
        """The same for searches that are not completed by what is kept here."""
        if len(self._recent):
            with self._guard:
                self._dirty[kind] = object()
        self._catch_up(kind)

    def _refresh(self, kinds: Iterable[str]) -> None:
        wanted = list(kinds)
        with self._guard:
            before = {kind: self._dirty[kind] for kind in wanted if kind in self._dirty}
        shown, stamp = self._recent.newest(), self._changes.stamp
        self._schema.refresh([self._of[kind] for kind in wanted])
        with self._guard:  # only now: another thread that searches meanwhile has to refresh, too
            for kind, mark in before.items():
                if self._dirty.get(kind) is mark:
                    del self._dirty[kind]
        if FEATURES in wanted:
            self._recent.seen(shown)
        if CLUSTERS in wanted:
            self._shown = stamp
            if self._lock.inside():
                self._changes.shown()
