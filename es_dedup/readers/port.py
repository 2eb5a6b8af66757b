"""What every reader gives and takes."""

from __future__ import annotations

import codecs
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003 - pydantic reads the types of fields
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, get_args

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass as validated

from es_dedup.readers.streams import suffix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_dedup.model import Page
    from es_dedup.readers.locations import Source

Format = Literal["jsonl", "json", "csv", "tsv", "parquet", "warc"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)
"""Kinds of files with many pages."""
JSON_LINES: Final = (".jsonl", ".ndjson", ".jl", ".jsonlines")
"""Suffixes of JSON lines; the last two are of Scrapy."""
IdFrom = Literal["field", "place", "either"]
WarcId = Literal["url", "record"]
_STRICT: Final = ConfigDict(strict=True)
MAX_RECORD_BYTES: Final = 64 * 2**20
"""Longest line or record that is taken into memory; a longer one is left out and named."""
KEPT_FAILURES: Final = 1000
"""Failures of one call that are kept; more are only counted."""
MAX_PAGE_BYTES: Final = 10_000_000
"""Bytes of one page file that are read; extraction cuts at ``extraction.max_bytes`` anyway."""


@dataclass(frozen=True, slots=True)
class InputFailure:
    """A part of the input that gave no page; the rest went on.

    Attributes:
        source: the file, as named by the caller or found below a named folder.
        line: line in it, from 1; the row for tables, the record for archives; None for the whole file.
        problem: what is wrong, in plain words.
    """

    source: str
    line: int | None
    problem: str

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{place}: {self.problem}"


class Problem(str):
    """Why a record gives no page; empty of one that is none although nothing is wrong with it."""

    __slots__ = ()


NO_PAGE: Final = Problem()


class Record(NamedTuple):
    """A part of a file, as its reader gives it.

    Attributes:
        raw: what is copied of it: its bytes, or its place in an archive; None: it cannot be copied by itself.
        line: as of ``InputFailure``.
        value: named fields, or whatever else the file has in place of these; or a page; or a problem.
    """

    raw: Any
    line: int | None
    value: Any


def _known(encoding: str) -> str:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ValueError(f"unknown encoding {encoding!r}") from error
    return encoding


Encoding = Annotated[str, AfterValidator(_known)]
AtLeastOne = Annotated[int, Field(ge=1)]


@validated(frozen=True, slots=True, config=_STRICT)
class Fields:
    """Names of the fields of a record; None: found by the usual names (see ``records.USUAL``).

    Raises:
        ValueError: a name is not a string.
    """

    id: str | None = None
    text: str | None = None
    html: str | None = None
    url: str | None = None
    title: str | None = None
    time: str | None = None


@dataclass(slots=True)
class Tally:
    """What the readers of one call count.

    Attributes:
        records: records read (JSON objects, table rows).
        having: the role of a named field (``text``) to the number of records that have it.
        example: fields of the first record that lacks a named one.
        ignored: suffix to the number of files in folders that were not read because their kind is unknown.
        no_page: why records of archives hold no page (``status 404``), to the number of these.
    """

    records: int = 0
    having: Counter[str] = field(default_factory=Counter)
    example: tuple[str, ...] = ()
    ignored: Counter[str] = field(default_factory=Counter)
    no_page: Counter[str] = field(default_factory=Counter)


@validated(frozen=True, slots=True, config=_STRICT)
class ReadOptions:
    """How input is read.

    Attributes:
        fields: names of a record's fields.
        format: kind of the files, pipes and standard input that are named, one of ``FORMATS``; None: by the suffix, of a pipe by the
            content.
        id_from: what becomes the id of a record or row: ``field``, its own id or, where it has none, a digest of its content, so that
            equal rows are one page wherever they stand; ``place``, the file as it is named and the line; ``either``, its own id or, where
            it has none that is valid, its place.
        encoding: of JSONL, CSV and TSV files, and of text files that are not UTF-8; a byte order mark in the file comes before it.
        warc_id: what becomes the page id of an archived response: its URL, or the record's own id.
        max_page_bytes: bytes of one page that are read, at least 1; the rest is cut.
        max_record_bytes: longest line or record, at least 1; a longer one is a failure.
        leave: a file below an input folder that is no input, such as the report of this run.
        root: folder that ids of page files are relative to, as the index has it (``Deduplicator.root``); None: the deepest one that holds
            all page files and folders of the call.
        tally: filled while reading; ``read_pages`` gives every call its own.

    Raises:
        ValueError: values of a wrong type, or out of range.
    """

    fields: Fields = field(default_factory=Fields)
    format: Format | None = None
    id_from: IdFrom = "field"
    encoding: Encoding = "utf-8"
    warc_id: WarcId = "url"
    max_page_bytes: AtLeastOne = MAX_PAGE_BYTES
    max_record_bytes: AtLeastOne = MAX_RECORD_BYTES
    leave: Path | None = None
    root: str | Path | None = None
    tally: Tally = field(default_factory=Tally, compare=False, repr=False)


def kind_of(path: Source, options: ReadOptions) -> str:
    """The suffix of the kind that a file is read as."""
    return f".{options.format}" if options.format else suffix_of(path)


if TYPE_CHECKING:
    Item = Page | InputFailure
    Items = Iterator[Item]
    Reader = Callable[[Source, ReadOptions], Iterator[Record]]
