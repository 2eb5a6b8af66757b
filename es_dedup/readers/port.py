"""What every reader gives and takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from es_dedup.model import Page

MAX_RECORD_BYTES: Final = 64 * 2**20
"""Longest line or record that is taken into memory; a longer one is left out and named."""
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


@dataclass(frozen=True, slots=True)
class Found:
    """A page with its place in the input, so that a repeated id can be reported there."""

    page: Page
    source: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of the fields of a record; None: found by the usual names (see ``records.USUAL``)."""

    id: str | None = None
    text: str | None = None
    html: str | None = None
    url: str | None = None
    title: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How input is read.

    Attributes:
        fields: names of a record's fields.
        encoding: of JSONL, CSV and TSV files; a byte order mark is honoured.
        warc_id: what becomes the page id of an archived response: its URL, or the record's own id.
        max_page_bytes: bytes of one page that are read, at least 1; the rest is cut.
        max_record_bytes: longest line or record, at least 1; a longer one is a failure.
        leave: a file below an input folder that is no input, such as the report of this run.
    """

    fields: Fields = field(default_factory=Fields)
    encoding: str = "utf-8"
    warc_id: Literal["url", "record"] = "url"
    max_page_bytes: int = MAX_PAGE_BYTES
    max_record_bytes: int = MAX_RECORD_BYTES
    leave: Path | None = None


if TYPE_CHECKING:
    Item = Found | InputFailure
    Items = Iterator[Item]
    Reader = Callable[[Path, ReadOptions], Items]
