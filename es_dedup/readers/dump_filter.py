"""Dumps with some of their records left out: what is copied is copied as it stands in the file.

Lines, rows, elements and archive records keep their bytes and their order; of a Parquet file rows are copied with all columns, its
schema and metadata. Text in UTF-16 or UTF-32 becomes UTF-8, a byte order mark is left out, and what was compressed is compressed again
in the same way. What cannot be read is copied where its end is known, and is named.
"""

from __future__ import annotations

import gzip
import io
import os
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast

from es_dedup.errors import InputError, MissingExtra
from es_dedup.model.batches import chunked
from es_dedup.readers.jsonl import array_records, is_array, jsonl_records
from es_dedup.readers.kinds import why_nothing
from es_dedup.readers.port import InputFailure, kind_of
from es_dedup.readers.streams import READ_ERRORS, packed, packing_of, plain_problem, printable
from es_dedup.readers.tables import batch_items, csv_records, needed_columns
from es_dedup.readers.warc import PlacedRecord, open_by_record, warc_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from es_dedup.readers.port import Item, RawRecord, ReadOptions

    Drops = Callable[[Sequence[Item | None]], Sequence[bool]]
    """Says of each record whether it is left out; None stands for one that is no page."""

DUMPS: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".warc", ".wet")
"""Suffixes of files that can be copied, compressed or not (Parquet: not)."""
_RECORDS: Final = 256  # decided on at once
_ROW_GROUP_BYTES: Final = 2**26
_COPY_BYTES: Final = 2**20
_GZIP: Final = b"\x1f\x8b"


class Targets(NamedTuple):
    """Where records go: those that are kept, and those that are left out."""

    kept: IO[bytes]
    dropped: IO[bytes]

    def of(self, dropped: bool) -> IO[bytes]:  # noqa: FBT001 - an index into the pair
        """The stream of a record."""
        return self.dropped if dropped else self.kept


def copy_dump(
    path: Path, options: ReadOptions, drops: Drops, kept: IO[bytes] | None, dropped: IO[bytes] | None
) -> None:
    """Copy a dump record by record, without those that ``drops`` names.

    Args:
        path: an existing file of a kind in ``DUMPS``.
        options: how pages are read.
        drops: gets some records, in the order of the file, and says which are left out.
        kept, dropped: what the records that stay, and those that are left out, are written to; None: nowhere.

    Raises:
        InputError: the file cannot be copied.
        MissingExtra: the package that reads it is not installed.
        OSError: a target cannot be written.
    """
    given = False

    def noted(items: Sequence[Item | None]) -> Sequence[bool]:
        nonlocal given
        given = given or any(item is not None for item in items)
        return drops(items)

    _copy(path, options, noted, Targets(kept or _nowhere(), dropped or _nowhere()))
    if not given:
        drops([InputFailure(printable(path), None, why_nothing(path, options))])


def _copy(path: Path, options: ReadOptions, drops: Drops, given: Targets) -> None:
    kind = kind_of(path, options)
    if kind == ".parquet":
        _copy_parquet(path, options, drops, given)
        return
    with _reading(printable(path)):
        packing = packing_of(path)
    if kind in (".warc", ".wet"):
        _copy_warc(path, options, drops, given, packing)
        return
    with packed(given.kept, packing) as kept_, packed(given.dropped, packing) as dropped_:
        targets = Targets(kept_, dropped_)
        if kind in (".csv", ".tsv"):
            _copy_lines(csv_records(path, options, raw=True), drops, targets, head=True)
        elif kind == ".json" and _is_array(path, options):
            _copy_array(path, options, drops, targets)
        else:
            _copy_lines(jsonl_records(path, options), drops, targets)


