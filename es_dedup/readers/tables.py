"""Tables: CSV, TSV, Parquet. One row is one record; the first line names the fields."""

from __future__ import annotations

import csv
import io
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import MissingExtra
from es_dedup.readers.port import InputFailure, kind_of
from es_dedup.readers.records import USUAL, leads_to, page_from_record
from es_dedup.readers.streams import open_text, plain_problem, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import Fields, Item, ReadOptions, Records

PARQUET_BATCH_ROWS: Final = 256
_UNDECODED: Final = "surrogateescape"


def csv_records(source: Source, options: ReadOptions) -> Records:
    """The header, then each row of a CSV or TSV file as it stands there, with its page or failure; an empty row has none.

    The delimiter is a tab for ``.tsv``, else whichever of comma, semicolon, tab and bar the header holds most of.
    A row with another number of values than the header, or with bytes that are no text, is a failure. Rows are numbered by the line they
    end on.
    """
    name, number, limit = printable(source), 1, options.max_record_bytes
    csv.field_size_limit(limit)
    wrong_encoding = f"not {options.encoding} text; name another with --encoding"
    with open_text(source, options.encoding) as (stream, encoding):
        # Undecodable bytes become surrogates, so that one bad row does not end the file.
        text = io.TextIOWrapper(stream, encoding, errors=_UNDECODED, newline="")
        try:
            header_line = text.readline(limit)
            delimiter = max(",;\t|", key=header_line.count)
            delimiter = "\t" if kind_of(source, options) == ".tsv" else delimiter
            header = next(csv.reader([header_line], delimiter=delimiter), [])
            problem = "" if any(header) else "no header line with field names"
            problem = wrong_encoding if _has_undecoded(header_line) else problem
            if len(header_line) == limit and not header_line.endswith("\n"):
                problem = f"the header is longer than {limit:,} characters"
            if problem:
                yield None, InputFailure(name, 1, problem)
                return
            yield header_line.encode(encoding, _UNDECODED), None
            for number, lines, row in _rows(text, delimiter, limit):
                item: Item | None = None
                if isinstance(row, str):
                    item = InputFailure(name, number, row)
                elif row and len(row) != len(header):
                    problem = f"{len(row)} values, but the header names {len(header)} fields"
                    item = InputFailure(name, number, problem)
                elif any(map(_has_undecoded, row)):
                    item = InputFailure(name, number, wrong_encoding)
                elif row:
                    item = page_from_record(dict(zip(header, row, strict=True)), name, number, options)
                yield lines.encode(encoding, _UNDECODED) or None, item
        except UnicodeError:  # UTF-16 and UTF-32 cannot go on behind a damaged place
            yield None, InputFailure(name, number, f"{wrong_encoding}; the rest of the file was left out")


def _rows(text: io.TextIOBase, delimiter: str, limit: int) -> Iterator[tuple[int, str, list[str] | str]]:
    """Rows behind the header: the line that each ends on, its lines, and its values; or in their place what is wrong with them.

    A line that is too long is never in memory, and the lines of its row are empty.
    """
    lines: list[str] = []

    def next_line() -> str:
        line = text.readline(limit + 1)
        if len(line) > limit and not line.endswith("\n"):
            while (rest := text.readline(2**20)) and not rest.endswith("\n"):
                pass
            lines.clear()
            raise csv.Error(f"longer than {limit:,} characters")
        lines.append(line)
        return line

    rows = csv.reader(iter(next_line, ""), delimiter=delimiter)
    while True:
        try:
            row: list[str] | str = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            row = f"not a valid row: {error}"
        yield rows.line_num + 1, "".join(lines), row
        lines.clear()


def _has_undecoded(text: str) -> bool:
    return not text.isascii() and any("\udc80" <= char <= "\udcff" for char in text)


def parquet_records(source: Source, options: ReadOptions) -> Records:
    """Pages of a Parquet file, batch by batch; only the columns that are needed are read.

    Raises:
        MissingExtra: without the package pyarrow.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow", "parquet", f"reading {source}") from error
    name, row = printable(source), 0
    try:
        with (
            nullcontext(source) if isinstance(source, Path) else source.open("rb") as stored,
            pq.ParquetFile(stored, buffer_size=2**20, pre_buffer=False) as file,
        ):
            columns = needed_columns(file.schema_arrow.names, options.fields)
            for batch in file.iter_batches(PARQUET_BATCH_ROWS, columns=columns):
                for item in batch_items(batch, name, row, options):
                    row += 1
                    yield None, item
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names of columns that are no text
        system = isinstance(error, OSError) and error.strerror
        problem = plain_problem(error) if system else str(error).splitlines()[0]
        yield None, InputFailure(name, row + 1 if row else None, f"not readable as Parquet: {problem}")


def batch_items(batch: Any, name: str, before: int, options: ReadOptions) -> Iterator[Item]:
    """Pages or failures of the rows of a batch of a Parquet file, which has so many rows before it."""
    import pyarrow as pa

    for place, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":  # datetime has microseconds
            times = batch.column(place).cast(pa.timestamp("us", field.type.tz), safe=False)
            batch = batch.set_column(place, field.name, times)
    try:
        records = batch.to_pylist()
    except (ValueError, OverflowError):  # a value that Python cannot hold costs only its own row
        records = [None] * len(batch)
    for place, record in enumerate(records):
        try:
            (row,) = [record] if record is not None else batch.slice(place, 1).to_pylist()
        except (ValueError, OverflowError) as error:
            yield InputFailure(name, before + place + 1, f"a value cannot be read: {error}")
        else:
            yield page_from_record(row, name, before + place + 1, options)


def needed_columns(columns: list[str], fields: Fields) -> list[str]:
    """The columns a page may be made of; all of them when a named one is missing, so that failures can list them."""
    named = {name for name in (getattr(fields, role) for role in USUAL) if name}
    below = {name: [column for column in columns if leads_to(column, name)] for name in named}
    if not all(below.values()):
        return columns
    wanted = {column for leading in below.values() for column in leading}
    usual = {name for role, names in USUAL.items() if not getattr(fields, role) for name in names}
    return [name for name in columns if name in wanted or name.lower() in usual] or columns
