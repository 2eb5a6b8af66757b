"""What reading and writing the indices of one name rest on: write sessions, and what searches do not see yet."""

from __future__ import annotations

import base64
import re
import threading
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexUnavailable
from es_dedup.index.closing import on_error
from es_dedup.index.cluster_changes import ClusterChanges
from es_dedup.index.elastic.candidates import CandidateSearcher
from es_dedup.index.elastic.collection import Collection, Write, refresh
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.elastic.documents import TermFields, key_of, storable
from es_dedup.index.elastic.locking import WriterLock
from es_dedup.index.elastic.read_your_writes import PageWriteCache
from es_dedup.index.elastic.schema import CLUSTERS, FEATURES, KINDS, META, TEXTS, Schema, alias_of
from es_dedup.index.elastic.server import Server, reading, reads_answers
from es_dedup.index.port import NO_NOTES, Index, Notes
from es_dedup.index.records import RecordBatch, encodable
from es_dedup.index.texts import compress_text, decompress_text
from es_dedup.text.tokens import characters_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.elastic.address import Address


SNAPSHOT: Final = "statistics"
"""The ``_id`` of the statistics' document; they are learned from so many pages at most that they have some 2 MB."""
TITLE_WEIGHT: Final = 3.0  # a word of the title counts like three of the body
MAX_QUERY_WORDS: Final = 64  # further ones are left out
MAX_WORD_CHARS: Final = 255  # longer ones are cut: the server cuts them too
_WORD: Final = re.compile(r"\w+")
_BY_SCORE: Final = ({"_score": "desc"}, {"page_id": "asc"})


