"""Dumps with some of their records left out: what is copied is copied as it stands in the file.

Lines, rows, elements and archive records keep their bytes and their order; of a Parquet file rows are copied with all columns, its
schema and metadata. Text in UTF-16 or UTF-32 becomes UTF-8, a byte order mark is left out, and what was compressed is compressed again
in the same way. What cannot be read is copied where its end is known, and is named.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from es_dedup.errors import InputError, needs_extra
from es_dedup.model.batches import chunked
from es_dedup.readers.port import JSON_LINES, kind_of
from es_dedup.readers.reading import records_of
from es_dedup.readers.records import item_of
from es_dedup.readers.rows import is_array, needed_columns, rows_of
from es_dedup.readers.streams import READ_ERRORS, packed, packing_of, plain_problem, printable
from es_dedup.readers.warc import PlacedRecord, open_by_record, placed_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from es_dedup.readers.port import Item, ReadOptions
    from es_dedup.readers.reading import Records

    Drops = Callable[[Sequence[Item | None]], Sequence[bool]]
    """Says of each record whether it is left out; None stands for one that is no page."""

DUMPS: Final = (*JSON_LINES, ".json", ".csv", ".tsv", ".parquet", ".warc", ".wet")
"""Suffixes of files that can be copied, compressed or not (Parquet: not)."""
_RECORDS: Final = 256  # decided on at once
_ROW_GROUP_BYTES: Final = 2**26
_COPY_BYTES: Final = 2**20
_GZIP: Final = b"\x1f\x8b"


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
    kind = kind_of(path, options)
    with ExitStack() as stack:
        targets = [each or stack.enter_context(Path(os.devnull).open("wb")) for each in (kept, dropped)]
        if kind == ".parquet":
            _copy_parquet(path, options, drops, targets)
            return
        with reading_input(printable(path)):
            packing = packing_of(path)
            of_array = kind == ".json" and is_array(path, options)
        if kind in (".warc", ".wet"):
            _copy_archive(path, options, drops, targets, packing)
            return
        targets = [stack.enter_context(packed(target, packing)) for target in targets]
        records = records_of(path, options)
        _copy_bytes(records, drops, targets, header=kind in (".csv", ".tsv"), of_array=of_array)


@contextmanager
def reading_input(source: str) -> Iterator[None]:
    """Tell what goes wrong inside as an error of the input; nothing may be written inside."""
    try:
        yield
    except (*READ_ERRORS, ValueError) as error:
        raise InputError(source, None, plain_problem(error)) from error


def _copy_bytes(
    records: Records, drops: Drops, targets: Sequence[IO[bytes]], *, header: bool, of_array: bool
) -> None:
    """Copy lines and rows, or the elements of an array; a header goes to both targets."""
    if header:
        raw, failure = next(records)
        drops([failure])
        for target in targets:
            target.write(raw or b"")
    before = [b"[\n", b"[\n"] if of_array else [b"", b""]
    for batch in chunked(records, _RECORDS):
        for (raw, _), mark in zip(batch, drops([item for _, item in batch]), strict=True):
            if raw is not None:
                targets[mark].write(before[mark] + raw)
                before[mark] = b",\n" if of_array else b""
    if of_array:
        for target, begun in zip(targets, before, strict=True):
            target.write(b"[]\n" if begun == b"[\n" else b"\n]\n")


def _copy_parquet(path: Path, options: ReadOptions, drops: Drops, targets: Sequence[IO[bytes]]) -> None:
    with needs_extra("parquet", f"reading {path}"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    source, row = printable(path), 0
    try:
        with ExitStack() as stack:
            file = stack.enter_context(pq.ParquetFile(path, buffer_size=2**20, pre_buffer=False))
            columns = needed_columns(file.schema_arrow.names, options.fields)
            groups = file.metadata.num_row_groups and file.metadata.num_columns
            compression = file.metadata.row_group(0).column(0).compression if groups else "SNAPPY"
            compression = {"UNCOMPRESSED": "none"}.get(compression, compression.lower())
            writers = [
                stack.enter_context(pq.ParquetWriter(target, file.schema_arrow, compression=compression))
                for target in targets
            ]
            waiting: list[list[Any]] = [[], []]  # rows of the next row group of each target
            # bytes that these rows keep in memory, which are those of their whole batches
            held = [0, 0]

            def flush(which: int) -> None:
                if waiting[which]:
                    writers[which].write_table(pa.Table.from_batches(waiting[which], file.schema_arrow))
                waiting[which], held[which] = [], 0

            for batch in file.iter_batches(_RECORDS):
                records = rows_of(batch.select(columns), row)
                items = [item_of(value, source, number, options) for _, number, value in records]
                row += len(items)
                start = 0
                for dropped, run in groupby(drops(items)):  # slices, since filter knows no string_view
                    length = len(list(run))
                    if dropped < len(targets):
                        waiting[dropped].append(batch.slice(start, length))
                    start += length
                for which in range(len(targets)):
                    held[which] += batch.nbytes if waiting[which] else 0
                    if held[which] >= _ROW_GROUP_BYTES:
                        flush(which)
            for which in range(len(targets)):
                flush(which)
    except (ValueError, pa.ArrowException) as error:
        raise InputError(source, row + 1 if row else None, f"not readable as Parquet: {error}") from error


def _copy_archive(
    path: Path, options: ReadOptions, drops: Drops, targets: Sequence[IO[bytes]], packing: str
) -> None:
    """Copy whole records; those about one URL that follow each other are decided on together."""
    name = printable(path)
    with ExitStack() as stack:
        with reading_input(name):
            stream, damage = stack.enter_context(open_by_record(path))
        if packing != ".gz":  # in which each record is compressed by itself
            targets = [stack.enter_context(packed(target, packing)) for target in targets]
        records = records_of(path, options, lambda *_: placed_records(stream, damage, options))
        for _, run in groupby(records, _url):
            found = list(run)
            marks = drops([item for _, item in found])
            placed = [(record, mark) for (record, _), mark in zip(found, marks, strict=True) if record]
            for record, mark in _marked(placed):
                if record.start == record.end:
                    problem = "several records share a gzip member: unpack the file, and name that"
                    raise InputError(name, None, problem)
                of_all = not record.url and not mark  # warcinfo describes all that follow it
                for target in targets if of_all else [targets[mark]]:
                    _copy_record(_pieces(stream, record, name), target, packing)


def _url(found: tuple[PlacedRecord | None, Item | None]) -> object:
    """The URL of a record; something that equals nothing of a record without one, and of damage."""
    record, _ = found
    return record.url if record and record.url else object()


def _marked(run: Sequence[tuple[PlacedRecord, bool]]) -> Iterator[tuple[PlacedRecord, bool]]:
    """Whether each record of a run is left out: one that may be a page if it is dropped, another if all of these that it belongs to are."""
    pages = [(record, mark) for record, mark in run if record.may_be_page]
    for record, mark in run:
        owners = [
            page_mark
            for page, page_mark in pages
            if record.concurrent_to == page.id or page.concurrent_to == record.id
        ] or [page_mark for _, page_mark in pages]
        yield record, mark if record.may_be_page else bool(owners) and all(owners)


def _pieces(stream: IO[bytes], record: PlacedRecord, name: str) -> Iterator[bytes]:
    """The bytes of a record, read without moving the stream from which records are being read."""
    for start in range(record.start, record.end, _COPY_BYTES):
        with reading_input(name):
            piece = os.pread(stream.fileno(), min(record.end - start, _COPY_BYTES), start)
        yield piece


def _copy_record(pieces: Iterator[bytes], target: IO[bytes], packing: str) -> None:
    """Copy the bytes of a record; in an archive compressed by gzip one that is not compressed becomes a member of its own."""
    first = next(pieces, b"")
    packs = packing == ".gz" and not first.startswith(_GZIP)
    with packed(target, packing if packs else "") as member:
        for piece in chain([first], pieces):
            member.write(piece)
