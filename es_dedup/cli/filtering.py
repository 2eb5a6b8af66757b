"""``filter``: dumps without their duplicates."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from es_dedup.cli.checking import UNCLUSTERED
from es_dedup.cli.group import ExitCode, fail
from es_dedup.cli.inputs import SHOWN_FAILURES, STDIN, with_input_options
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import Session, session_of
from es_dedup.cli.targets import refuse_index, refuse_input
from es_dedup.readers import ReadOptions  # noqa: TC001 - typer reads annotations at run time

if TYPE_CHECKING:
    from es_dedup.dumps import FilterReport


Dumps = Annotated[
    list[str],
    typer.Argument(
        help="JSONL, JSON, CSV, TSV, Parquet or WARC files (compressed too), or - for JSONL on standard input.",
        metavar="DUMP…",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("filter")(filter_)


@with_input_options
def filter_(
    context: typer.Context,
    dumps: Dumps,
    options: ReadOptions,
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Output file (default: standard output).", dir_okay=False),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--output-dir",
            help="Folder for the outputs of several dumps, each under its name.",
            file_okay=False,
        ),
    ] = None,
    dropped: Annotated[
        Path | None,
        typer.Option(help="Write what is left out there: a file or, with --output-dir, a folder."),
    ] = None,
    stored: Annotated[
        bool,
        typer.Option(
            "--stored", help="Take the clusters of the index, into which the dumps were scanned or added."
        ),
    ] = False,
    drop_contained: Annotated[
        bool,
        typer.Option("--drop-contained", help="Also leave out pages that are contained in a longer page."),
    ] = False,
    invert: Annotated[
        bool, typer.Option("--invert", help="Write the duplicates, and leave out what would be kept.")
    ] = False,
) -> None:
    """Write dumps without their duplicates, in the same format, with records as they are and in order.

    Without --stored the dumps are read twice: they are scanned into a temporary index, then copied; the index of --db is neither read
    nor written. Ends with code 3 when some records gave no page.
    """
    from es_dedup.dumps import DumpCopy, filter_dumps

    session = session_of(context)
    options = replace(options, max_page_bytes=session.settings.extraction.max_bytes)
    places = _places(dumps, target, folder, dropped, session)
    with ExitStack() as stack:
        index = stack.enter_context(session.read()) if stored else None
        if index is not None and index.clusters_pending:
            fail(UNCLUSTERED, ExitCode.ERROR)
        progress = stack.enter_context(ProgressDisplay(quiet=session.output.quiet))
        copies = []
        for dump, (kept, left_out) in zip(dumps, places, strict=True):
            streams = [_open(kept, stack), None if left_out is None else _open(left_out, stack)]
            copies.append(DumpCopy(dump, *(reversed(streams) if invert else streams)))
        done = filter_dumps(
            copies,
            index=index,
            contained=drop_contained,
            options=options,
            settings=session.settings,
            progress=progress,
        )
    _finish(session, done, to_stdout=any(kept is None for kept, _ in places))


def _places(
    dumps: list[str], target: Path | None, folder: Path | None, dropped: Path | None, session: Session
) -> list[tuple[Path | None, Path | None]]:
    """For each dump the file of what is kept (None: standard output) and of what is left out (None: nowhere).

    Raises:
        typer.BadParameter: outputs are missing, would replace an input or the index, or have another format.
    """
    from es_dedup.dumps import checked_dump
    from es_dedup.errors import InputError

    for dump in dumps:
        try:
            checked_dump(dump)
        except InputError as error:
            fail(str(error), ExitCode.ERROR)
    places: list[tuple[Path | None, Path | None]]
    if folder is not None:
        if target is not None:
            raise typer.BadParameter("name --output or --output-dir", param_hint="--output-dir")
        names = [Path(dump).name for dump in dumps]
        if len(set(names)) < len(names) or STDIN in dumps:
            raise typer.BadParameter("dumps need different file names", param_hint="--output-dir")
        for each in filter(None, (folder, dropped)):
            each.mkdir(parents=True, exist_ok=True)
        places = [(folder / name, dropped / name if dropped else None) for name in names]
    elif len(dumps) > 1:
        raise typer.BadParameter("several dumps need --output-dir", param_hint="DUMP…")
    else:
        places = [(target, dropped)]
    for dump, (kept, left_out) in zip(dumps, places, strict=True):
        for path, option in ((kept, "--output"), (left_out, "--dropped")):
            if path is not None:
                _check_target(path, dump, option)
                refuse_index(path, session, option)
                refuse_input(path, [Path(each) for each in dumps], option)
    return places


def _check_target(path: Path, dump: str, option: str) -> None:
    """Raise a usage error where the name of an output promises another format, or its folder is missing."""
    from es_dedup.readers.copying import DUMPS
    from es_dedup.readers.streams import packing_of, suffix_of

    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.absolute().parent}", param_hint=option)
    own = ".jsonl" if dump == STDIN else suffix_of(Path(dump))
    named = suffix_of(path)
    if named in DUMPS and named != own and {named, own} != {".jsonl", ".ndjson"}:
        raise typer.BadParameter(
            f"records are copied as they are: {path} would hold {own[1:].upper()}", param_hint=option
        )
    with suppress(OSError):
        packing = "" if dump == STDIN else packing_of(Path(dump))
        if dump != STDIN and named in DUMPS and path.suffix.lower() not in (packing, named):
            raise typer.BadParameter(
                f"the output is compressed as the input is ({packing or 'not at all'}): name {path} so",
                param_hint=option,
            )


def _open(path: Path | None, stack: ExitStack) -> IO[bytes]:
    from es_dedup.report.target import open_target

    return sys.stdout.buffer if path is None else stack.enter_context(open_target(path))


def _finish(session: Session, done: FilterReport, *, to_stdout: bool) -> None:
    output = session.output
    for failure in done.failures[:SHOWN_FAILURES]:
        output.warn(f"not decided: {failure}")
    if done.failed > SHOWN_FAILURES:
        output.warn(f"not decided: {done.failed - SHOWN_FAILURES:,} more")
    facts = {
        "kept": done.kept,
        "dropped": done.dropped,
        "identical repeats": done.repeats,
        "not in the index": done.unknown,
        "not decided": done.failed,
    }
    facts = {name: count for name, count in facts.items() if count or name in ("kept", "dropped")}
    if to_stdout:
        output.note(", ".join(f"{count:,} {name}" for name, count in facts.items()))
    else:
        output.emit({"command": "filter", **{name.replace(" ", "_"): count for name, count in facts.items()}})
        output.facts(facts)
    if done.failed:
        raise typer.Exit(ExitCode.LEFT_OUT)