@reads_answers()
class Store(Index):
    """The collections of one name on one server, the lock of their writers, and what completes searches within its sessions; notes, statistics and texts."""

    def __init__(
        self,
        address: Address,
        *,
        features: Mapping[str, Any] | None,
        segment: Callable[[Sequence[str]], list[str]] | None = None,
        options: Options | None = None,
        read_only: bool = False,
        fields: Callable[[Mapping[str, Any]], TermFields] | None = None,
    ) -> None:
        """Open an index, or make it when it is not there.

        Args:
            address: the server, and the name that all its indices begin with.
            features: the settings that shape features, JSON-ready by name; must equal those the index was made with. None: whatever
                these are; the index must exist.
            segment: makes words, separated by spaces, of a text; for ``search`` only. Without it each Chinese
                character counts as a word.
            options: how to talk to the server.
            read_only: the index must exist and is never written.
            fields: the fields of the methods that make such features. None: no method declares any.

        Raises:
            MissingExtra: the client is not installed.
            ServerTooOld: its version is not supported.
            NotAnIndex: missing while ``read_only``, or another application's.
            SchemaMismatch: made by another version.
            SettingsMismatch: filled with other settings.
            IndexUnavailable: the server does not answer.
            IndexRefused: the server does not let us.
        """
        self._read_only = read_only
        self._segment = segment or characters_apart
        self._server = Server(address, options or Options())
        self._schema = Schema(self._server, address.name, features, fields)
        self._pages, self._clusters, self._texts = (
            Collection(self._server, alias_of(address.name, kind), self._must_write)
            for kind in (FEATURES, CLUSTERS, TEXTS)
        )
        self._meta = Collection(self._server, alias_of(address.name, META))
        self._lock = WriterLock(self._meta)
        # of features: whether a search shows all before it is known of one at a time
        self._one_write = threading.Lock()
        self._recent = PageWriteCache()
        self._session_notes: dict[str, str | None] = {}  # that were read or set within the session
        self._session_changes = ClusterChanges()  # sent within sessions, as far as searches may not see them
        # clusters, by another thread of ours, which ``_session_changes`` does not have
        self._changed_outside = False
        self._searcher = CandidateSearcher(self._pages, self._recent, self._schema)
        with on_error(self._server.close), reading(self._server.name):
            self._server.must_be_supported()
            self._schema.open(read_only=read_only or features is None)

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
        """See ``Index.refresh``."""
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

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """See ``Index.notes``: within a session each is read once."""
        wanted = list(names)
        known = self._session_notes if self._lock.inside() else {}
        if unread := [name for name in wanted if name not in known]:
            known |= self._notes_in(self._meta.read(map(note_key, unread)), unread)
        return {name: known[name] for name in wanted}

    def note_names(self) -> list[str]:
        """See ``Index.note_names``."""
        self._meta.refresh()
        pages = self._meta.pages({"term": {"kind": "note"}}, [{"_seq_no": "asc"}], fields=["kind"])
        return sorted(hit["_id"].removeprefix(note_key("")) for hits in pages for hit in hits)

    def set_notes(self, notes: Notes) -> None:
        """See ``Index.set_notes``."""
        self._write_with_notes([], notes)

    def load_statistics(self) -> bytes | None:
        """See ``Index.load_statistics``."""
        found = self._meta.read_one(SNAPSHOT)
        if found is None:
            return None
        self._schema.noticed(META, [found["_index"]])
        return base64.b64decode(found["_source"]["value"])

    def save_statistics(self, snapshot: bytes, notes: Notes = NO_NOTES) -> None:
        """See ``Index.save_statistics``."""
        body = {"kind": "statistics", "value": base64.b64encode(snapshot).decode()}
        self._write_with_notes([self._meta.put(SNAPSHOT, body)], notes)

    def _write_with_notes(self, writes: Sequence[Write], notes: Notes) -> None:
        """One request with the notes last: who reads a new note finds what was written with it."""
        self._must_write()
        self._session_notes = {
            name: value for name, value in self._session_notes.items() if name not in notes
        }
        self._meta.write([*writes, *self._note_writes(notes)])
        if self._lock.inside():
            self._session_notes |= notes

    def _note_writes(self, notes: Notes) -> list[Write]:
        """What keeps small texts, and removes those that are None."""
        writes = []
        for name, value in notes.items():
            if value is None:
                writes.append(self._meta.delete(note_key(name)))
            else:
                packed = base64.b64encode(value.encode()).decode()
                writes.append(self._meta.put(note_key(name), {"kind": "note", "value": packed}))
        return writes

    def _notes_in(
        self, documents: Iterable[Mapping[str, Any]], names: Iterable[str]
    ) -> dict[str, str | None]:
        """Notes out of the documents that hold them; None for those that are not there."""
        there = {document["_id"]: document for document in documents}
        self._schema.noticed(META, {document["_index"] for document in there.values()})
        keys = {name: note_key(name) for name in names}
        return {
            name: base64.b64decode(there[key]["_source"]["value"]).decode() if key in there else None
            for name, key in keys.items()
        }

    def texts(self, page_ids: Iterable[str]) -> dict[str, str]:
        """See ``Index.texts``."""
        read = self._texts.read(map(key_of, storable(page_ids)), fields=("page_id", "text"))
        sources = (document["_source"] for document in read)
        return {each["page_id"]: decompress_text(base64.b64decode(each["text"])) for each in sources}

    def search(self, query: str, *, limit: int = 10) -> list[tuple[str, float]]:
        """See ``Index.search``: pages that hold all words of the query or, if none does, any of them."""
        self._catch_up(self._texts)
        for wanted in self._queries(query) if limit > 0 else ():
            if hits := self._texts.first(wanted, _BY_SCORE, limit, fields=False):
                return [(hit["sort"][1], float(hit["sort"][0])) for hit in hits]
        return []

    def matches(self, query: str) -> int:
        """See ``Index.matches``."""
        self._catch_up(self._texts)
        return next(filter(None, map(self._texts.count, self._queries(query))), 0)

    def _queries(self, query: str) -> list[dict[str, Any]]:
        """All words of a query, then any of them; none without words."""
        segmented = self._segment([query])[0] if encodable(query) else ""
        words = list(dict.fromkeys(words_of(segmented)))[:MAX_QUERY_WORDS]
        ways = [_in_title_or_body(word) for word in words]
        return [{"bool": {"must": ways}}, {"bool": {"should": ways}}] if ways else []

    def _text_writes(
        self, batch: RecordBatch, places: Sequence[int], operation: str = "index"
    ) -> Iterator[Write]:
        """One write for each of some pages that have a text, plain or packed.

        Args:
            batch: columns.
            places: which pages.
            operation: ``index``, or ``create``.
        """
        for place in places:
            given = batch.texts[place]
            packed = given if isinstance(given, bytes) else compress_text(given)
            text = given if isinstance(given, str) else decompress_text(given)
            title, text = self._segment([batch.titles[place], text])
            body = {
                "page_id": batch.ids[place],
                "title": " ".join(words_of(title)),
                "body": " ".join(words_of(text)),
                "text": base64.b64encode(packed).decode(),
            }
            yield self._texts.put(key_of(batch.ids[place]), body, operation=operation)

    def _drop_texts(self, page_ids: Iterable[str]) -> None:
        """Remove the texts of some pages; those that have none are no error."""
        there = self._texts.read(map(key_of, page_ids), fields=False)
        self._texts.write(self._texts.delete(document["_id"]) for document in there)


def note_key(name: str) -> str:
    """The ``_id`` of a note."""
    return f"note:{name}"


def words_of(segmented: str) -> list[str]:
    """Words of a segmented text, lower case."""
    found = _WORD.findall(segmented.lower().replace("_", " "))
    return [word[:MAX_WORD_CHARS] for word in found]


def _in_title_or_body(word: str) -> dict[str, Any]:
    title = {"term": {"title": {"value": word, "boost": TITLE_WEIGHT}}}
    return {"bool": {"should": [title, {"term": {"body": word}}]}}
