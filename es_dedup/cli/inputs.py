"""Input of the commands: the options that say how to read it, and the account of what was left out."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from es_dedup.cli.output import clean
from es_dedup.cli.session import Session
from es_dedup.model import Page
from es_dedup.readers import Fields, InputFailure, ReadOptions, read_pages
from es_dedup.readers.locations import STDIN, located, missing
from es_dedup.readers.port import FORMATS, KEPT_FAILURES
from es_dedup.readers.reading import is_page_file
from es_dedup.readers.streams import is_pipe

if TYPE_CHECKING:
    from es_dedup.deduplicator.index_reader import IndexReader

SHOWN_FAILURES: Final = 20
SHOWN_KINDS: Final = 8

Paths = Annotated[
    list[str],
    typer.Argument(
        help="Folders, page files, JSONL, CSV, TSV, Parquet, WARC, WET (compressed too), quoted patterns, addresses such as s3://…, pipes, "
        "or - for standard input.",
        metavar="PATH…",
    ),
]
PAGE_IDS: Final = typer.Argument(help="Ids or URLs of pages; -: one a line on standard input.", metavar="ID…")
PageIds = Annotated[list[str], PAGE_IDS]


def read_options(
    *,
    id_field: str | None = None,
    text_field: str | None = None,
    html_field: str | None = None,
    url_field: str | None = None,
    title_field: str | None = None,
    time_field: str | None = None,
    id_from: Literal["field", "place"] = "field",
    format_: Literal[*FORMATS] | None = None,  # type: ignore[valid-type]
    encoding: str = "utf-8",
    warc_id: Literal["url", "record"] = "url",
    root: Annotated[Path | None, typer.Option(exists=True, file_okay=False)] = None,
) -> ReadOptions:
    """How input is read.

    Args:
        id_field: Field with the page id (else _id, id, page_id, doc_id, docid or url).
        text_field: Field with the main text (else text, content, body, main_text, article or content_text).
        html_field: Field with HTML (else html, raw_html, html_base64, content_html or body_html). A name in …base64 is decoded.
        url_field: Field with the URL (else url, link, uri or source_url).
        title_field: Field with the title (else title, headline or subject).
        time_field: Field with the time of publication (else published, time, date, published_at, publish_time, pubdate, datetime, timestamp, date_published, created_at or created).
        id_from: What becomes the id of a record: field, its own or, without one, a digest of its content; place, file and line.
        format_: Kind of the files, pipes or standard input (else by the suffix, of pipes by the content).
        encoding: Encoding of JSONL, CSV and TSV files, and of text files that are not UTF-8.
        warc_id: What becomes the page id in WARC files: url or record.
        root: Folder that ids of page files are relative to, or to which that of the index has moved (else see Page ids of files).
    """
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise typer.BadParameter(f"unknown encoding {encoding!r}", param_hint="--encoding") from error
    return ReadOptions(
        fields=Fields(id_field, text_field, html_field, url_field, title_field, time_field),
        format=format_,
        id_from=id_from,
        encoding=encoding,
        warc_id=warc_id,
        root=root,
    )


def given_ids(dedup: IndexReader, names: Iterable[str]) -> list[str]:
    """Ids of the pages that arguments name by id or URL, each once; ``-`` stands for the lines of standard input."""
    lines: list[str] = []
    for name in names:
        lines += [line.rstrip("\r") for line in sys.stdin.read().split("\n")] if name == STDIN else [name]
    found = dedup.ids_of(filter(None, lines))
    return list(dict.fromkeys(page_id for ids in found.values() for page_id in ids))


def must_be_there(paths: Iterable[str], argument: str) -> None:
    """Raise a usage error that names the inputs that are missing."""
    if absent := missing(located(path for path in paths if path != STDIN)):
        raise typer.BadParameter(f"there is no {', '.join(map(clean, absent))}", param_hint=argument)


class Intake:
    """Pages of the input, with every failure said once and counted.

    Attributes:
        failures: the first ``KEPT_FAILURES``.
        failed: how many there were.
    """

    def __init__(
        self, paths: Iterable[str], options: ReadOptions, session: Session, *, leave: Path | None = None
    ) -> None:
        paths = list(paths)
        if options.id_from == "place" and STDIN in paths:
            raise typer.BadParameter(
                "a line of standard input has no place to be found at", param_hint="--id-from"
            )
        must_be_there(paths, "PATH")
        most = session.settings.extraction.max_bytes
        self._source = read_pages(paths, replace(options, max_page_bytes=most, leave=leave))
        self._output = session.output
        moved = options.root is not None and not Path(options.root).is_dir()
        if moved and any(is_page_file(Path(path)) or Path(path).is_dir() for path in paths):
            self._output.note(
                f"the recorded root {options.root} does not exist: if the folder was moved, stop this command and run it again with --root NEW_FOLDER to keep the page ids"
            )
        self._explained_pipes = False
        self.failures: list[InputFailure] = []
        self.failed = 0

    @property
    def root(self) -> str | None:
        """What the ids of page files are relative to."""
        return self._source.root

    def pages(self) -> Iterator[Page]:
        """The pages; failures are taken out and noted."""
        for item in self._source:
            if isinstance(item, InputFailure):
                self._note(item)
            else:
                yield item
        if ignored := self._source.ignored:
            self._output.note(f"not read in folders: {kinds_of(ignored)}")
        if no_page := self._source.no_page:
            self._output.note(f"records of archives that hold no page: {kinds_of(no_page)}")

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready account."""
        return {
            "left_out": self.failed,
            "failures": self.failures,
            "ignored": dict(self._source.ignored),
            "no_page": dict(self._source.no_page),
        }

    def _note(self, failure: InputFailure) -> None:
        self.failed += 1
        if self.failed <= KEPT_FAILURES:
            self.failures.append(failure)
        if self.failed == SHOWN_FAILURES + 1:
            self._output.warn("left out: more inputs; they are counted, and --json lists them")
        if self.failed > SHOWN_FAILURES:
            return
        self._output.warn(f"left out: {failure}")
        misread = failure.problem.startswith(("not valid", "each record")) and is_pipe(failure.source)
        if misread and not self._explained_pipes:
            self._explained_pipes = True
            self._output.warn(
                "standard input and pipes are read as JSON lines (JSONL), one page object on each line, unless they begin as another kind "
                f"does or --format names it ({', '.join(FORMATS)})"
            )


def kinds_of(counts: Mapping[str, int]) -> str:
    """``12 .png, 3 .css``: the most frequent kinds."""
    listed = sorted(counts.items(), key=lambda kind: (-kind[1], kind[0]))
    named = [f"{count:,} {clean(kind)}" for kind, count in listed[:SHOWN_KINDS]]
    rest = sum(count for _, count in listed[SHOWN_KINDS:])
    return ", ".join(named) + (f" and {rest:,} of other kinds" if rest else "")
