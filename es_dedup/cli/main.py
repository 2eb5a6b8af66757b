"""The application: global options, and the commands of all groups."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from es_dedup.cli.command import Commands, typer_parameters, with_help
from es_dedup.cli.group import Program, handle_signals
from es_dedup.cli.output import Output
from es_dedup.cli.session import DEFAULT_DB, Session

COMMANDS: Final = {
    "es-dedup": (
        *("scanning.scan", "scanning.add", "scanning.check", "filtering.filter_", "browsing.clusters"),
        *("browsing.show", "browsing.text", "explaining.explain", "browsing.search", "serving.serve"),
        "settings.config",
    ),
    "index": (
        *("index.stats", "index.export", "index.changes", "index.copy", "index.remove"),
        "index.doctor",
    ),
    "elastic": (
        *("elastic.attach", "elastic.detach", "elastic.backfill", "elastic.follow", "elastic.reindex"),
        *("elastic.recluster", "elastic.audit", "elastic.jobs", "elastic.purge", "elastic.worker"),
    ),
    "dead": ("elastic.list_", "elastic.replay", "elastic.drop"),
    "quality": ("evaluating.eval_", "evaluating.tune", "evaluating.labels"),
    "override": (
        *("overriding.different", "overriding.same", "overriding.canonical", "overriding.ignore"),
        *("overriding.undo", "overriding.list_", "overriding.export", "overriding.import_"),
    ),
    "spark": ("on_spark.run", "on_spark.load"),
}
"""Every command, by its group, in the order of the help: the function and its module."""
PURPOSES: Final = {
    "index": "See what the index holds, export or copy it, remove pages, and find faults.",
    "elastic": "Deduplicate your own indices on Elasticsearch, and cluster all pages anew.",
    "elastic dead": "Pages that could not be processed.",
    "quality": "Measure and tune decisions on labelled pairs, and decide by hand.",
    "quality override": "Decide pairs and canonical documents by hand; the rules never change what was decided.",
    "spark": "Cluster a large corpus on Spark, and load the tables into an index.",
}


class _Group(TyperGroup):
    """A group of ``COMMANDS``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = Commands(COMMANDS[self.name or ""], self.commands)


class _Program(Program, _Group):
    """All commands."""


app = typer.Typer(
    name="es-dedup",
    cls=_Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds near-duplicate web pages, with evidence.",
    epilog="--db, --config, --preset, --keep, --json and --quiet may stand anywhere on the line. Exit codes: 0 done, 1 error, 2 usage "
    "or settings, 3 done but some input was left out, 4 `check` found a known page, 130 interrupted.",
)
_groups = {"": app}
for path, purpose in PURPOSES.items():
    above, _, name = path.rpartition(" ")
    _groups[path] = typer.Typer(cls=_Group, help=purpose, no_args_is_help=True)
    _groups[above].add_typer(_groups[path], name=name)


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
        from es_dedup import __version__

        typer.echo(f"es-dedup {__version__}")
        raise typer.Exit


def _begin(
    *,
    context: typer.Context,
    db: Annotated[str, typer.Option(metavar="PATH", envvar="ES_DEDUP_DB")] = DEFAULT_DB,
    config: Annotated[Path | None, typer.Option(metavar="PATH")] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    keep: Annotated[list[str] | None, typer.Option(metavar="WHICH")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    quiet: Annotated[bool, typer.Option("-q")] = False,
    version: Annotated[bool, typer.Option(callback=_version, is_eager=True)] = False,  # noqa: ARG001 - its callback answers
) -> None:
    """Finds near-duplicate web pages, with evidence.

    Args:
        db: Index file, :memory:, or http://host:9200/name.
        config: Settings file (default: es-dedup.toml in this folder).
        preset: Thresholds or decision method: balanced, strict, loose, fast, versions, papers.
        keep: Page that stands for a cluster: earliest, latest, longest, shortest-url; prefer=SITE before these; may be repeated.
        as_json: One JSON object a line on standard output.
        quiet: No notes and no progress.
        version: Print the version and exit.
    """
    given = _canonical_order(keep or ())
    if preset:
        given["decision.preset"] = preset
    session = Session(db=db, config=config, given=given, output=Output(as_json=as_json, quiet=quiet))
    context.obj = session


app.callback()(with_help(_begin, _begin.__doc__, typer_parameters(_begin)))


def _open_closed_streams() -> None:
    """A stream that the caller closed (``>&-``) is None in Python; nothing is read from it or kept of it then."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open until the process ends
            setattr(sys, name, stream)


def run() -> None:
    """Entry point of the console script."""
    gc.set_threshold(20_000)  # imports and a short command make no garbage worth looking for
    # numpy would start threads that multiply matrices, and wait for work on all processors at first; there are no matrices
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_closed_streams()
    handle_signals()
    app()
