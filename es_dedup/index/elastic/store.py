"""What reading and writing the indices of one name rest on: write sessions, and what searches do not see yet."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from es_dedup.errors import IndexUnavailable
from es_dedup.index.elastic.collection import Collection, refresh
from es_dedup.index.elastic.locking import WriterLock
from es_dedup.index.elastic.mappings import CLUSTERS, FEATURES, KINDS, META, TEXTS, alias_of
from es_dedup.index.elastic.read_your_writes_clusters import ClusterChanges
from es_dedup.index.elastic.read_your_writes_pages import PageWriteCache
from es_dedup.index.elastic.schema import Schema
from es_dedup.index.elastic.server import Server, reads_answers
from es_dedup.index.port import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from es_dedup.index.elastic.address import Address
    from es_dedup.index.elastic.fields import TermFields
    from es_dedup.index.elastic.options import Options


@reads_answers()
class Store(Index):
    """The collections of one name on one server, the lock of their writers, and what completes searches within its sessions.

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
        self._read_only = read_only
        self._server = Server(address, options)
        self._schema = Schema(self._server, address.name, features, fields)
        self._pages, self._clusters, self._texts = (
            Collection(self._server, alias_of(address.name, kind), self._must_write)
            for kind in (FEATURES, CLUSTERS, TEXTS)
        )
        self._meta = Collection(self._server, alias_of(address.name, META))
        self._lock = WriterLock(self._meta)
        self._one_write = (
            threading.Lock()
        )  # of features: whether a search shows all before it is known of one at a time
        self._recent = PageWriteCache()
        self._session_notes: dict[str, str | None] = {}  # that were read or set within the session
        self._session_changes = ClusterChanges()  # sent within sessions, as far as searches may not see them
        self._changed_outside = (
            False  # clusters, by another thread of ours, which ``_session_changes`` does not have
        )

    @property
    def features(self) -> Mapping[str, Any]:
        """See ``Index.features``."""
        return self._schema.features

    def close(self) -> None:
        """Let go of the connections; may be called twice. Later calls raise ``IndexUnavailable``."""
        self._lock.give_up()
        self._server.close()

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
        with self._lock.held(self._server.options.lock_seconds):
            self._schema.noticed(META, filter(None, [self._lock.place]))
            if not nested:
                self._session_notes = {}
                if not self._lock.alone:
                    self._distrust()
            yield self._lock.alone

    def keep_writer_lock(self) -> AbstractContextManager[None]:
        """See ``Index.keep_writer_lock``."""
        return self._lock.keep_writer_lock()

    def only_writer(self) -> bool:
        """See ``Index.only_writer``."""
        return self._lock.untouched()

    def refresh(self) -> None:
        """See ``FeatureIndex.refresh``."""
        self._refresh([self._pages, self._clusters, self._texts, self._meta])

    def refresh_clusters(self) -> None:
        """See ``Index.refresh_clusters``."""
        self._refresh([self._clusters])

    def sizes(self) -> dict[str, int]:
        """Bytes that the server stores per kind of index, without replicas, and their ``total``."""
        self.refresh()
        found = {kind: self._schema.size(kind) for kind in KINDS}
        return found | {"total": sum(found.values())}

    def _must_write(self) -> None:
        if self._read_only:
            raise IndexUnavailable(self._server.name, "it was opened for reading only")
        self._lock.check()
        self._schema.check()

    def _distrust(self) -> None:
        """Take nothing of what is kept of clusters for granted; for the thread that holds the session."""
        self._changed_outside = False
        self._session_changes.clear()
        self._clusters.mark()

    def _catch_up(self, collection: Collection, *, completed: bool = False) -> None:
        """Make our own earlier writes visible to searches; ``completed``: to those that are completed by what is kept here."""
        if collection.behind(completed=completed):
            self._refresh([collection])

    def _show_pages(self) -> None:
        """Make our own earlier writes of pages visible to searches that are not completed."""
        self._catch_up(self._pages, completed=not len(self._recent))

    def _refresh(self, collections: Sequence[Collection]) -> None:
        newest = self._recent.newest()
        refresh(collections)
        if self._pages in collections:
            self._recent.seen(newest)
        if self._clusters in collections and self._lock.inside():
            self._session_changes.clear()
