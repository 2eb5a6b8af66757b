"""``copy``: an index to another place."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import Session, session_of

if TYPE_CHECKING:
    from es_dedup.settings import Settings

PLACE = "File, or http://host:9200/name."


def copy(
    context: typer.Context,
    origin: Annotated[str, typer.Argument(help=f"The index. {PLACE}", metavar="FROM", show_default=False)],
    target: Annotated[
        str,
        typer.Argument(
            help=f"The copy, which is made; only an earlier copy is replaced. {PLACE}",
            metavar="TO",
            show_default=False,
        ),
    ],
    from_config: Annotated[
        Path | None,
        typer.Option(
            help="Settings file for FROM alone, such as credentials of another cluster; the environment then holds for TO only.",
            metavar="PATH",
        ),
    ] = None,
) -> None:
    """Copy an index with all that it holds, between files and servers, and compare both at the end.

    FROM may be read and written meanwhile. A file is copied to a file in one step; with a server, an interrupted copy goes on by the same
    command.
    """
    from es_dedup.errors import NotAnIndex
    from es_dedup.index.factory import must_be_place
    from es_dedup.maintenance.index_copy import copy_index

    session = session_of(context)
    settings = session.settings
    origin_settings = _alone(from_config, settings)
    read = Session(origin, None, session.output, _settings=origin_settings)
    written = Session(target, None, session.output, _settings=settings)
    for each in (read, written):
        must_be_place(each.db)
    if not read.exists:
        raise NotAnIndex(origin, "there is no such file")
    try:
        for each in (read, written):
            each.reach()
        session.writing = True
        with ProgressDisplay(quiet=session.output.quiet) as progress:
            done = copy_index(
                origin, target, settings, origin_settings=origin_settings, report_progress=progress
            )
    finally:
        read.close()
        written.close()
    session.output.result({"from": read.place, "to": written.place, **done.as_dict()})
    session.output.note("copied and compared")


def _alone(path: Path | None, settings: Settings) -> Settings:
    """The settings of a file without the environment; those in force where there is no file."""
    from es_dedup.settings import load_settings

    return settings if path is None else load_settings(path, environ={})
