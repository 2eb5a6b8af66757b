"""``filter``: dumps without their duplicates."""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.checking import UNCLUSTERED
from es_dedup.cli.group import ExitCode, fail
from es_dedup.cli.inputs import SHOWN_FAILURES, kinds_of, with_input_options
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import Session, session_of
from es_dedup.cli.targets import Target, output_target
from es_dedup.readers import ReadOptions  # noqa: TC001 - typer reads annotations at run time
from es_dedup.readers.streams import is_pipe

if TYPE_CHECKING:
    from es_dedup.dumps import DumpCopy, FilterReport
    from es_dedup.readers.locations import Named


_SAME: Final = ({".jsonl", ".ndjson"}, {".warc", ".wet"})
"""Suffixes of one format."""

Dumps = Annotated[
    list[str],
    typer.Argument(
        help="JSONL, JSON, CSV, TSV, Parquet, WARC or WET files (compressed too), quoted patterns, addresses such as s3://…, pipes, or - for "
        "standard input.",
        metavar="DUMP…",
        show_default=False,
    ),
]

Reasons = Annotated[
    str | None, typer.Option(help="Write there, as JSON lines, what each dropped record repeats, and why.")
]
Dropped = Annotated[
    str | None, typer.Option(help="Write what is left out there: a file or, with --output-dir, a folder.")
]
DropEmpty = Annotated[bool, typer.Option("--drop-empty", help="Also leave out records whose text is empty.")]

_HEAD_BYTES: Final = 1024


@with_input_options
def filter_(
    context: typer.Context,
    dumps: Dumps,
    options: ReadOptions,
    target: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Output file or address (default: standard output)."),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            "--output-dir", help="Folder or address for the outputs of several dumps, each under its name."
        ),
    ] = None,
    dropped: Dropped = None,
    reasons: Reasons = None,
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
    drop_empty: DropEmpty = False,
    invert: Annotated[
        bool, typer.Option("--invert", help="Write the duplicates, and leave out what would be kept.")
    ] = False,
) -> None:
    """Write dumps without their duplicates, in the same format, with records as they are and in order.

    Without --stored the dumps are read twice: they are scanned into a temporary index, then copied; the index of --db is neither read
    nor written, and records need no ids. Ends with code 3 when some records gave no page.
    """
    from es_dedup.dumps import dump_names, filter_dumps
    from es_dedup.errors import InputError

    session = session_of(context)
    try:
        dumps = dump_names(dumps, options)
    except InputError as error:
        fail(str(error), ExitCode.ERROR)
    places = _places(dumps, target, folder, dropped, session, options)
    why = output_target(reasons, session, "--reasons", rb'\{"file": ', dumps) if reasons else None
    given = [os.path.realpath(str(each)) for each in (why, *chain.from_iterable(places)) if each is not None]
    if len(set(given)) < len(given):
        raise typer.BadParameter("each output needs a file of its own", param_hint="--output")
    with ExitStack() as stack:
        index = stack.enter_context(session.read()) if stored else None
        if index is not None and index.clusters_pending:
            fail(UNCLUSTERED, ExitCode.ERROR)
        progress = stack.enter_context(ProgressDisplay(quiet=session.output.quiet))
        done = filter_dumps(
            _copies(dumps, places, stack, invert=invert),
            index=index,
            contained=drop_contained,
            drop_empty=drop_empty,
            options=replace(options, max_page_bytes=session.settings.extraction.max_bytes),
            settings=session.settings,
            progress=progress,
            reasons=None if why is None else _open(why, stack),
        )
    _finish(session, done, to_stdout=any(kept is None for kept, _ in places))


def _places(
    dumps: list[str],
    target: str | None,
    folder: str | None,
    dropped: str | None,
    session: Session,
    options: ReadOptions,
) -> list[tuple[Target | None, Target | None]]:
    """For each dump the file of what is kept (None: standard output) and of what is left out (None: nowhere).

    Raises:
        typer.BadParameter: outputs are missing, would replace an input or the index, or have another format.
    """
    places: list[tuple[Named | None, Named | None]]
    if folder is not None:
        if target is not None:
            raise typer.BadParameter("name --output or --output-dir", param_hint="--output-dir")
        names = [Path(dump).name for dump in dumps]
        if len(set(names)) < len(names) or any(map(is_pipe, dumps)):
            raise typer.BadParameter("dumps need different file names", param_hint="--output-dir")
        places = list(
            zip(
                _below(folder, names, "--output-dir"),
                _below(dropped, names, "--dropped") if dropped else [None] * len(names),
                strict=True,
            )
        )
    elif len(dumps) > 1:
        raise typer.BadParameter("several dumps need --output-dir", param_hint="DUMP…")
    else:
        if target is None and not is_pipe(dumps[0]) and _is_stdout(dumps[0]):
            raise typer.BadParameter(
                f"{dumps[0]} is standard output, too: name another file", param_hint="DUMP…"
            )
        places = [(_named(target) if target else None, _named(dropped) if dropped else None)]
    return [
        (
            None if kept is None else _target(kept, dump, dumps, session, "--output", options),
            None if left_out is None else _target(left_out, dump, dumps, session, "--dropped", options),
        )
        for dump, (kept, left_out) in zip(dumps, places, strict=True)
    ]


