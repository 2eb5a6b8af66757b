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
    from pathlib import Path

    from es_dedup.readers.port import Items, ReadOptions

_CHUNK: Final = 2**18
_BLANK: Final = " \t\r\n"
_GAP: Final = re.compile(r"[ \t\r\n,]*")


def read_jsonl(path: Path, options: ReadOptions) -> Items:
    """Pages of a file with one JSON object a line; blank lines do not count as failures.

    A line that is not JSON, not text in the stated encoding, too long, or lacks fields is a failure with its number.
    """
    source, number = printable(path), 0
    try:
        with open_text(path, options.encoding) as (stream, encoding):
            for number, line in lines_of(stream, options.max_record_bytes):
                if line is None:
                    yield InputFailure(source, number, f"longer than {options.max_record_bytes:,} bytes")
                else:
                    yield from _page(line, source, number, encoding, options)
    except UnicodeDecodeError as error:  # UTF-16 and UTF-32 cannot go on behind a damaged place
        yield InputFailure(source, number + 1, plain_problem(error))
    except READ_ERRORS as error:
        yield InputFailure(source, None, plain_problem(error))


def read_json(path: Path, options: ReadOptions) -> Items:
    """Pages of a ``.json`` file: one array of objects, read piece by piece, or JSON lines."""
    try:
        with open_text(path, options.encoding) as (stream, _):
            first = stream.read(64).lstrip(_BLANK.encode())[:1]
    except READ_ERRORS as error:
        yield InputFailure(printable(path), None, plain_problem(error))
        return
    yield from _read_array(path, options) if first == b"[" else read_jsonl(path, options)


def _page(line: bytes, source: str, number: int, encoding: str, options: ReadOptions) -> Items:
    if not line.strip():
        return
    try:
        record = json.loads(line.decode(encoding))
    except UnicodeDecodeError as error:
        yield InputFailure(source, number, f"not {encoding} text (byte {error.start + 1} of the line)")
    except RecursionError:
        yield InputFailure(source, number, "JSON nested too deeply")
    except ValueError as error:
        yield InputFailure(source, number, f"not valid JSON: {error}")
    else:
        yield page_from_record(record, source, number, options)


def _read_array(path: Path, options: ReadOptions) -> Items:
    """The elements of an array; a broken one ends the file, because its end is not known."""
    source, number = printable(path), 0
    try:
        with open_text(path, options.encoding) as (stream, encoding):
            for number, record in enumerate(_elements(stream, encoding, options), 1):
                yield page_from_record(record, source, number, options)
    except UnicodeDecodeError:
        yield InputFailure(
            source, number + 1, f"not {options.encoding} text; the rest of the file was left out"
        )
    except (ValueError, RecursionError) as error:
        yield InputFailure(source, number + 1, f"not valid JSON: {error}; the rest of the file was left out")
    except READ_ERRORS as error:
        yield InputFailure(source, None, plain_problem(error))


def _elements(stream: IO[bytes], encoding: str, options: ReadOptions) -> Iterator[Any]:
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
            yield record
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
