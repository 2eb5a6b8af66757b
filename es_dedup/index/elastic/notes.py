"""Notes and statistics: small documents that are read as they are now."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexUnavailable
from es_dedup.index.elastic.bulk import Write, write_all
from es_dedup.index.elastic.reading import documents, pages_of_hits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from es_dedup.index.elastic.options import Options
    from es_dedup.index.elastic.server import Server

PART_BYTES: Final = 3_000_000  # of a snapshot in one document
TRIES: Final = 5  # to read a snapshot while others replace it
HEAD: Final = "statistics"


class NoteStore:
    """Notes and the statistics' snapshot, in the index ``meta``."""

    def __init__(
        self, server: Server, index: str, options: Options, seen: Callable[[str], None] = lambda _: None
    ) -> None:
        """Nothing is sent yet; ``seen`` is told the real index that each document was read from."""
        self._server, self._index, self._options, self._seen = server, index, options, seen

    def note(self, name: str) -> str | None:
        """A small text, or None."""
        found = self._get(note_key(name))
        return None if found is None else _note(found)

    def notes(self, names: Sequence[str]) -> dict[str, str | None]:
        """Notes by name; None for those that are not there."""
        return self.notes_in(documents(self._server, self._index, map(note_key, names)), names)

    def names(self) -> list[str]:
        """Names of all notes, ascending."""
        self._server.call(lambda client: client.indices.refresh(index=self._index))
        query, by_sequence = {"term": {"kind": "note"}}, [{"_seq_no": "asc"}]
        pages = pages_of_hits(self._server, self._index, query, by_sequence, fields=["kind"])
        return sorted(hit["_id"].removeprefix(note_key("")) for hits in pages for hit in hits)

    def notes_in(self, found: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[str, str | None]:
        """Notes out of the documents that hold them; None for those that are not there."""
        there = {document["_id"]: document for document in found}
        for document in there.values():
            self._seen(document["_index"])
        keys = {name: note_key(name) for name in names}
        return {name: _note(there[key]["_source"]) if key in there else None for name, key in keys.items()}

    def set_notes(self, notes: Mapping[str, str | None]) -> None:
        """Keep small texts; None removes one."""
        self._write(self.writes(notes))

    def writes(self, notes: Mapping[str, str | None]) -> list[Write]:
        """What keeps small texts, and removes those that are None."""
        made = []
        for name, value in notes.items():
            if value is None:
                made.append(Write("delete", self._index, note_key(name)))
            else:
                packed = base64.b64encode(value.encode()).decode()
                body = {"kind": "note", "value": packed}
                made.append(Write("index", self._index, note_key(name), body, len(packed)))
        return made

    def load(self) -> bytes | None:
        """The last stored snapshot, or None.

        Raises:
            IndexUnavailable: it is being replaced all the time, or a part of it is missing.
        """
        for _ in range(TRIES):
            head = self._get(HEAD)
            if head is None:
                return None
            keys = [f"statistics:{head['owner']}:{part}" for part in range(head["parts"])]
            found = {
                part["_id"]: part["_source"]["value"] for part in documents(self._server, self._index, keys)
            }
            if len(found) == len(keys):
                return b"".join(base64.b64decode(found[key]) for key in keys)
        raise IndexUnavailable(self._server.name, "the statistics are being replaced by others")

    def save(self, snapshot: bytes) -> None:
        """Replace the snapshot: its parts first, then what points to them, then the old parts go."""
        before = self._get(HEAD)
        version = secrets.token_hex(8)
        starts = range(0, len(snapshot), PART_BYTES)
        self._write(
            [
                Write(
                    "index",
                    self._index,
                    f"statistics:{version}:{part}",
                    {"kind": "part", "value": packed},
                    len(packed),
                )
                for part, start in enumerate(starts)
                for packed in (base64.b64encode(snapshot[start : start + PART_BYTES]).decode(),)
            ]
        )
        head = {"kind": "statistics", "owner": version, "parts": len(starts)}
        self._write([Write("index", self._index, HEAD, head)])
        if before is not None:
            old = (f"statistics:{before['owner']}:{part}" for part in range(before["parts"]))
            self._write([Write("delete", self._index, key) for key in old])

    def _get(self, key: str) -> Mapping[str, Any] | None:
        found = next(documents(self._server, self._index, [key]), None)
        if found is None:
            return None
        self._seen(found["_index"])
        source: Mapping[str, Any] = found["_source"]
        return source

    def _write(self, writes: list[Write]) -> None:
        options = self._options
        results = write_all(
            self._server, writes, chunk_bytes=options.chunk_bytes, seconds=options.retry_seconds
        )
        for result in results:
            if not result.done:
                raise IndexUnavailable(self._server.name, result.reason)


def note_key(name: str) -> str:
    """The ``_id`` of a note."""
    return f"note:{name}"


def _note(source: Mapping[str, Any]) -> str:
    return base64.b64decode(source["value"]).decode()
