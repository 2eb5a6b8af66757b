"""Input of the commands: the options that say how to read it, and the account of what was left out."""

from __future__ import annotations

import codecs
import functools
import inspect
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from es_dedup.readers import Fields, InputFailure, ReadOptions, read_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_dedup.cli.session import Session
    from es_dedup.model import Page

STDIN: Final = "-"
SHOWN_FAILURES: Final = 20
KEPT_FAILURES: Final = 1000

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="Folders, page files, JSONL, CSV, TSV, Parquet, WARC (.gz .xz .zst too), or - for JSONL on standard input.",
        metavar="PATH…",
        show_default=False,
    ),
]


class Intake:
    """Pages of the input, with every failure said once and counted.

    Attributes:
        failures: the first ``KEPT_FAILURES``.
        failed: how many there were.
        repeats: identical pages that were named twice.
    """

    def __init__(
        self, paths: Iterable[Path], options: ReadOptions, session: Session, *, leave: Path | None = None
    ) -> None:
        most = session.settings.extraction.max_bytes
        self._source = read_pages(paths, replace(options, max_page_bytes=most, leave=leave))
        self._stdin_said = False
        self._output = session.output
        self.failures: list[InputFailure] = []
        self.failed = 0

    @property
    def repeats(self) -> int:
        """Identical pages dropped so far."""
        return self._source.repeats

    def pages(self) -> Iterator[Page]:
        """The pages; failures are taken out and noted."""
        for item in self._source:
            if isinstance(item, InputFailure):
                self._note(item)
            else:
                yield item

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready account."""
        kept = [{"source": f.source, "line": f.line, "problem": f.problem} for f in self.failures]
        return {"left_out": self.failed, "repeats": self.repeats, "failures": kept}

    def _note(self, failure: InputFailure) -> None:
        self.failed += 1
        if self.failed <= KEPT_FAILURES:
            self.failures.append(failure)
        if self.failed <= SHOWN_FAILURES:
            self._output.warn(f"left out: {failure}")
            if failure.source == STDIN and failure.problem.startswith(("not ", "each record")):
                self._say_stdin()
        elif self.failed == SHOWN_FAILURES + 1:
            self._output.warn("left out: more follow; they are counted, and --json lists them")

    def _say_stdin(self) -> None:
        if not self._stdin_said:
            self._output.warn("standard input must be JSON lines (JSONL): one page object on each line")
        self._stdin_said = True


def with_input_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how input is read; it receives them as ``options: ReadOptions``."""
    own = inspect.signature(command, eval_str=True)
    parameters = [
        parameter for parameter in own.parameters.values() if parameter.name != "options"
    ] + _PARAMETERS
    names = [parameter.name for parameter in _PARAMETERS]

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        options = _read_options(**{name: values.pop(name) for name in names})
        command(**values, options=options)

    # typer reads the signature; all parameters by keyword, so that their order is free.
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    vars(wrapper)["__signature__"] = own.replace(parameters=keyword)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    del wrapper.__wrapped__
    return wrapper


def _read_options(*, encoding: str, warc_id: Literal["url", "record"], **fields: str | None) -> ReadOptions:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise typer.BadParameter(f"unknown encoding {encoding!r}", param_hint="--encoding") from error
    names = {name.removesuffix("_field"): value for name, value in fields.items()}
    return ReadOptions(fields=Fields(**names), encoding=encoding, warc_id=warc_id)


def _option(name: str, kind: Any, help_text: str, default: Any = None) -> inspect.Parameter:
    info = typer.Option("--" + name.replace("_", "-"), help=help_text, rich_help_panel="How input is read")
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


_PARAMETERS: Final = [
    _option("id_field", str | None, "Field with the page id (else id, _id, page_id, doc_id or url)."),
    _option(
        "text_field", str | None, "Field with the main text (else text, content, body, main_text or article)."
    ),
    _option(
        "html_field",
        str | None,
        "Field with HTML (else html, raw_html or html_base64); a name in …base64 is decoded.",
    ),
    _option("url_field", str | None, "Field with the URL (else url, link, uri or source_url)."),
    _option("title_field", str | None, "Field with the title (else title or headline)."),
    _option("time_field", str | None, "Field with the time of publication (else published, time, date …)."),
    _option("encoding", str, "Encoding of JSONL, CSV and TSV files.", "utf-8"),
    _option(
        "warc_id", Literal["url", "record"], "What becomes the page id in WARC files: url or record.", "url"
    ),
]
