"""JSON lines, and a JSON file that is one array of objects."""

from __future__ import annotations

import codecs
import json
import re
from typing import IO, TYPE_CHECKING, Any, Final

from es_dedup.readers.port import InputFailure
from es_dedup.readers.records import page_from_record
from es_dedup.readers.streams import READ_ERRORS, lines_of, open_text, plain_problem, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import Item, Items, RawRecord, ReadOptions

_CHUNK: Final = 2**18
_BLANK: Final = " \t\r\n"
_GAP: Final = re.compile(r"[ \t\r\n,]*")


def read_jsonl(path: Source, options: ReadOptions) -> Items:
    """Pages of a file with one JSON object a line; blank lines do not count as failures.

    A line that is not JSON, not text in the stated encoding, too long, or lacks fields is a failure with its number.
    """
    return (item for _, item in jsonl_records(path, options) if item is not None)


def jsonl_records(path: Source, options: ReadOptions) -> Iterator[RawRecord]:
    """Each line as it stands in the file, with its page or failure; a blank line has none, a line that is too long is not held."""
    source, number = printable(path), 0
    try:
        with open_text(path, options.encoding) as (stream, encoding):
            for number, line in lines_of(stream, options.max_record_bytes):
                if line is None:
                    problem = f"longer than {options.max_record_bytes:,} bytes"
                    yield None, InputFailure(source, number, problem)
                else:
                    yield line, _page(line, source, number, encoding, options)
    except UnicodeDecodeError as error:  # UTF-16 and UTF-32 cannot go on behind a damaged place
        yield None, InputFailure(source, number + 1, plain_problem(error))
    except READ_ERRORS as error:
        yield None, InputFailure(source, None, plain_problem(error))


def read_json(path: Source, options: ReadOptions) -> Items:
    """Pages of a ``.json`` file: one array of objects, read piece by piece, or JSON lines."""
    try:
        records = array_records if is_array(path, options) else jsonl_records
    except READ_ERRORS as error:
        yield InputFailure(printable(path), None, plain_problem(error))
        return
    yield from (item for _, item in records(path, options) if item is not None)


def is_array(path: Source, options: ReadOptions) -> bool:
    """Whether a JSON file is one array, not JSON lines.

    Raises:
        OSError, EOFError: it cannot be read.
    """
    with open_text(path, options.encoding) as (stream, _):
        return stream.read(64).lstrip(_BLANK.encode())[:1] == b"["


def _page(line: bytes, source: str, number: int, encoding: str, options: ReadOptions) -> Item | None:
    if not line.strip():
        return None
    try:
        record = json.loads(line.decode(encoding))
    except UnicodeDecodeError as error:
        return InputFailure(source, number, f"not {encoding} text (byte {error.start + 1} of the line)")
    except RecursionError:
        return InputFailure(source, number, "JSON nested too deeply")
    except ValueError as error:
        return InputFailure(source, number, f"not valid JSON: {error}")
    return page_from_record(record, source, number, options)


def array_records(path: Source, options: ReadOptions) -> Iterator[RawRecord]:
    """The elements of an array as they stand in the file, with their pages; a broken one ends the file, because its end is not known."""
    source, number = printable(path), 0
    try:
        with open_text(path, options.encoding) as (stream, encoding):
            for number, (raw, record) in enumerate(_elements(stream, encoding, options), 1):
                yield raw.encode(encoding), page_from_record(record, source, number, options)
    except UnicodeDecodeError:
        problem = f"not {options.encoding} text; the rest of the file was left out"
        yield None, InputFailure(source, number + 1, problem)
    except (ValueError, RecursionError) as error:
        problem = f"not valid JSON: {error}; the rest of the file was left out"
        yield None, InputFailure(source, number + 1, problem)
    except READ_ERRORS as error:
        yield None, InputFailure(source, None, plain_problem(error))


def _elements(stream: IO[bytes], encoding: str, options: ReadOptions) -> Iterator[tuple[str, Any]]:
    decode = codecs.getincrementaldecoder(encoding)().decode
    parse = json.JSONDecoder().raw_decode
    buffer = decode(stream.read(_CHUNK)).lstrip(_BLANK)
    start, ended = 1, False
    while True:
        start = _gap_end(buffer, start)
        if buffer[start : start + 1] == "]":
            return
        try:
            record, end = parse(buffer, start)
        except ValueError:
            if ended:
                raise
            end = 0
        # A number or word that ends with the buffer may go on in the next piece.
        if end and (end < len(buffer) or ended):
            yield buffer[start:end], record
            start = end
            continue
        buffer, start = buffer[start:], 0
        if len(buffer) > options.max_record_bytes:
            raise ValueError(f"an element is longer than {options.max_record_bytes:,} characters")
        # Doubling keeps the repeated attempts at one long element linear in its length.
        piece = stream.read(max(_CHUNK, len(buffer)))
        ended = not piece
        buffer += decode(piece, final=ended)


def _gap_end(text: str, start: int) -> int:
    match = _GAP.match(text, start)
    return match.end() if match else start
