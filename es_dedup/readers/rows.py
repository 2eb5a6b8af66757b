"""JSON lines and other JSON, CSV, Parquet."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
from collections import Counter, deque
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from es_dedup.errors import needs_extra
from es_dedup.readers.port import NO_PAGE, Fields, Problem, ReadOptions, Record, kind_of
from es_dedup.readers.records import AROUND, USUAL, leads_to, usual_forms
from es_dedup.readers.streams import lines_of, open_text, plain_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_dedup.readers.locations import Source


_CHUNK: Final = 2**18
_GAP: Final = re.compile(r"[ \t\r\n,]*")
PARQUET_BATCH_ROWS: Final = 256
_UNDECODED: Final = "surrogateescape"
_NULLS: Final = dict.fromkeys(("NULL", "null", "\\N", "NaN", "nan", "None", "NA", "N/A", "#N/A", "<NA>"))
"""How databases, spreadsheets, R and pandas write that a row of a table has no value."""
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
_ESCAPE: Final = re.compile(r"\\([nrt\\])")
"""As databases write line ends and tabs in values that tabs separate."""
_DELIMITER_LINE: Final = re.compile(r"sep=(?:\\|([^\r\n\"\\]?))[\r\n]*")
"""How Excel names the delimiter before the header; a backslash or nothing names none."""
_SAMPLE_CHARS: Final = 2**16


def jsonl_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """Each line with the value that it holds; a blank line is no page, and one that is too long is not kept in memory.

    An action of a bulk request and the document behind it are one record.
    """
    number, too_long = 0, Problem(f"longer than {options.max_record_bytes:,} bytes")
    action, head = b"", dict[str, Any]()
    with open_text(source, options.encoding) as (stream, encoding):
        try:
            for number, line in lines_of(stream, options.max_record_bytes):
                value = too_long if line is None else _value(line, encoding)
                if not action and isinstance(value, dict) and (head := _bulk_action(value)):
                    action = line or b""
                    continue
                if isinstance(value, dict) and action:
                    value = {"_source": value, **head}
                yield Record(None if line is None else action + line, number, value)
                action, head = b"", {}
            if action:
                yield Record(action, number, Problem("an action of a bulk request without its document"))
        except UnicodeDecodeError as error:  # UTF-16 and UTF-32 cannot go on behind a damaged place
            yield Record(None, number + 1, Problem(plain_problem(error)))


def _bulk_action(value: dict[str, Any]) -> dict[str, Any]:
    """What the action of a bulk request that brings a document says of this; empty: the value is no such action."""
    head = value.get("index", value.get("create"))
    return {"_id": None, **head} if len(value) == 1 and isinstance(head, dict) else {}


def _value(line: bytes, encoding: str) -> Any:
    """What a line holds, or why it cannot be read."""
    if not line.strip():
        return NO_PAGE
    try:
        return _JSON.decode(line.decode(encoding))
    except UnicodeDecodeError as error:
        return Problem(
            f"not {encoding} text (byte {error.start + 1} of the line); name another with --encoding"
        )
    except RecursionError:
        return Problem("JSON nested too deeply")
    except ValueError as error:
        return Problem(f"not valid JSON: {error}")


def _whole_number(digits: str) -> int | str:
    """A number, or its digits where they are more than Python reads."""
    return int(digits) if len(digits) <= sys.int_info.default_max_str_digits else digits


_JSON: Final = json.JSONDecoder(parse_int=_whole_number)


def json_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """The records of a ``.json`` file: JSON lines, or the elements of one array or objects over several lines, read piece by piece."""
    with open_text(source, options.encoding) as (stream, _):
        over_lines = stream.readline(options.max_record_bytes).rstrip().endswith((b"{", b"[", b",", b":"))
    in_pieces = over_lines or is_array(source, options)
    return (element_records if in_pieces else jsonl_records)(source, options)


def is_array(source: Source, options: ReadOptions) -> bool:
    """Whether a JSON file is one array.

    Raises:
        OSError, EOFError: it cannot be read.
    """
    with open_text(source, options.encoding) as (stream, _):
        return stream.read(64).lstrip()[:1] == b"["


def element_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """The elements of an array, or objects one after the other; a broken one ends the file, because its end is not known."""
    number = 0
    with open_text(source, options.encoding) as (stream, encoding):
        try:
            for number, (text, value) in enumerate(_elements(stream, encoding, options), 1):
                yield Record(text.encode(encoding), number, value)
        except (ValueError, RecursionError) as error:
            problem = f"not valid JSON: {error}"
            if isinstance(error, UnicodeDecodeError):
                problem = f"not {options.encoding} text"
            yield Record(None, number + 1, Problem(f"{problem}; the rest of the file was left out"))


def _elements(stream: IO[bytes], encoding: str, options: ReadOptions) -> Iterator[tuple[str, Any]]:
    """The elements of an array, or objects one after the other, as text and parsed."""
    decode = codecs.getincrementaldecoder(encoding)().decode
    buffer = decode(stream.read(_CHUNK)).lstrip()
    of_array = buffer.startswith("[")
    start, ended = int(of_array), False
    while True:
        gap = _GAP.match(buffer, start)
        start = gap.end() if gap else start
        if of_array and buffer[start : start + 1] == "]":
            return
        if ended and not of_array and start == len(buffer):
            return
        try:
            record, end = _JSON.raw_decode(buffer, start)
        except ValueError:
            if ended:
                raise
            end = 0
        # A number or word that ends with the buffer may go on in the next piece.
        if end and (end < len(buffer) or ended):
            yield buffer[start:end] + ("" if of_array else "\n"), record
            start = end
            continue
        buffer, start = buffer[start:], 0
        if len(buffer) > options.max_record_bytes:
            raise ValueError(f"an element is longer than {options.max_record_bytes:,} characters")
        # Doubling keeps the repeated attempts at one long element linear in its length.
        piece = stream.read(max(_CHUNK, len(buffer)))
        ended = not piece
        buffer += decode(piece, final=ended)


def csv_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """The header, then each row of a CSV or TSV file; the header and empty rows are no pages.

    The delimiter is a tab for ``.tsv``, else the one that a line ``sep=;`` before the header names, else whichever of comma, semicolon, tab and
    bar the header holds most of. Rows are numbered by the line they end on.
    """
    number, limit = 1, options.max_record_bytes
    csv.field_size_limit(limit)
    wrong_encoding = Problem(f"not {options.encoding} text; name another with --encoding")
    with open_text(source, options.encoding) as (stream, encoding):
        # Undecodable bytes become surrogates, so that one bad row does not end the file.
        text = io.TextIOWrapper(stream, encoding, errors=_UNDECODED, newline="")
        try:
            header_line = text.readline(limit)
            directive = _DELIMITER_LINE.fullmatch(header_line)
            named = directive[1] or "" if directive else ""
            before, header_line = (header_line, text.readline(limit)) if directive else ("", header_line)
            delimiter = named or max(",;\t|", key=header_line.count)
            delimiter = "\t" if kind_of(source, options) == ".tsv" else delimiter
            header = _names(next(csv.reader([header_line], delimiter=delimiter), []))
            problem = NO_PAGE if any(header) else Problem("no header line with field names")
            problem = wrong_encoding if _has_undecoded(header_line) else problem
            if len(header_line) == limit and not header_line.endswith("\n"):
                problem = Problem(f"the header is longer than {limit:,} characters")
            number = first = 1 + bool(directive)
            lines_of_header = (before + header_line).encode(encoding, _UNDECODED)
            yield Record(None if problem else lines_of_header, number, problem)
            if problem:
                return
            for number, lines, row in _rows(text, delimiter, limit, len(header), first):
                values: Iterable[str | None] = (_NULLS.get(each, each) for each in row)
                if delimiter == "\t" and "\\" in lines:
                    values = (each and _ESCAPE.sub(lambda found: _ESCAPED[found[1]], each) for each in values)
                value: Any = dict(zip(header, values, strict=False)) if row else NO_PAGE
                if isinstance(row, Problem):
                    value = row
                elif row and (len(row) < len(header) or any(row[len(header) :])):
                    value = Problem(f"{len(row)} values, but the header names {len(header)} fields")
                elif any(map(_has_undecoded, row)):
                    value = wrong_encoding
                yield Record(lines.encode(encoding, _UNDECODED) or None, number, value)
        except UnicodeError:  # UTF-16 and UTF-32 cannot go on behind a damaged place
            yield Record(None, number, Problem(f"{wrong_encoding}; the rest of the file was left out"))


def _names(header: list[str]) -> list[str]:
    """Names of columns without white space around them; of several alike the later ones are numbered, as pandas does."""
    seen, names = Counter[str](), list[str]()
    for name in map(str.strip, header):
        names.append(f"{name}.{seen[name]}" if name and seen[name] else name)
        seen[name] += 1
    return names


def _rows(
    text: io.TextIOBase, delimiter: str, limit: int, fields: int, number: int
) -> Iterator[tuple[int, str, list[str] | Problem]]:
    """Rows behind the header, which ends on line ``number``: the line that each ends on, its lines, and its values; or in their place what is wrong with them.

    A quote that is not closed as it should be, as of a text that begins with one where nothing is quoted, is a character like others, so
    that rows behind it are not taken for its text. Where the first rows have as many values as there are ``fields`` only with quotes escaped by
    backslashes, as Spark writes them, so are all. A line that is too long is never in memory, and the lines of its row are empty.
    """
    lines, again = list[str](), _first_lines(text, limit)
    by_backslash: dict[str, Any] = {"escapechar": "\\", "doublequote": False}
    fitting = [how for how in ({}, by_backslash) if _fits(again, fields, delimiter=delimiter, **how)]
    dialect = {"delimiter": delimiter, **(fitting[0] if fitting else {})}
    mark = re.escape(delimiter)
    value = rf'(?:"[^"]*+(?:""[^"]*+)*+" *+|(?!")[^{mark}\r\n]*+)'
    whole = re.compile(rf"{value}(?:{mark}{value})*+(?:\r\n?|\n)?")

    def next_line() -> str:
        nonlocal number
        line = again.popleft() if again else text.readline(limit + 1)
        number += bool(line)
        if len(line) > limit and not line.endswith("\n"):
            while (rest := text.readline(2**20)) and not rest.endswith("\n"):
                pass
            lines.clear()
            raise csv.Error(f"longer than {limit:,} characters")
        lines.append(line)
        return line

    rows = csv.reader(iter(next_line, ""), **dialect)
    while True:
        try:
            row: list[str] | Problem = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            row = Problem(f"not a valid row: {error}")
        if len(lines) > 1 and len(dialect) == 1 and not whole.fullmatch("".join(lines)):
            behind = [line for line in lines[1:] if line]
            again.extendleft(reversed(behind))
            number -= len(behind)
            del lines[1:]
            rows = csv.reader(iter(next_line, ""), delimiter=delimiter)
            row = next(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
        yield number, "".join(lines), row
        lines.clear()


def _first_lines(text: io.TextIOBase, limit: int) -> deque[str]:
    lines, chars = deque[str](), 0
    while chars < _SAMPLE_CHARS and (line := text.readline(limit + 1)):
        lines.append(line)
        chars += len(line)
        if not line.endswith("\n"):  # it may go on
            break
    return lines


def _fits(lines: deque[str], fields: int, **dialect: Any) -> bool:
    """Whether rows in a dialect have so many values; of several rows the last one may be cut."""
    try:
        rows = list(csv.reader(lines, **dialect))
    except csv.Error:
        return False
    return all(len(row) in (0, fields) for row in rows[: len(rows) - 1 or 1])


def _has_undecoded(text: str) -> bool:
    return not text.isascii() and any("\udc80" <= char <= "\udcff" for char in text)


def parquet_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """Rows of a Parquet file, batch by batch; only the columns that are needed are read.

    Raises:
        MissingExtra: without the package pyarrow.
    """
    with needs_extra("parquet", f"reading {source}"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    row = 0
    try:
        with (
            nullcontext(source) if isinstance(source, Path) else source.open("rb") as stored,
            pq.ParquetFile(stored, buffer_size=2**20, pre_buffer=False) as file,
        ):
            columns = needed_columns(file.schema_arrow.names, options.fields)
            for batch in file.iter_batches(PARQUET_BATCH_ROWS, columns=columns):
                yield from rows_of(batch, row)
                row += len(batch)
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names of columns that are no text
        system = isinstance(error, OSError) and error.strerror
        problem = plain_problem(error) if system else str(error).splitlines()[0]
        yield Record(None, row + 1 if row else None, Problem(f"not readable as Parquet: {problem}"))


def rows_of(batch: Any, before: int) -> Iterator[Record]:
    """The rows of a batch of a Parquet file, which has so many rows before it."""
    names = batch.schema.names
    for number, row in enumerate(zip(*map(values_of, batch.columns), strict=True), before + 1):
        yield Record(None, number, dict(zip(names, row, strict=True)))


def values_of(column: Any) -> list[Any]:
    """The values of a column of pyarrow as Python objects.

    Where Python has no object for a value, a time is given as text, text that is not UTF-8 as bytes, anything else as None.
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":  # datetime has microseconds
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        if len(column) == 1:
            try:
                return list(column.cast(_holdable(kind)).to_pylist())
            except (pa.ArrowException, ValueError, OverflowError):
                return [None]
        return [value for place in range(len(column)) for value in values_of(column.slice(place, 1))]
    return values


def _holdable(kind: Any) -> Any:
    """A type of pyarrow with text in place of times and bytes in place of text, in its fields too."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_holdable(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_holdable(kind.key_type), _holdable(kind.item_type))
    if pa.types.is_nested(kind) and hasattr(kind, "value_type"):
        return pa.large_list(_holdable(kind.value_type))
    if pa.types.is_temporal(kind):
        return pa.string()
    return pa.large_binary() if pa.types.is_string(kind) or pa.types.is_large_string(kind) else kind


def needed_columns(columns: list[str], fields: Fields) -> list[str]:
    """The columns a page may be made of; all of them when a named one is missing, so that failures can list them."""
    named = {name for name in (getattr(fields, role) for role in USUAL) if name}
    below = {name: [column for column in columns if leads_to(column, name)] for name in named}
    if not all(below.values()):
        return columns
    wanted = {column for leading in below.values() for column in leading}
    usual = {*AROUND, *(name for role, names in USUAL.items() if not getattr(fields, role) for name in names)}
    return [name for name in columns if name in wanted or usual_forms(name) & usual] or columns
