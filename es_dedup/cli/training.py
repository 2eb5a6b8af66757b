"""``train-extractor``: the block model of the main text learns from labelled pages."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.session import session_of
from es_dedup.cli.targets import output_target

if TYPE_CHECKING:
    from es_dedup.extraction.learning.retraining import SiteFigures


MODEL: Final = rb"PK.{28}about\.json"
"""How the files of ``train-extractor`` begin."""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("train-extractor")(train_extractor)


def train_extractor(
    context: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="JSON lines (.xz too), a page each: html, html_base64 or file; text, its main text; and url, site, kind (article, thread), if known.",
            metavar="PAGES...",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Output file of the model, for extraction.model.", metavar="MODEL.npz"
        ),
    ],
    fresh: Annotated[
        bool,
        typer.Option("--fresh/--continue", help="Train on these pages alone, or continue from a model."),
    ] = False,
    upon: Annotated[
        str,
        typer.Option(
            help="Model to continue from and to compare with (default: the model of the package).",
            metavar="MODEL",
        ),
    ] = "",
) -> None:
    """Train the extractor `blocks` on labelled pages of yours, and say how good it is on sites left out.

    F1 is that of character 5-grams against the gold text: by the model that was there, and by models that have
    seen no page of the site. Needs the extra `train`.
    """
    from es_dedup.extraction.learning.retraining import read_pages, retrain
    from es_dedup.extraction.learning.train import learner
    from es_dedup.extraction.model import load_model

    session = session_of(context)
    out = session.output
    target = output_target(output, session, "--output", MODEL, [*paths, *filter(None, [upon])])
    learner()
    model = load_model(upon)
    pages, left_out = read_pages(paths)
    for line in left_out:
        out.note(line)
    found = retrain(pages, model, fresh=fresh)
    target.write(found.model.as_bytes())
    for figures in (*found.sites, found.total):
        out.emit(figures)
    out.table(
        ("site", "pages", "F1 before", "F1 out of fold", "missed"),
        [_row(figures) for figures in (*found.sites, found.total)],
    )
    if found.by_page:
        out.line("pages of one site: single pages were held out, so the figures apply to this site only")
    out.line(f'{len(found.model.trees.leaves)} trees: {output}; to use them: extraction.model = "{output}"')
    if left_out:
        raise typer.Exit(ExitCode.LEFT_OUT)


def _row(figures: SiteFigures) -> tuple[object, ...]:
    return (
        figures.site, figures.pages, f"{figures.before:.3f}", f"{figures.out_of_fold:.3f}", figures.missed,
    )  # fmt: skip
