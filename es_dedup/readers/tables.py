"""Tables: CSV, TSV, Parquet. One row is one record; the first line names the fields."""

from __future__ import annotations

import csv
import io
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from es_dedup.errors import MissingExtra
from es_dedup.readers.port import InputFailure, kind_of
from es_dedup.readers.records import USUAL, leads_to, page_from_record
from es_dedup.readers.streams import READ_ERRORS, open_text, plain_problem, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import Fields, Item, Items, RawRecord, ReadOptions

PARQUET_BATCH_ROWS: Final = 256
_DELIMITERS: Final = ",;\t|"
_UNDECODED: Final = "surrogateescape"


def read_csv(path: Source, options: ReadOptions) -> Items:
    """Pages of a CSV or TSV file with a header line, row by row.

    The delimiter is a tab for ``.tsv``, else whichever of comma, semicolon, tab and bar the header holds most of.
    A row with another number of values than the header, or with bytes that are no text, is a failure.
    """
    return (item for _, item in csv_records(path, options) if item is not None)


def csv_records(path: Source, options: ReadOptions, *, raw: bool = False) -> Iterator[RawRecord]:
    """Rows with their pages or failures, the header first; as they stand in the file where ``raw``."""
    source, line = printable(path), 1
    csv.field_size_limit(options.max_record_bytes)
    try:
        with open_text(path, options.encoding) as (stream, encoding):
            # Undecodable bytes become surrogates, so that one bad row does not end the file.
            text = io.TextIOWrapper(stream, encoding, errors=_UNDECODED, newline="")
            header_line = text.readline(options.max_record_bytes)
            if len(header_line) == options.max_record_bytes and not header_line.endswith("\n"):
                problem = f"the header is longer than {options.max_record_bytes:,} characters"
                yield None, InputFailure(source, 1, problem)
                return
            if _undecoded(header_line):
                yield None, InputFailure(source, 1, _wrong_encoding(options))
                return
            delimiter = "\t" if kind_of(path, options) == ".tsv" else _delimiter(header_line)
            header = next(csv.reader([header_line], delimiter=delimiter), [])
            if not any(header):
                yield None, InputFailure(source, 1, "no header line with field names")
                return
            yield header_line.encode(encoding, _UNDECODED) if raw else None, None
            lines = _Lines(text, options.max_record_bytes)
            rows = csv.reader(lines, delimiter=delimiter)
            for item in _rows(rows, header, source, options):
                line = rows.line_num + 1
                taken = lines.taken()
                yield taken.encode(encoding, _UNDECODED) if raw and taken else None, item
    except UnicodeError:  # UTF-16 and UTF-32 cannot go on behind a damaged place
        problem = f"{_wrong_encoding(options)}; the rest of the file was left out"
        yield None, InputFailure(source, line, problem)
    except READ_ERRORS as error:
        yield None, InputFailure(source, None, plain_problem(error))


def read_parquet(path: Source, options: ReadOptions) -> Items:
    """Pages of a Parquet file, batch by batch; only the columns that are needed are read.

    Raises:
        MissingExtra: without the package pyarrow.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow", "parquet", f"reading {path}") from error
    source, row = printable(path), 0
    try:
        with (
            nullcontext(path) if isinstance(path, Path) else path.open() as stored,
            pq.ParquetFile(stored, buffer_size=2**20, pre_buffer=False) as file,
        ):
            columns = needed_columns(file.schema_arrow.names, options.fields)
            for batch in file.iter_batches(PARQUET_BATCH_ROWS, columns=columns):
                for item in batch_items(batch, source, row, options):
                    row += 1
                    yield item
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names of columns that are no text
        problem = (
            plain_problem(error)
            if isinstance(error, OSError) and error.strerror
            else str(error).splitlines()[0]
        )
        yield InputFailure(source, row + 1 if row else None, f"not readable as Parquet: {problem}")


def batch_items(batch: Any, source: str, before: int, options: ReadOptions) -> Iterator[Item]:
    """Pages or failures of the rows of a batch of a Parquet file, which has so many rows before it."""
    for row, record in enumerate(_records(batch), before + 1):
        if isinstance(record, str):
            yield InputFailure(source, row, record)
        else:
            yield page_from_record(record, source, row, options)


def _records(batch: Any) -> Iterator[dict[str, Any] | str]:
    """Rows of a batch; in place of one with a value that Python cannot hold, what is wrong with it."""
    import pyarrow as pa

    for place, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":  # datetime has microseconds
            times = batch.column(place).cast(pa.timestamp("us", field.type.tz), safe=False)
            batch = batch.set_column(place, field.name, times)
    try:
        yield from batch.to_pylist()
    except (ValueError, OverflowError):
        for place in range(len(batch)):
            try:
                (record,) = batch.slice(place, 1).to_pylist()
            except (ValueError, OverflowError) as error:
                yield f"a value cannot be read: {error}"
            else:
                yield record


class _Lines:
    """Lines of a table; one that is too long is an error of its own, never held, and reading goes on after it."""

    def __init__(self, text: io.TextIOBase, most: int) -> None:
        self._text, self._most = text, most
        self._taken: list[str] = []

    def taken(self) -> str:
        """The lines since the last call, which make one row; empty where one of them was too long."""
        lines, self._taken = self._taken, []
        return "".join(lines)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._most + 1)
        if not line:
            raise StopIteration
        if len(line) > self._most and not line.endswith("\n"):
            _skip_line(self._text)
            self._taken = []
            raise csv.Error(f"longer than {self._most:,} characters")
        self._taken.append(line)
        return line


def _skip_line(text: io.TextIOBase) -> None:
    while (rest := text.readline(2**20)) and not rest.endswith("\n"):
        pass


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _rows(rows: Any, header: list[str], source: str, options: ReadOptions) -> Iterator[Item | None]:
    """Pages or failures of rows; None for an empty row."""
    for number, row in _numbered(rows):
        if isinstance(row, str):
            yield InputFailure(source, number, row)
        elif row and len(row) != len(header):
            yield InputFailure(
                source, number, f"{len(row)} values, but the header names {len(header)} fields"
            )
        elif any(map(_undecoded, row)):
            yield InputFailure(source, number, _wrong_encoding(options))
        elif row:
            yield page_from_record(dict(zip(header, row, strict=True)), source, number, options)
        else:
            yield None


def _undecoded(text: str) -> bool:
    return any("\udc80" <= char <= "\udcff" for char in text)


def _wrong_encoding(options: ReadOptions) -> str:
    return f"not {options.encoding} text; name another with --encoding"


def _numbered(rows: Any) -> Iterator[tuple[int, list[str] | str]]:
    """Rows with the line they end on (the header is line 1); a broken row as the words for what is wrong."""
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield rows.line_num + 1, f"not a valid row: {error}"
        else:
            yield rows.line_num + 1, row


def needed_columns(columns: list[str], fields: Fields) -> list[str]:
    """The columns a page may be made of; all of them when a named one is missing, so that failures can list them."""
    named = {name for name in (getattr(fields, role) for role in USUAL) if name}
    below = {name: [column for column in columns if leads_to(column, name)] for name in named}
    if not all(below.values()):
        return columns
    wanted = {column for leading in below.values() for column in leading}
    usual = {name for role, names in USUAL.items() if not getattr(fields, role) for name in names}
    return [name for name in columns if name in wanted or name.lower() in usual] or columns
