"""``spark`` and ``load``: features, pairs and clusters of a large corpus as tables, made on Spark, and loaded into an index."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.session import session_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Master = Annotated[
    str | None,
    typer.Option(
        help="Spark master, as local[2] (default: that of spark-submit or of Spark's configuration).",
        show_default=False,
    ),
]
Configuration = Annotated[
    list[str] | None,
    typer.Option("--conf", help="Configuration of Spark; may be repeated.", metavar="NAME=VALUE"),
]


def run(
    context: typer.Context,
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            "-i",
            help="Parquet or JSON Lines: file, folder or pattern on any file system of Spark; may be repeated.",
            metavar="PATH",
            show_default=False,
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder of the tables.", metavar="DIR", show_default=False)
    ],
    day: Annotated[
        str,
        typer.Option(
            help="Name of this input; its pages are compared with those of the days before in DIR, by name."
        ),
    ] = "0",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Make the tables of the day again, even if they are finished.")
    ] = False,
    renew: Annotated[
        bool,
        typer.Option(
            "--renew", help="Learn statistics and compare the pages of all days again; keep features."
        ),
    ] = False,
    named: Annotated[
        bool,
        typer.Option(
            "--named", help="Keep features in a form that people read, for an index on Elasticsearch."
        ),
    ] = False,
    master: Master = None,
    configuration: Configuration = None,
) -> None:
    """Make tables of features, related pairs and clusters on Spark, with the clusters that `scan` gives.

    Input needs the columns id and text or html. Finished tables are kept, so that a run that was stopped is resumed by the same command.
    Needs the extra `spark` and Java.
    """
    from es_dedup.spark import DayOptions, update_tables

    session = session_of(context)
    with spark_session(master, configuration or ()) as running:
        options = DayOptions(day, named, overwrite, renew)
        done = update_tables(running, inputs, output, session.settings, options)
    facts = {
        "tables": output,
        "made": done.made or "nothing: all were finished",
        "pages": done.pages,
        "pages that could not be processed": done.failed,
        "related pairs": done.pairs,
        "clusters": done.clusters,
        "preset": done.preset,
    }
    session.output.result(facts, {"output": output, "day": day, **asdict(done)})
    if done.failed:
        raise typer.Exit(ExitCode.LEFT_OUT)


def load(
    context: typer.Context,
    tables: Annotated[
        str, typer.Argument(help="Folder of the tables of `spark`.", metavar="DIR", show_default=False)
    ],
    inline: Annotated[
        bool, typer.Option("--inline", help="Update documents in this process, without Redis and workers.")
    ] = False,
    master: Master = None,
    configuration: Configuration = None,
) -> None:
    """Load the tables of `spark` into an empty index on Elasticsearch (--db), from where the hook goes on.

    With attached indices a job then writes the `dedup` fields of their documents. A load that was stopped is resumed by the same command.
    """
    from es_dedup.cli.maintaining import run_job
    from es_dedup.cli.sites import site_of
    from es_dedup.spark import load as load_

    session = session_of(context)
    session.reach()
    with spark_session(master, configuration or ()) as running:
        done = load_(running, tables, session.db, session.settings)
    facts = {"pages": done.pages, "related pairs": done.pairs, "day": done.day}
    session.output.result({"db": session.place, **facts})
    with site_of(session) as site:
        if site.attachments:
            run_job(session, site, "update", {}, inline=inline)


@contextmanager
def spark_session(master: str | None, configuration: Sequence[str]) -> Iterator[Any]:
    """A session of Spark that ends with the block."""
    pairs = [each.partition("=") for each in configuration]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise typer.BadParameter(f"{wrong[0]} is not NAME=VALUE", param_hint="--conf")
    from es_dedup.spark import session

    running = session(master, {"spark.log.level": "FATAL"} | {name: value for name, _, value in pairs})
    try:
        yield running
    finally:
        running.stop()
