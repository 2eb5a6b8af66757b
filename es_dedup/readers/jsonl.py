"""JSON lines, and a JSON file that is one array of objects."""

from __future__ import annotations

import codecs
import json
import re
from typing import IO, TYPE_CHECKING, Any, Final

from es_dedup.readers.port import NO_PAGE, Problem, Record
from es_dedup.readers.streams import lines_of, open_text, plain_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import ReadOptions

_CHUNK: Final = 2**18
_GAP: Final = re.compile(r"[ \t\r\n,]*")


def jsonl_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """Each line with the value that it holds; a blank line is no page, and one that is too long is not kept in memory."""
    number, too_long = 0, Problem(f"longer than {options.max_record_bytes:,} bytes")
    with open_text(source, options.encoding) as (stream, encoding):
        try:
            for number, line in lines_of(stream, options.max_record_bytes):
                yield Record(line, number, too_long if line is None else _value(line, encoding))
        except UnicodeDecodeError as error:  # UTF-16 and UTF-32 cannot go on behind a damaged place
            yield Record(None, number + 1, Problem(plain_problem(error)))


def _value(line: bytes, encoding: str) -> Any:
    """What a line holds, or why it cannot be read."""
    if not line.strip():
        return NO_PAGE
    try:
        return json.loads(line.decode(encoding))
    except UnicodeDecodeError as error:
        return Problem(f"not {encoding} text (byte {error.start + 1} of the line)")
    except RecursionError:
        return Problem("JSON nested too deeply")
    except ValueError as error:
        return Problem(f"not valid JSON: {error}")


def json_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """The records of a ``.json`` file: one array of objects, read piece by piece, or JSON lines."""
    return (array_records if is_array(source, options) else jsonl_records)(source, options)


def is_array(source: Source, options: ReadOptions) -> bool:
    """Whether a JSON file is one array, not JSON lines.

    Raises:
        OSError, EOFError: it cannot be read.
    """
    with open_text(source, options.encoding) as (stream, _):
        return stream.read(64).lstrip()[:1] == b"["


def array_records(source: Source, options: ReadOptions) -> Iterator[Record]:
    """The elements of an array; a broken one ends the file, because its end is not known."""
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
