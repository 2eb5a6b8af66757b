"""Files of deleted documents: bodies of ``_bulk``, from which ``purge --restore`` writes them back."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import xxhash

from es_dedup.errors import InputError, reading_stored
from es_dedup.index.source_index import RestoredDocument, document_key, index_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from es_dedup.index.port import Index
    from es_dedup.index.source_index import SourceDocument

RESTORE_FILES: Final = "restore-files"
"""Note of the feature index: paths of the files that hold deleted documents."""
_HEADS: Final = (b'{"create":{"_index":', b'{"index":{"_index":')
_BACKING: Final = re.compile(r"(?:partial-|restored-)?\.ds-(.+)-\d{4}\.\d{2}\.\d{2}-\d{6}")


def restore_files(index: Index) -> list[str]:
    """Paths of all restore files that were written, on the machine where ``purge`` ran."""
    note = index.note(RESTORE_FILES)
    if note is None:
        return []
    with reading_stored("restore files"):
        return [str(path) for path in json.loads(note)]


def open_restore_file(index: Index, path: Path) -> None:
    """Make a file where it is missing, record its path in the feature index, and cut off an unfinished document of a killed process.

    Raises:
        InputError: the file is another one.
    """
    path.touch(mode=0o600)
    whole = sum(length for _, length in read_documents(path))
    with path.open("rb+") as stream:
        stream.truncate(whole)
    with index.writing():
        known = restore_files(index)
        if (name := str(path.resolve())) not in known:
            index.set_note(RESTORE_FILES, json.dumps([*known, name], ensure_ascii=False))


def append_documents(
    path: Path, documents: Sequence[SourceDocument], external: Callable[[str], bool]
) -> None:
    """Append documents, and have them on the disk when the call ends."""
    kept_versions = {name: external(name) for name in {each.key.index for each in documents}}
    with path.open("ab") as stream:
        for each in documents:
            head: dict[str, Any] = {"_index": _stream_of(each.key.index), "_id": each.key.id}
            head |= {"routing": each.key.routing} if each.key.routing else {}
            operation = "create"
            if kept_versions[each.key.index]:
                operation = "index"
                head |= {"version": each.version, "version_type": "external_gte"}
            stream.write(_line({operation: head}) + _line(each.source))
        stream.flush()
        os.fsync(stream.fileno())


def _line(value: Any) -> bytes:
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    )


def read_documents(path: Path) -> Iterator[tuple[RestoredDocument, int]]:
    """Documents of a restore file with their length in bytes; one that was not written to its end is left out.

    Raises:
        InputError: the file is none.
    """
    with path.open("rb") as stream:
        for number, head in enumerate(stream):
            body = next(stream, b"")
            if not body.endswith(b"\n") and head.startswith(_HEADS if number == 0 else b""):
                return
            try:
                ((operation, place),) = json.loads(head).items()
                document = RestoredDocument(
                    place["_index"],
                    place["_id"],
                    place.get("routing", ""),
                    json.loads(body),
                    place["version"] if operation == "index" else 0,
                )
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                problem = "not a restore file of `es-dedup elastic purge`"
                raise InputError(str(path), 2 * number + 1, problem) from error
            yield document, len(head) + len(body)


def read_versions(path: Path) -> Iterator[tuple[RestoredDocument, int, bool]]:
    """As ``read_documents``, and whether it is the last version of the document: each run of ``purge`` appends what it finds.

    Raises:
        InputError: the file is none.
    """
    last = {_digest(document): number for number, (document, _) in enumerate(read_documents(path))}
    for number, (document, length) in enumerate(read_documents(path)):
        yield document, length, last[_digest(document)] == number


def _digest(document: RestoredDocument) -> int:
    """Identifies a document by 128 bits, so that a file of many millions is read in little memory."""
    place = json.dumps([document.index, document.id, document.routing])
    return xxhash.xxh3_128_intdigest(place.encode())


def remove_documents(path: Path, page_ids: Collection[str], *, dry_run: bool = False) -> int:
    """Take the documents of some pages out of a restore file; how many there were.

    Documents of a data stream are told by its name, not by that of the backing index.

    Raises:
        InputError: the file is none.
    """
    keys = {
        (_stream_of(key.index), key.id, key.routing) for key in map(document_key, filter(index_of, page_ids))
    }
    taken = 0
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with path.open("rb") as stream, (Path(os.devnull) if dry_run else part).open("wb") as rest:
        for document, length in read_documents(path):
            lines = stream.read(length)
            if (document.index, document.id, document.routing) in keys:
                taken += 1
            else:
                rest.write(lines)
        if not dry_run:
            rest.flush()
            os.fsync(rest.fileno())
    if not dry_run and taken:
        part.chmod(0o600)
        part.replace(path)
    elif not dry_run:
        part.unlink()
    return taken


def _stream_of(index: str) -> str:
    """The data stream of a backing index; another index is its own."""
    backing = _BACKING.fullmatch(index)
    return backing[1] if backing else index
