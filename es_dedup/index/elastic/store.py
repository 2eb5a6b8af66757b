"""What writing to the indices and catching up with it rest on: write sessions, and what searches do not see yet."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from es_dedup.errors import IndexError_, IndexUnavailable, WriteFailed
from es_dedup.index.elastic.bulk import Write, write_all
from es_dedup.index.elastic.generation_watch import GenerationWatch
from es_dedup.index.elastic.locking import WriterLock
from es_dedup.index.elastic.mappings import CLUSTERS, FEATURES, KINDS, META, alias_of
from es_dedup.index.elastic.notes import NoteStore
from es_dedup.index.elastic.read_your_writes_clusters import MOST, ClusterChanges
from es_dedup.index.elastic.read_your_writes_pages import PageWriteCache
from es_dedup.index.elastic.schema import Schema
from es_dedup.index.elastic.server import Server
from es_dedup.index.elastic.tokens import key_of
from es_dedup.index.port import NO_NOTES

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
        self._keeping = NoteStore(
            self._server, self._of[META], options, lambda place: self._watch.seen(META, [place])
        )
        self._noted: dict[str, str | None] = {}  # notes that were read or set within the session
        self._recent = PageWriteCache()
        self._changes = ClusterChanges()  # sent within sessions
        # how often changes were sent within sessions, and how many of these searches see
        self._sent = self._shown = 0
        # how often changes were sent outside of sessions, and how many of these ``_changes`` allows for
        self._others = self._trusted = 0

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
            if not nested:
                self._noted = {}
                if not self._lock.alone:
                    self._distrust()
            yield self._lock.alone

    def keep_writer_lock(self) -> AbstractContextManager[None]:
        """See ``Index.keep_writer_lock``."""
        return self._lock.keep_writer_lock()

    def only_writer(self) -> bool:
        """See ``Index.only_writer``."""
        return self._lock.untouched()

    def _must_write(self) -> None:
        if self._read_only:
            raise IndexUnavailable(self._server.name, "it was opened for reading only")
        self._lock.check()
        self._watch.check()

    def _write(self, kind: str, writes: Iterable[Write], *, shown: bool = False) -> list[Result]:
        """Send writes; ``shown``: searches need no refresh to see them."""
        self._must_write()
        given = list(writes)  # before anything is sent: an iterator may be slow, or read this index
        if not given:
            return []
        try:
            return self._send(given, alias=True)
        finally:
            if not shown:  # only now: a refresh of another thread that came earlier need not show them
                self._mark(kind)

    def _mark(self, kind: str) -> None:
        """Have the next search refresh first."""
        with self._guard:
            self._dirty[kind] = object()

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

    def _change(self, changes: ClusterChanges, notes: Mapping[str, str | None] = NO_NOTES) -> None:
        """Send changes of edges and assignments, and of notes at the end. Searches within the session are completed by them, and need no refresh."""
        inside = self._lock.inside()
        try:
            writes = [*changes.writes(self._of[CLUSTERS]), *self._keeping.writes(notes)]
            self._must_all(self._write(CLUSTERS, writes, shown=inside))
            self._noted |= notes
        except BaseException:
            if inside:
                self._distrust()  # some of it may be stored
            with suppress(IndexError_):  # notes at the end say that all before them was done
                self._keeping.set_notes({name: self._noted.get(name) for name in notes})
            raise
        finally:
            if not inside:
                with self._guard:
                    self._others += 1
        if inside:
            self._sent += 1
            self._changes.add(changes)
            if len(self._changes) > MOST:
                self._mark(CLUSTERS)

    def _known_changes(self) -> ClusterChanges:
        """What completes searches of this thread: the changes of its session, as long as no other thread changes clusters outside of it."""
        if not self._lock.inside():
            return ClusterChanges()
        if self._trusted != self._others:
            self._distrust()
        return self._changes

    def _distrust(self) -> None:
        """Take nothing of what is kept of clusters for granted; for the thread that holds the session."""
        self._trusted = self._others
        self._changes.clear()
        self._mark(CLUSTERS)

    def _catch_up(self, kind: str) -> None:
        """Make our own earlier writes visible to searches."""
        if kind == CLUSTERS and not self._lock.inside() and self._sent != self._shown:
            self._mark(CLUSTERS)
        if not self._options.fresh_reads:
            return
        with self._guard:
            behind = kind in self._dirty
        if behind:
            self._refresh([kind])

    def _show(self, kind: str) -> None:
        """The same for searches that are not completed by what is kept here."""
        if len(self._recent) if kind == FEATURES else self._sent != self._shown:
            self._mark(kind)
        self._catch_up(kind)

    def _refresh(self, kinds: Iterable[str]) -> None:
        wanted = list(kinds)
        with self._guard:
            before = {kind: self._dirty[kind] for kind in wanted if kind in self._dirty}
        shown, sent = self._recent.newest(), self._sent
        self._schema.refresh([self._of[kind] for kind in wanted])
        with self._guard:  # only now: another thread that searches meanwhile has to refresh, too
            for kind, mark in before.items():
                if self._dirty.get(kind) is mark:
                    del self._dirty[kind]
        if FEATURES in wanted:
            self._recent.seen(shown)
        if CLUSTERS in wanted:
            self._shown = sent
            if self._lock.inside():
                self._changes.clear()
