"""The application: global options, and the commands of all groups."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from es_dedup.cli import (
    browsing,
    checking,
    compiling,
    evaluating,
    explaining,
    exporting,
    extracting,
    filtering,
    labelling,
    maintaining,
    managing,
    moving,
    on_spark,
    overriding,
    purging,
    scanning,
    serving,
    working,
)
from es_dedup.cli.group import CommandGroup, handle_signals
from es_dedup.cli.output import Output
from es_dedup.cli.session import DEFAULT_DB, Session

if TYPE_CHECKING:
    from collections.abc import Iterable

app = typer.Typer(
    name="es-dedup",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds near-duplicate web pages, with evidence.",
    epilog="--db, --config, --preset, --keep, --json and --quiet may stand anywhere on the line. Exit codes: 0 done, 1 error, 2 usage "
    "or settings, 3 done but some input was left out, 4 `check` found a known page, 130 interrupted.",
)
COMMANDS: Final[dict[str, Any]] = {
    "scan": scanning.scan,
    "add": scanning.add,
    "check": checking.check,
    "filter": filtering.filter_,
    "clusters": browsing.clusters,
    "show": browsing.show,
    "text": browsing.text,
    "explain": explaining.explain,
    "search": browsing.search,
    "serve": serving.serve,
    "config": managing.config,
    "compile": compiling.compile_,
    "index": (
        "See what the index holds, export or copy it, remove pages, and find faults.",
        {
            "stats": managing.stats,
            "export": exporting.export,
            "changes": browsing.changes,
            "copy": moving.copy,
            "remove": managing.remove,
            "doctor": managing.doctor,
        },
    ),
    "elastic": (
        "Deduplicate your own indices on Elasticsearch, and cluster all pages anew.",
        {
            "attach": maintaining.attach,
            "detach": maintaining.detach,
            "backfill": maintaining.backfill,
            "follow": maintaining.follow,
            "reindex": maintaining.reindex,
            "recluster": maintaining.recluster,
            "audit": maintaining.audit,
            "jobs": maintaining.jobs,
            "purge": purging.purge,
            "worker": working.worker,
            "dead": (
                "Pages that could not be processed.",
                {"list": working.list_, "replay": working.replay, "drop": working.drop},
            ),
        },
    ),
    "quality": (
        "Measure and tune decisions on labelled pairs, decide by hand, and see what is read out of pages.",
        {
            "eval": evaluating.evaluate,
            "tune": evaluating.tune,
            "label": labelling.label,
            "extract": extracting.extract,
            "override": (
                "Decide pairs and canonical documents by hand; the rules never change what was decided.",
                {
                    "different": overriding.different,
                    "same": overriding.same,
                    "canonical": overriding.canonical,
                    "ignore": overriding.ignore,
                    "undo": overriding.undo,
                    "list": overriding.list_,
                    "export": overriding.export,
                    "import": overriding.import_,
                },
            ),
        },
    ),
    "spark": (
        "Cluster a large corpus on Spark, and load the tables into an index.",
        {"run": on_spark.run, "load": on_spark.load},
    ),
}
"""Every command by its name; a group by what it is for and its commands."""


def _add(group: typer.Typer, commands: dict[str, Any]) -> None:
    for name, command in commands.items():
        if callable(command):
            group.command(name)(command)
        else:
            purpose, inner = command
            below = typer.Typer(help=purpose, no_args_is_help=True)
            _add(below, inner)
            group.add_typer(below, name=name)


_add(app, COMMANDS)


def _canonical_order(keep: Iterable[str]) -> dict[str, Any]:
    """Settings that ``--keep`` asks for; whether an order is known is seen when settings are loaded.

    Raises:
        typer.BadParameter: two orders are named, or a site is missing.
    """
    sites = [each.removeprefix("prefer=").strip() for each in keep if each.startswith("prefer=")]
    orders = {each for each in keep if not each.startswith("prefer=")}
    if len(orders) > 1 or not all(sites):
        problem = f"{' and '.join(sorted(orders))} cannot both hold" if all(sites) else "prefer= needs a site"
        raise typer.BadParameter(problem, param_hint="--keep")
    given = {"cluster.order": "".join(orders), "cluster.preferred_sites": sites}
    return {name: value for name, value in given.items() if value}


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"es-dedup {version('es-dedup')}")
        except PackageNotFoundError:
            typer.echo("es-dedup (not installed)")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    db: Annotated[
        str, typer.Option(help="Index file, :memory:, or http://host:9200/name.", metavar="PATH")
    ] = DEFAULT_DB,
    config: Annotated[
        Path | None,
        typer.Option(help="Settings file (default: es-dedup.toml in this folder).", metavar="PATH"),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Thresholds or decision method: balanced, strict, loose, fast, versions, papers.",
            metavar="NAME",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Page that stands for a cluster: earliest, latest, longest, shortest-url; prefer=SITE before these; may be repeated.",
            metavar="WHICH",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line on standard output.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")] = False,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Finds near-duplicate web pages, with evidence."""
    given = _canonical_order(keep or ())
    if preset:
        given["decision.preset"] = preset
    session = Session(db=db, config=config, given=given, output=Output(as_json=as_json, quiet=quiet))
    context.obj = session
    context.call_on_close(session.close)


def _open_closed_streams() -> None:
    """A stream that the caller closed (``>&-``) is None in Python; nothing is read from it or kept of it then."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open until the process ends
            setattr(sys, name, stream)


def run() -> None:
    """Entry point of the console script."""
    _open_closed_streams()
    handle_signals()
    app()
