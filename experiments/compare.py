"""``compare``: every method alone on the same pages and labelled pairs, side by side."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import datetime
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from es_dedup.batch.featurise import content_of
from es_dedup.cli.figures import show_decider
from es_dedup.cli.inputs import (
    LABELS_HELP,
    Corpus,
    Folds,
    Intake,
    check_labels,
    end_with_missing,
    with_input_options,
)
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import Session, session_of
from es_dedup.cli.targets import HTML, output_target
from es_dedup.decision.voting import decided_by
from es_dedup.detectors.registry import create_detectors, detector_names
from es_dedup.evaluation import Goal, read_labels
from es_dedup.evaluation.runner import BY_RULES
from es_dedup.extraction import create_extractor
from es_dedup.readers import ReadOptions  # noqa: TC001 - typer reads annotations at run time
from es_dedup.report.evidence import shares_in_words
from experiments.comparison import compare as side_by_side
from experiments.comparison_page import COST, QUALITY, cost_row, quality_row, render_comparison
from experiments.methods import run_method, run_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.evaluation import LabelledPair
    from es_dedup.model import Content, Page
    from experiments.methods import MethodRun

ALL: Final = "all"
COMPARED: Final = b"method,candidate_recall,"
SHOWN_ALONE: Final = 20
NO_VERDICT: Final = "no verdict: it skipped one of them"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(compare)


@with_input_options
def compare(
    context: typer.Context,
    corpus: Corpus,
    labels: Annotated[Path, typer.Option(help=LABELS_HELP, metavar="LABELS", show_default=False)],
    options: ReadOptions,
    methods: Annotated[
        str,
        typer.Option(
            help="Methods to compare, separated by commas; rules are the decision rules with all methods."
        ),
    ] = ALL,
    html: Annotated[
        str | None,
        typer.Option(help="Write tables, curves and pairs to this HTML file.", show_default=False),
    ] = None,
    csv_file: Annotated[
        str | None, typer.Option("--csv", help="Write the table to this file.", show_default=False)
    ] = None,
    folds: Folds = 5,
    max_merged_diff: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Best threshold: highest recall with at most this share of merged diff pairs (default: highest F1).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare methods on labelled pairs: quality, cost, best thresholds, and where one alone is right or wrong.

    Each method runs alone, on candidates of its own terms, with what it learns of the corpus itself.
    A pair counts as merged only if it is a candidate of the method. Nothing is stored.
    """
    session = session_of(context)
    names = _names(methods)
    inputs: list[str | Path] = [*corpus, labels]
    page_target = output_target(html, session, "--html", HTML, inputs) if html else None
    table_target = output_target(csv_file, session, "--csv", COMPARED, inputs) if csv_file else None
    pairs = read_labels(labels)
    intake = Intake(corpus, options, session, leave=labels)
    pages = list(intake.pages())
    missing = sorted({page for each in pairs for page in each.pair} - {page.id for page in pages})
    check_labels(labels, pairs, missing)
    runs, contents = _run(session, names, pages, pairs)
    found = side_by_side(runs, pairs, len(pages), folds=folds, goal=Goal(max_merged_diff)).as_dict()
    decider = decided_by(session.settings)
    found |= {"decided_by": decider, "missing_pages": missing, "left_out": intake.failed}
    session.output.emit(found)
    _show(session, found)
    show_decider(session.output, decider)
    if table_target is not None:
        table_target.write(_table(found["methods"]).encode())
    if page_target is not None:
        page_target.write(_page(found, pages, contents, title=labels.name).encode())
    end_with_missing(session, missing, intake.failed)


def _names(methods: str) -> tuple[str, ...]:
    known = (*detector_names(), BY_RULES)
    names = tuple(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))
    if names == (ALL,):
        return known
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        named = ", ".join(map(repr, unknown)) or "none"
        raise typer.BadParameter(f"known are {', '.join(known)}, or all; got {named}", param_hint="--methods")
    return names


def _run(
    session: Session, names: Sequence[str], pages: list[Page], pairs: Sequence[LabelledPair]
) -> tuple[list[MethodRun], list[Content]]:
    alone = tuple(name for name in names if name != BY_RULES)
    settings = session.settings.model_copy(update={"detectors": alone})
    detectors = create_detectors(settings) if alone else {}
    extractor = create_extractor(settings.extraction)
    contents: list[Content] = []
    runs: list[MethodRun] = []
    with ProgressDisplay(quiet=session.output.quiet) as progress:
        for page in pages:
            contents.append(content_of(page, extractor)[0])
            progress.count("read", len(contents), len(pages))
        for name in names:
            if name == BY_RULES:
                with session.scratch() as dedup:
                    runs.append(run_rules(dedup, [*map(_as_read, pages, contents)], pairs))
            else:
                ids = [page.id for page in pages]
                runs.append(run_method(detectors[name], ids, contents, pairs, settings.index))
            progress.count("methods", len(runs), len(names))
    return runs, contents


def _as_read(page: Page, content: Content) -> Page:
    """The page as its content, so that the decision rules, too, start from main texts."""
    return replace(
        page,
        html=None,
        text=content.text,
        title=content.title,
        site=content.site,
        published=content.published,
    )


def _show(session: Session, found: Mapping[str, Any]) -> None:
    output = session.output
    output.line(f"{found['pages']:,} pages, {found['pairs']:,} labelled pairs")
    methods = found["methods"].items()
    output.table(QUALITY, [quality_row(name, each) for name, each in methods], in_parts=True)
    output.table(COST, [cost_row(name, each) for name, each in methods], in_parts=True)
    for each in found["alone"][:SHOWN_ALONE]:
        known = {name: value for name, value in each["evidence"].items() if value is not None}
        evidence = ", ".join(f"{name} {value}" for name, value in known.items()) or NO_VERDICT
        shares = each["shares"]
        covered = "" if shares is None else f"{shares_in_words(shares, each['left'], each['right'], 0)}; "
        output.line(
            f"{each['method']} alone is {each['verdict']}: {each['left']} ~ {each['right']} ({each['label']}); {covered}{evidence}"
        )
    rest = len(found["alone"]) - SHOWN_ALONE
    if rest > 0:
        output.line(f"{rest} more such pairs: --json or --html lists them")


def _table(methods: Mapping[str, Any]) -> str:
    """CSV with one line a method: every figure as a plain number."""
    rows = []
    for name, each in methods.items():
        tuned = each["tuned"]["out_of_fold"] if each["tuned"] else None
        row: dict[str, Any] = {"method": name, "candidate_recall": each["candidate_recall"]["value"]}
        for place, scores in (("out_of_fold", tuned), ("own_thresholds", each["own"])):
            for figure in ("recall", "precision", "f1"):
                row[f"{place}_{figure}"] = scores[figure] if scores else None
            row[f"{place}_merged_diff"] = scores["merged_diff"]["value"] if scores else None
        row |= {"threshold": each["threshold"], "average_precision": each["average_precision"]}
        row |= each["cost"] | {"skipped": sum(each["skipped"].values())}
        rows.append(row)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _page(found: Mapping[str, Any], pages: Sequence[Page], contents: Sequence[Content], *, title: str) -> str:
    shown = {each[side] for each in found["alone"] for side in ("left", "right")}
    texts = {
        page.id: (content.title, content.text)
        for page, content in zip(pages, contents, strict=True)
        if page.id in shown
    }
    return render_comparison(found, texts, title=title, generated=datetime.now().astimezone())