class _Nowhere(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def _nowhere() -> IO[bytes]:
    return cast("IO[bytes]", _Nowhere())


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Tell what goes wrong inside as an error of the input; nothing may be written inside."""
    try:
        yield
    except READ_ERRORS as error:
        raise InputError(source, None, plain_problem(error)) from error


def _is_array(path: Path, options: ReadOptions) -> bool:
    with _reading(printable(path)):
        return is_array(path, options)


def _decided(records: Iterable[RawRecord], drops: Drops) -> Iterator[tuple[bytes, bool]]:
    """Records that can be copied, and whether they are left out."""
    for some in chunked(records, _RECORDS):
        marks = drops([item for _, item in some])
        yield from ((raw, mark) for (raw, _), mark in zip(some, marks, strict=True) if raw is not None)


def _copy_lines(records: Iterator[RawRecord], drops: Drops, targets: Targets, *, head: bool = False) -> None:
    if head:
        raw, failure = next(records, (None, None))
        drops([failure])
        for target in targets:
            target.write(raw or b"")
    for raw, mark in _decided(records, drops):
        targets.of(mark).write(raw)


def _copy_array(path: Path, options: ReadOptions, drops: Drops, targets: Targets) -> None:
    before = [b"[\n", b"[\n"]
    for raw, mark in _decided(array_records(path, options), drops):
        targets.of(mark).write(before[mark] + raw)
        before[mark] = b",\n"
    for target, begun in zip(targets, before, strict=True):
        target.write(b"[]\n" if begun == b"[\n" else b"\n]\n")


def _copy_parquet(path: Path, options: ReadOptions, drops: Drops, targets: Targets) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow", "parquet", f"reading {path}") from error
    source, row = printable(path), 0
    try:
        with pq.ParquetFile(path, buffer_size=2**20, pre_buffer=False) as file:
            columns = needed_columns(file.schema_arrow.names, options.fields)
            groups = file.metadata.num_row_groups and file.metadata.num_columns
            compression = file.metadata.row_group(0).column(0).compression if groups else "SNAPPY"
            writers = [_RowGroups(pq, target, file.schema_arrow, compression) for target in targets]
            for batch in file.iter_batches(_RECORDS):
                items = list(batch_items(batch.select(columns), source, row, options))
                row += len(items)
                marks = drops(items)
                writers[0].write(batch.filter(pa.array([not mark for mark in marks], pa.bool_())))
                writers[1].write(batch.filter(pa.array(marks, pa.bool_())))
            for writer in writers:
                writer.close()
    except (ValueError, pa.ArrowException) as error:
        raise InputError(source, row + 1 if row else None, f"not readable as Parquet: {error}") from error


class _RowGroups:
    """A Parquet file in row groups of about ``_ROW_GROUP_BYTES``."""

    def __init__(self, parquet: Any, target: IO[bytes], schema: Any, compression: str) -> None:
        name = {"UNCOMPRESSED": "none"}.get(compression, compression.lower())
        self._file = None
        self._schema = schema
        if not isinstance(target, _Nowhere):
            self._file = parquet.ParquetWriter(target, schema, compression=name)
        self._waiting: list[Any] = []
        self._bytes = 0

    def write(self, batch: Any) -> None:
        if self._file is None or not batch.num_rows:
            return
        self._waiting.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        if self._file is not None:
            self._flush()
            self._file.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._file is not None and self._waiting:
            self._file.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting, self._bytes = [], 0


class _Run(NamedTuple):
    """Records of an archive about one URL that follow each other, each with its item."""

    records: list[tuple[PlacedRecord, Item | None]]

    def marks(self, dropped: Sequence[bool]) -> list[bool]:
        """Whether each record is left out: one that may be a page by its own mark, another where all of these that it belongs to are."""
        marks = []
        responses = {
            record.id: (record, mark)
            for (record, _), mark in zip(self.records, dropped, strict=True)
            if record.may_be_page
        }
        for (record, _), mark in zip(self.records, dropped, strict=True):
            owners = [
                gone
                for other, gone in responses.values()
                if record.concurrent_to == other.id or other.concurrent_to == record.id
            ] or [gone for _, gone in responses.values()]
            marks.append(mark if record.may_be_page else bool(owners) and all(owners))
        return marks


def _copy_warc(path: Path, options: ReadOptions, drops: Drops, targets: Targets, packing: str) -> None:
    source = printable(path)
    with ExitStack() as stack:
        with _reading(source):
            stream, damage = stack.enter_context(open_by_record(path))
        write = stack.enter_context(_archive(targets, packing))
        for run in _runs(stream, source, options, drops):
            marks = run.marks(drops([item for _, item in run.records]))
            for (record, _), mark in zip(run.records, marks, strict=True):
                pieces = partial(_pieces, stream.fileno(), source, record.start, record.end)
                write(mark, pieces)
                if not record.url and not mark:  # warcinfo describes all that follow it
                    write(not mark, pieces)
        if damage:
            drops([InputFailure(source, None, damage)])


def _runs(stream: IO[bytes], source: str, options: ReadOptions, drops: Drops) -> Iterator[_Run]:
    """Runs of an archive; what is damaged is given to ``drops`` and left out."""
    run = _Run([])
    for record, item in warc_records(stream, source, options):
        if record is None:
            drops([item])
            continue
        if run.records and (not record.url or record.url != run.records[-1][0].url):
            yield run
            run = _Run([])
        run.records.append((record, item))
    if run.records:
        yield run


@contextmanager
def _archive(
    targets: Targets, packing: str
) -> Iterator[Callable[[bool, Callable[[], Iterator[bytes]]], None]]:
    """Writes records of an archive; those of a ``.gz`` file are compressed one by one."""
    outer = "" if packing == ".gz" else packing
    with packed(targets.kept, outer) as kept, packed(targets.dropped, outer) as dropped:
        streams = Targets(kept, dropped)

        def write(mark: bool, pieces: Callable[[], Iterator[bytes]]) -> None:  # noqa: FBT001 - as Targets.of
            stream, read = streams.of(mark), pieces()
            first = next(read, b"")
            if packing != ".gz" or first.startswith(_GZIP):
                stream.write(first)
                for piece in read:
                    stream.write(piece)
                return
            with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as member:
                member.write(first)
                for piece in read:
                    member.write(piece)

        yield write


def _pieces(file: int, source: str, start: int, end: int) -> Iterator[bytes]:
    """Bytes of an archive, without moving the stream from which it is being read."""
    while start < end:
        with _reading(source):
            piece = os.pread(file, min(end - start, _COPY_BYTES), start)
        if not piece:
            return
        yield piece
        start += len(piece)
