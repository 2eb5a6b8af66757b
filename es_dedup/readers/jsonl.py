"""JSON lines, and a JSON file that is one array of objects."""

from __future__ import annotations

import codecs
import json
import re
from typing import IO, TYPE_CHECKING, Any, Final

from es_dedup.readers.port import InputFailure
from es_dedup.readers.records import page_from_record
from es_dedup.readers.streams import lines_of, open_text, plain_problem, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import Item, ReadOptions, Records

_CHUNK: Final = 2**18
_GAP: Final = re.compile(r"[ \t\r\n,]*")


def jsonl_records(source: Source, options: ReadOptions) -> Records:
    """Each line as it stands in the file, with the page of its object; a blank line has none.

    A line that is not JSON, not text in the stated encoding, too long, or lacks fields is a failure with its number; one that is too
    long is not kept in memory.
    """
    name, number = printable(source), 0
    with open_text(source, options.encoding) as (stream, encoding):
        try:
            for number, line in lines_of(stream, options.max_record_bytes):
                if line is None:
                    problem = f"longer than {options.max_record_bytes:,} bytes"
                    yield None, InputFailure(name, number, problem)
                else:
                    yield line, _page(line, name, number, encoding, options)
        except UnicodeDecodeError as error:  # UTF-16 and UTF-32 cannot go on behind a damaged place
            yield None, InputFailure(name, number + 1, plain_problem(error))


def json_records(source: Source, options: ReadOptions) -> Records:
    """The records of a ``.json`` file: one array of objects, read piece by piece, or JSON lines."""
    return (array_records if is_array(source, options) else jsonl_records)(source, options)


def is_array(source: Source, options: ReadOptions) -> bool:
    """Whether a JSON file is one array, not JSON lines.

    Raises:
        OSError, EOFError: it cannot be read.
    """
    with open_text(source, options.encoding) as (stream, _):
        return stream.read(64).lstrip()[:1] == b"["


def _page(line: bytes, name: str, number: int, encoding: str, options: ReadOptions) -> Item | None:
    if not line.strip():
        return None
    try:
        record = json.loads(line.decode(encoding))
    except UnicodeDecodeError as error:
        return InputFailure(name, number, f"not {encoding} text (byte {error.start + 1} of the line)")
    except RecursionError:
        return InputFailure(name, number, "JSON nested too deeply")
    except ValueError as error:
        return InputFailure(name, number, f"not valid JSON: {error}")
    return page_from_record(record, name, number, options)


def array_records(source: Source, options: ReadOptions) -> Records:
    """The elements of an array as they stand in the file, with their pages; a broken one ends the file, because its end is not known."""
    name, number = printable(source), 0
    with open_text(source, options.encoding) as (stream, encoding):
        try:
            for number, (text, record) in enumerate(_elements(stream, encoding, options), 1):
                yield text.encode(encoding), page_from_record(record, name, number, options)
        except (ValueError, RecursionError) as error:
            problem = f"not valid JSON: {error}"
            if isinstance(error, UnicodeDecodeError):
                problem = f"not {options.encoding} text"
            yield None, InputFailure(name, number + 1, f"{problem}; the rest of the file was left out")


def _elements(stream: IO[bytes], encoding: str, options: ReadOptions) -> Iterator[tuple[str, Any]]:
    """The elements of an array, as text and parsed."""
    decode = codecs.getincrementaldecoder(encoding)().decode
    parse = json.JSONDecoder().raw_decode
    buffer = decode(stream.read(_CHUNK)).lstrip()
    start, ended = 1, False
    while True:
        gap = _GAP.match(buffer, start)
        start = gap.end() if gap else start
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
