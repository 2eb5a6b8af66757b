"""``spark``: features, pairs and clusters of a large corpus as tables, made on Spark, and loaded into an index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

import typer

from es_dedup.cli.elastic import Inline, run_job
from es_dedup.cli.group import ExitCode
from es_dedup.cli.session import Session

Master = Annotated[
    str | None,
    typer.Option(
        help="Spark master, as local[2] (default: that of spark-submit or of Spark's configuration)."
    ),
]
Configuration = Annotated[
    list[str] | None, typer.Option(help="Configuration of Spark; may be repeated.", metavar="NAME=VALUE")
]


def run(
    session: Session,
    *,
    input_: Annotated[list[str], typer.Option("-i", metavar="PATH")],
    output: Annotated[str, typer.Option("-o", metavar="DIR")],
    day: str = "0",
    renew: bool = False,
    named: bool = False,
    master: Master = None,
    conf: Configuration = None,
) -> ExitCode:
    """Make tables of features, related pairs and clusters on Spark, with the clusters that `scan` gives.

    Input needs the columns id and text or html. Finished tables are kept, so that a run that was stopped is resumed by the same command.
    Needs the extra `spark` and Java.

    Args:
        input_: Parquet or JSON Lines: file, folder or pattern on any file system of Spark; may be repeated.
        output: Folder of the tables.
        day: Name of this input; its pages are compared with those of the days before in DIR, by name.
        renew: Learn statistics and compare the pages of all days again; keep features.
        named: Keep features in a form that people read, for an index on Elasticsearch.
    """
    from es_dedup.spark import DayOptions, update_tables

    with spark_session(master, conf) as running:
        options = DayOptions(day, named, renew)
        done = update_tables(running, input_, output, session.settings, options)
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
    return ExitCode.LEFT_OUT if done.failed else ExitCode.OK


def load(
    session: Session,
    tables: Annotated[str, typer.Argument(metavar="DIR")],
    *,
    inline: Inline = False,
    master: Master = None,
    conf: Configuration = None,
) -> None:
    """Load the tables of `spark` into an empty index on Elasticsearch (--db), from where the hook goes on.

    With attached indices a job then writes the `dedup` fields of their documents. A load that was stopped is resumed by the same command.

    Args:
        tables: Folder of the tables of `spark`.
    """
    from es_dedup.spark import load as load_

    session.reach()
    with spark_session(master, conf) as running:
        done = load_(running, tables, session.db, session.settings)
    facts = {"pages": done.pages, "related pairs": done.pairs, "day": done.day}
    session.output.result({"db": session.place, **facts})
    with session.site() as site:
        if site.attachments:
            run_job(session, site, "update", {}, inline=inline)


@contextmanager
def spark_session(master: str | None, configuration: list[str] | None) -> Iterator[Any]:
    """A session of Spark that ends with the block."""
    pairs = [each.partition("=") for each in configuration or ()]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise typer.BadParameter(f"{wrong[0]} is not NAME=VALUE", param_hint="--conf")
    from es_dedup.spark import session

    running = session(master, {"spark.log.level": "FATAL"} | {name: value for name, _, value in pairs})
    try:
        yield running
    finally:
        running.stop()
