"""Input of the commands: the options that say how to read it, and the account of what was left out."""

from __future__ import annotations

import codecs
import functools
import inspect
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.output import clean
from es_dedup.errors import InputError
from es_dedup.readers import Fields, InputFailure, ReadOptions, read_pages
from es_dedup.readers.port import FORMATS, KEPT_FAILURES
from es_dedup.readers.records import USUAL
from es_dedup.readers.streams import STDIN, is_pipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.cli.session import Session
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.evaluation import LabelledPair
    from es_dedup.model import Page
    from es_dedup.readers import Roots

SHOWN_FAILURES: Final = 20
SHOWN_KINDS: Final = 8
SHOWN_MISSING: Final = 5
LABELS_HELP: Final = "TSV with a header, or JSONL: id_a, id_b, label (dup, contain, partial, diff)."

Paths = Annotated[
    list[str],
    typer.Argument(
        help="Folders, page files, JSONL, CSV, TSV, Parquet, WARC, WET (compressed too), quoted patterns, addresses such as s3://…, pipes, "
        "or - for standard input.",
        metavar="PATH…",
        show_default=False,
    ),
]
Corpus = Annotated[
    list[str],
    typer.Option(
        "--corpus", "-c", help="Input with the labelled pages; may be repeated.", show_default=False
    ),
]
PAGE_IDS: Final = typer.Argument(
    help="Ids or URLs of pages; -: one a line on standard input.", metavar="ID…", show_default=False
)
PageIds = Annotated[list[str], PAGE_IDS]
Folds = Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")]


def given_ids(dedup: IndexReader, names: Iterable[str]) -> list[str]:
    """Ids of the pages that arguments name by id or URL, each once; ``-`` stands for the lines of standard input."""
    lines = (
        line
        for name in names
        for line in ((each.rstrip("\r\n") for each in sys.stdin) if name == STDIN else (name,))
    )
    found = dedup.ids_of(filter(None, lines))
    return list(dict.fromkeys(page_id for ids in found.values() for page_id in ids))


def check_labels(labels: Path, pairs: Sequence[LabelledPair], missing: Sequence[str]) -> None:
    """Raise ``InputError`` where no labelled page, of ``pairs`` without the ``missing`` ones, is in the corpus."""
    if not pairs:
        raise InputError(str(labels), None, "holds no labelled pair")
    if len(missing) == len({page for each in pairs for page in each.pair}):
        problem = f"none of its {len(missing):,} labelled pages is in the corpus: check --corpus and the page ids ({_some(missing)})"
        raise InputError(str(labels), None, problem)


def end_with_missing(session: Session, missing: Sequence[str], left_out: int) -> None:
    """Name labelled pages that are missing; the command ends with a code that says so, or that input was left out."""
    if missing:
        session.output.warn(
            f"{len(missing)} labelled pages are not in the corpus; their pairs count as different: {_some(missing)}"
        )
    if missing or left_out:
        raise typer.Exit(ExitCode.LEFT_OUT)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_MISSING]) + (" …" if len(names) > SHOWN_MISSING else "")


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
        most = session.settings.extraction.max_bytes
        try:
            self._source = read_pages(paths, replace(options, max_page_bytes=most, leave=leave))
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--root, --namespace") from error
        if options.root is None and options.namespace is None:
            self._advise_on_moved_roots(session)
        self._jsonl_said = False
        self._output = session.output
        self.failures: list[InputFailure] = []
        self.failed = 0

    @property
    def roots(self) -> Roots:
        """What the ids of page files are relative to."""
        return self._source.roots

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
        kept = [{"source": f.source, "line": f.line, "problem": f.problem} for f in self.failures]
        return {
            "left_out": self.failed,
            "failures": kept,
            "ignored": dict(self._source.ignored),
            "no_page": dict(self._source.no_page),
        }

    def _advise_on_moved_roots(self, session: Session) -> None:
        """A folder that was moved, or is mounted elsewhere, would be stored a second time."""
        missing = self.roots.missing()
        new = [root for root in self.roots.roots if root not in self.roots.recorded]
        if missing and new:
            old = missing[0]
            session.output.note(
                f"{new[0].folder} is a new root. The recorded folder {old.folder} is not there: if it was moved here, "
                f'end this command and add --namespace "{old.namespace}", so that its pages keep their ids'
            )

    def _note(self, failure: InputFailure) -> None:
        self.failed += 1
        if self.failed <= KEPT_FAILURES:
            self.failures.append(failure)
        if self.failed <= SHOWN_FAILURES:
            self._output.warn(f"left out: {failure}")
            if failure.problem.startswith(("not valid", "each record")) and is_pipe(failure.source):
                self._say_jsonl()
        elif self.failed == SHOWN_FAILURES + 1:
            self._output.warn("left out: more inputs; they are counted, and --json lists them")

    def _say_jsonl(self) -> None:
        if not self._jsonl_said:
            self._output.warn(
                "standard input and pipes are read as JSON lines (JSONL), one page object on each line, unless they begin as another kind "
                f"does or --format names it ({', '.join(FORMATS)})"
            )
        self._jsonl_said = True


