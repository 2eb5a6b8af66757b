"""Notes and statistics: small documents that are read as they are now."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexUnavailable
from es_dedup.index.elastic.mappings import META
from es_dedup.index.elastic.server import reads_answers
from es_dedup.index.elastic.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.index.elastic.bulk import Write

PART_BYTES: Final = 3_000_000  # of a snapshot in one document
TRIES: Final = 5  # to read a snapshot while others replace it
HEAD: Final = "statistics"


@reads_answers()
class NoteStore(Store):
    """The methods of ``Index`` that read and write notes and the statistics' snapshot."""

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """See ``FeatureIndex.notes``: within a session each is read once."""
        wanted = list(names)
        known = self._session_notes if self._lock.inside() else {}
        if unread := [name for name in wanted if name not in known]:
            known |= self._notes_in(self._meta.read(map(note_key, unread)), unread)
        return {name: known[name] for name in wanted}

    def note_names(self) -> list[str]:
        """See ``FeatureIndex.note_names``."""
        self._meta.refresh()
        pages = self._meta.pages({"term": {"kind": "note"}}, [{"_seq_no": "asc"}], fields=["kind"])
        return sorted(hit["_id"].removeprefix(note_key("")) for hits in pages for hit in hits)

    def set_notes(self, notes: Mapping[str, str | None]) -> None:
        """See ``FeatureIndex.set_notes``."""
        self._must_write()
        self._session_notes = {
            name: value for name, value in self._session_notes.items() if name not in notes
        }
        self._meta.write(self._note_writes(notes))
        if self._lock.inside():
            self._session_notes |= notes

    def load_statistics(self) -> bytes | None:
        """See ``StatisticsStore.load_statistics``.

        Raises:
            IndexUnavailable: they are being replaced all the time, or a part of them is missing.
        """
        for _ in range(TRIES):
            head = self._head_of_statistics()
            if head is None:
                return None
            keys = _part_keys(head)
            found = {part["_id"]: part["_source"]["value"] for part in self._meta.read(keys)}
            if len(found) == len(keys):
                return b"".join(base64.b64decode(found[key]) for key in keys)
        raise IndexUnavailable(self._server.name, "the statistics are being replaced by others")

    def save_statistics(self, snapshot: bytes) -> None:
        """See ``StatisticsStore.save_statistics``: parts first, then what points to them, then the old parts go."""
        self._must_write()
        before = self._head_of_statistics()
        packed = [
            base64.b64encode(snapshot[start : start + PART_BYTES]).decode()
            for start in range(0, len(snapshot), PART_BYTES)
        ]
        head = {"kind": "statistics", "owner": secrets.token_hex(8), "parts": len(packed)}
        self._meta.write(
            self._meta.put(key, {"kind": "part", "value": part})
            for key, part in zip(_part_keys(head), packed, strict=True)
        )
        self._meta.write([self._meta.put(HEAD, head)])
        if before is not None:
            self._meta.write(map(self._meta.delete, _part_keys(before)))

    def _note_writes(self, notes: Mapping[str, str | None]) -> list[Write]:
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

    def _head_of_statistics(self) -> Mapping[str, Any] | None:
        found = self._meta.read_one(HEAD)
        if found is None:
            return None
        self._schema.noticed(META, [found["_index"]])
        source: Mapping[str, Any] = found["_source"]
        return source


def note_key(name: str) -> str:
    """The ``_id`` of a note."""
    return f"note:{name}"


def _part_keys(head: Mapping[str, Any]) -> list[str]:
    """The ``_id`` of each part of a snapshot."""
    return [f"statistics:{head['owner']}:{part}" for part in range(head["parts"])]