def _is_stdout(dump: str) -> bool:
    """Whether the shell appends standard output to a dump: what is copied would be read again."""
    try:
        return Path(dump).samefile("/dev/stdout")
    except OSError:
        return False


def _named(name: str) -> Named:
    from es_dedup.readers.locations import located

    return located([name])[0]


def _below(folder: str, names: list[str], option: str) -> list[Named]:
    """Files of a folder, which is made where it is missing, or addresses below one."""
    from es_dedup.readers.locations import Address

    place = _named(folder)
    if isinstance(place, Address):
        return [Address(f"{place.url.rstrip('/')}/{name}") for name in names]
    if place.exists() and not place.is_dir():
        raise typer.BadParameter(f"{place} is no folder", param_hint=option)
    place.mkdir(parents=True, exist_ok=True)
    return [place / name for name in names]


def _target(
    path: Named, dump: str, dumps: list[str], session: Session, option: str, options: ReadOptions
) -> Target:
    """An output of a dump; a usage error where it cannot be one, or its name promises another format."""
    from es_dedup.readers.dump_filter import DUMPS
    from es_dedup.readers.port import kind_of
    from es_dedup.readers.streams import suffix_of

    named = suffix_of(Path(str(path)))
    own = kind_of(Path(dump), options)  # empty for a pipe: its content says it later
    if own and named in DUMPS and named != own and {named, own} not in _SAME:
        raise typer.BadParameter(
            f"records are copied as they are: {path} would hold {own[1:].upper()}", param_hint=option
        )
    if not is_pipe(dump):
        _check_packing(str(path), dump, named, option)
    return output_target(str(path), session, option, _beginning(dump, own), dumps)


def _beginning(dump: str, suffix: str) -> bytes:
    """How copies of a dump begin: as dumps of its format do, tables with the same line."""
    from es_dedup.readers.locations import Address
    from es_dedup.readers.streams import BEGINNINGS, READ_ERRORS, open_unpacked

    if suffix not in (".csv", ".tsv"):
        return BEGINNINGS[suffix or ".jsonl"]
    if is_pipe(dump):  # what is read of it now is lost
        return b"(?!)"
    place = _named(dump)
    with (
        suppress(*READ_ERRORS),
        open_unpacked(place.files()[0][0] if isinstance(place, Address) else place) as stream,
    ):
        return re.escape(stream.readline(_HEAD_BYTES))
    return b"(?!)"  # a dump that cannot be read ends the command later


def _check_packing(path: str, dump: str, named: str, option: str) -> None:
    """Raise a usage error where the name of an output promises another compression."""
    from es_dedup.readers.dump_filter import DUMPS
    from es_dedup.readers.locations import Address
    from es_dedup.readers.streams import PACKED, packing_of

    with suppress(OSError):
        remote = isinstance(_named(dump), Address)  # known by its name: it is fetched later
        packing = Path(dump).suffix.lower() if remote else packing_of(Path(dump))
        packing = packing if packing in PACKED else ""
        same_name = Path(path).name == Path(dump).name  # right or wrong, the name is that of the input
        if named in DUMPS and not same_name and Path(path).suffix.lower() != (packing or named):
            raise typer.BadParameter(
                f"the output is compressed as the input is ({packing or 'not at all'}): name {path} so",
                param_hint=option,
            )


def _copies(
    dumps: list[str],
    places: list[tuple[Target | None, Target | None]],
    stack: ExitStack,
    *,
    invert: bool,
) -> list[DumpCopy]:
    """The dumps with their opened outputs; with ``invert`` the two outputs of a dump are exchanged."""
    from es_dedup.dumps import DumpCopy

    copies = []
    for dump, (kept, left_out) in zip(dumps, places, strict=True):
        streams = [_open(kept, stack), None if left_out is None else _open(left_out, stack)]
        copies.append(DumpCopy(dump, *(reversed(streams) if invert else streams)))
    return copies


def _open(target: Target | None, stack: ExitStack) -> IO[bytes]:
    return sys.stdout.buffer if target is None else stack.enter_context(target.open())


def _finish(session: Session, done: FilterReport, *, to_stdout: bool) -> None:
    output = session.output
    for failure in done.failures[:SHOWN_FAILURES]:
        output.warn(f"not decided: {failure}")
    if done.failed > SHOWN_FAILURES:
        output.warn(f"not decided: {done.failed - SHOWN_FAILURES:,} more")
    if done.no_page:
        output.note(f"records of archives that hold no page: {kinds_of(done.no_page)}")
    facts = {
        "kept": done.kept,
        "dropped": done.dropped,
        "empty": done.empty,
        "with an id read before": done.shared_ids,
        "not in the index": done.unknown,
        "not decided": done.failed,
    }
    facts = {name: count for name, count in facts.items() if count or name in ("kept", "dropped")}
    if to_stdout:
        counted = ", ".join(f"{count:,} {name}" for name, count in facts.items())
        output.note(f"{counted}; preset {done.preset}")
    else:
        counts = {name.replace(" ", "_"): count for name, count in facts.items()}
        output.result(
            {**facts, "preset": done.preset}, {**counts, "no_page": dict(done.no_page), "preset": done.preset}
        )
    if done.failed:
        raise typer.Exit(ExitCode.LEFT_OUT)