def kinds_of(counts: Mapping[str, int]) -> str:
    """``12 .png, 3 .css``: the most frequent kinds."""
    listed = sorted(counts.items(), key=lambda kind: (-kind[1], kind[0]))
    named = [f"{count:,} {clean(kind)}" for kind, count in listed[:SHOWN_KINDS]]
    rest = sum(count for _, count in listed[SHOWN_KINDS:])
    return ", ".join(named) + (f" and {rest:,} of other kinds" if rest else "")


def with_input_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how input is read; it receives them as ``options: ReadOptions``."""
    own = inspect.signature(command, eval_str=True)
    parameters = [
        parameter for parameter in own.parameters.values() if parameter.name != "options"
    ] + _PARAMETERS
    names = [parameter.name for parameter in _PARAMETERS]

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        given = {name: values.pop(name) for name in names}
        fields = {name.removesuffix("_field"): given.pop(name) for name in names if name.endswith("_field")}
        options = _read_options(**given, fields=fields)
        command(**values, options=options)

    # typer reads the signature; all parameters by keyword, so that their order is free.
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    vars(wrapper)["__signature__"] = own.replace(parameters=keyword)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    del wrapper.__wrapped__
    return wrapper


def _read_options(
    *,
    encoding: str,
    fields: Mapping[str, str | None],
    **others: Any,
) -> ReadOptions:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise typer.BadParameter(f"unknown encoding {encoding!r}", param_hint="--encoding") from error
    return ReadOptions(fields=Fields(**fields), encoding=encoding, **others)


def _option(name: str, kind: Any, help_text: str, default: Any = None) -> inspect.Parameter:
    info = typer.Option("--" + name.replace("_", "-"), help=help_text, rich_help_panel="How input is read")
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _field(role: str, what: str) -> str:
    """Help of the option that names the field of a role."""
    *names, last = USUAL[role]
    return f"Field with {what} (else {', '.join(names)} or {last})."


_PARAMETERS: Final = [
    _option("id_field", str | None, _field("id", "the page id")),
    _option("text_field", str | None, _field("text", "the main text")),
    _option("html_field", str | None, _field("html", "HTML") + " A name in …base64 is decoded."),
    _option("url_field", str | None, _field("url", "the URL")),
    _option("title_field", str | None, _field("title", "the title")),
    _option("time_field", str | None, _field("time", "the time of publication")),
    _option(
        "id_from",
        Literal["field", "place"],
        "What becomes the id of a record: field, its own or, without one, a digest of its content; place, file and line.",
        "field",
    ),
    _option(
        "format",
        Literal[*FORMATS] | None,
        "Kind of the files, pipes or standard input (else by the suffix, of pipes by the content).",
    ),
    _option("encoding", str, "Encoding of JSONL, CSV and TSV files.", "utf-8"),
    _option(
        "warc_id", Literal["url", "record"], "What becomes the page id in WARC files: url or record.", "url"
    ),
    _option(
        "root", Path | None, "Folder that ids of page files are relative to (else see Page ids of files)."
    ),
    _option(
        "namespace",
        str | None,
        "Namespace of the root: a new one, or that of a root whose folder has moved here.",
    ),
]
