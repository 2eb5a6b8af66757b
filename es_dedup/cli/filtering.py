"""``filter``: dumps without their duplicates."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import SHOWN_FAILURES, kinds_of, must_be_there
from es_dedup.cli.session import Session
from es_dedup.cli.targets import open_target, output_target
from es_dedup.readers import ReadOptions
from es_dedup.readers.dump_filter import DUMPS
from es_dedup.readers.locations import located
from es_dedup.readers.port import JSON_LINES, kind_of
from es_dedup.readers.streams import PACKED, is_pipe, suffix_of

if TYPE_CHECKING:
    from es_dedup.dumps import FilterReport
    from es_dedup.readers.locations import Named

_SAME: Final = (JSON_LINES, (".warc", ".wet"))
"""Suffixes of one format."""


def filter_(
    session: Session,
    dumps: Annotated[list[str], typer.Argument(metavar="DUMP…")],
    *,
    options: ReadOptions,
    output: Annotated[str | None, typer.Option("-o")] = None,
    output_dir: str | None = None,
    dropped: str | None = None,
    reasons: str | None = None,
    stored: bool = False,
    drop_contained: bool = False,
    drop_empty: bool = False,
) -> ExitCode:
    """Write dumps without their duplicates, in the same format, with records as they are and in order.

    Without --stored the dumps are read twice: they are scanned into a temporary index, then copied; the index of --db is neither read
    nor written, and records need no ids. Ends with code 3 when some records gave no page.

    Args:
        dumps: JSONL, JSON, CSV, TSV, Parquet, WARC or WET files (compressed too), quoted patterns, addresses such as s3://…, pipes, or - for standard input.
        output: Output file or address (default: standard output).
        output_dir: Folder or address for the outputs of several dumps, each under its name.
        dropped: File for the records that are left out; with --output-dir a folder.
        reasons: Output file of JSON lines that say of each record left out which record it repeats, and why.
        stored: Take the clusters of the index, into which the dumps were scanned or added.
        drop_contained: Also leave out pages that are contained in a longer page.
        drop_empty: Also leave out records whose text is empty.
    """
    from es_dedup.dumps import DumpCopy, dump_names, filter_dumps

    must_be_there(dumps, "DUMP…")
    dumps = dump_names(dumps, options)
    _check_places(dumps, output, output_dir)
    targets = partial(_targets, dumps, session, options, several=output_dir is not None)
    kept = targets(output, "--output") if output_dir is None else targets(output_dir, "--output-dir")
    left_out = targets(dropped, "--dropped")
    why = output_target(reasons, session, "--reasons", dumps) if reasons else None
    given = [os.path.realpath(str(each)) for each in (why, *kept, *left_out) if each is not None]
    if len(set(given)) < len(given):
        raise typer.BadParameter("each output needs a file of its own", param_hint="--output")
    with ExitStack() as stack:
        index = stack.enter_context(session.read_clustered()) if stored else None

        def opened(target: Named | None) -> IO[bytes] | None:
            return None if target is None else stack.enter_context(open_target(target))

        copies = []
        for dump, kept_target, dropped_target in zip(dumps, kept, left_out, strict=True):
            kept_stream = opened(kept_target) or sys.stdout.buffer
            copies.append(DumpCopy(dump, kept_stream, opened(dropped_target)))
        done = filter_dumps(
            copies,
            index=index,
            contained=drop_contained,
            drop_empty=drop_empty,
            options=replace(options, max_page_bytes=session.settings.extraction.max_bytes),
            settings=session.settings,
            progress=stack.enter_context(session.progress()),
            reasons=opened(why),
        )
    return _finish(session, done, to_stdout=None in kept)


def _check_places(dumps: list[str], output: str | None, folder: str | None) -> None:
    """Raise a usage error where outputs are missing or not distinct."""
    if folder is not None:
        if output is not None:
            raise typer.BadParameter("name --output or --output-dir", param_hint="--output-dir")
        if len({Path(dump).name for dump in dumps}) < len(dumps) or any(map(is_pipe, dumps)):
            raise typer.BadParameter("dumps need different file names", param_hint="--output-dir")
    elif len(dumps) > 1:
        raise typer.BadParameter("several dumps need --output-dir", param_hint="DUMP…")
    elif output is None and not is_pipe(dumps[0]) and _is_stdout(dumps[0]):
        problem = f"{dumps[0]} is standard output, too: name another file"
        raise typer.BadParameter(problem, param_hint="DUMP…")


def _is_stdout(dump: str) -> bool:
    """Whether the shell appends standard output to a dump: what is copied would be read again."""
    try:
        return Path(dump).samefile("/dev/stdout")
    except OSError:
        return False


def _targets(
    dumps: list[str], session: Session, options: ReadOptions, name: str | None, option: str, *, several: bool
) -> list[Named | None]:
    """For each dump its output: of this name or, with ``several``, under its own name below it; None without a name.

    A folder is made where it is missing.

    Raises:
        typer.BadParameter: one cannot be an output, or its name promises another format or compression.
    """
    if name is None:
        return [None] * len(dumps)
    (place,) = located([name])
    if several and isinstance(place, Path):
        if place.exists() and not place.is_dir():
            raise typer.BadParameter(f"{place} is no folder", param_hint=option)
        place.mkdir(parents=True, exist_ok=True)
    targets: list[Named | None] = []
    for dump in dumps:
        target = f"{str(place).rstrip('/')}/{Path(dump).name}" if several else str(place)
        _check_name(target, dump, kind_of(Path(dump), options), option)
        targets.append(output_target(target, session, option, dumps))
    return targets


def _check_name(place: str, dump: str, kind: str, option: str) -> None:
    """Raise a usage error where the name of an output promises another format or compression than the dump's; a pipe has none (``kind``)."""
    path = Path(place)
    promised = suffix_of(path)
    if (
        promised in DUMPS
        and kind
        and promised != kind
        and not any({promised, kind} <= {*same} for same in _SAME)
    ):
        problem = f"records are copied as they are: {place} would hold {kind[1:].upper()}"
        raise typer.BadParameter(problem, param_hint=option)
    # An output that has the name of the input promises no more than that.
    if promised in DUMPS and not is_pipe(dump) and path.name != Path(dump).name:
        packing = Path(dump).suffix.lower() if Path(dump).suffix.lower() in PACKED else ""
        if path.suffix.lower() != (packing or promised):
            problem = f"the output is compressed as the input is ({packing or 'not at all'}): name {place} so"
            raise typer.BadParameter(problem, param_hint=option)


def _finish(session: Session, done: FilterReport, *, to_stdout: bool) -> ExitCode:
    output = session.output
    for failure in done.failures[:SHOWN_FAILURES]:
        output.warn(f"not decided: {failure}")
    if done.failed > SHOWN_FAILURES:
        output.warn(f"not decided: {done.failed - SHOWN_FAILURES:,} more")
    if done.no_page:
        output.note(f"records of archives that hold no page: {kinds_of(done.no_page)}")
    counts = {
        "kept": done.kept,
        "dropped": done.dropped,
        "empty": done.empty,
        "with an id read before": done.shared_ids,
        "not in the index": done.unknown,
        "not decided": done.failed,
    }
    counts = {name: count for name, count in counts.items() if count or name in ("kept", "dropped")}
    if to_stdout:
        counted = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        output.note(f"{counted}; preset {done.preset}")
    else:
        said = {name.replace(" ", "_"): count for name, count in counts.items()}
        said_too = {"no_page": dict(done.no_page), "preset": done.preset}
        output.result({**counts, "preset": done.preset}, {**said, **said_too})
    return ExitCode.LEFT_OUT if done.failed else ExitCode.OK
