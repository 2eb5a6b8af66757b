"""``compare``: every method alone on the same pages and labelled pairs, side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from es_dedup.batch.featurise import content_of
from es_dedup.cli.command import as_command
from es_dedup.cli.evaluating import LABELS_HELP, Corpus, Folds, check_labels, name_missing, show_decider
from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake
from es_dedup.cli.session import Session
from es_dedup.decision.voting import decided_by
from es_dedup.detectors.registry import create_detectors, detector_names
from es_dedup.evaluation import read_labels
from es_dedup.evaluation.runner import BY_RULES
from es_dedup.readers import ReadOptions
from es_dedup.views.evidence import shares_in_words
from experiments.comparison import compare as side_by_side
from experiments.methods import run_method, run_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.evaluation import LabelledPair
    from es_dedup.model import Content, Page
    from experiments.methods import MethodRun

ALL: Final = "all"
QUALITY: Final = (
    "Method", "Candidate recall", "Threshold", "Recall", "Diff merged", "Precision", "F1", "Average precision",
    "Recall, configured thresholds", "Diff merged, configured thresholds",
)  # fmt: skip
COST: Final = (
    "Method", "Features, ms a page", "Join, ms a page", "Verify, µs a pair", "All, ms a page", "Bytes a page",
    "Terms a page", "Candidates a query", "Skipped pages",
)  # fmt: skip
SHOWN_ALONE: Final = 20
NO_VERDICT: Final = "no verdict: it skipped one of them"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(as_command(compare))


def compare(
    session: Session,
    *,
    corpus: Corpus,
    labels: Annotated[Path, typer.Option(help=LABELS_HELP, metavar="LABELS")],
    options: ReadOptions,
    methods: str = ALL,
    folds: Folds = 5,
    max_merged_diff: Annotated[float | None, typer.Option(min=0, max=1)] = None,
) -> ExitCode:
    """Compare methods on labelled pairs: quality, cost, best thresholds, and where one alone is right or wrong.

    Each method runs alone, on candidates of its own terms, with what it learns of the corpus itself.
    A pair counts as merged only if it is a candidate of the method. Nothing is stored.

    Args:
        methods: Methods to compare, separated by commas; rules are the decision rules with all methods.
        max_merged_diff: Best threshold: highest recall with at most this share of merged diff pairs (default: highest F1).
    """
    names = _names(methods)
    pairs = read_labels(labels)
    intake = Intake(corpus, options, session, leave=labels)
    pages = list(intake.pages())
    missing = sorted({page for each in pairs for page in each.pair} - {page.id for page in pages})
    check_labels(labels, pairs, missing)
    runs = _run(session, names, pages, pairs)
    found = side_by_side(runs, pairs, len(pages), folds=folds, max_merged_diff=max_merged_diff).as_dict()
    decider = decided_by(session.settings)
    found |= {"decided_by": decider, "missing_pages": missing, "left_out": intake.failed}
    session.output.emit(found)
    _show(session, found)
    show_decider(session.output, decider)
    return name_missing(session, missing, intake.failed)


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
) -> list[MethodRun]:
    alone = tuple(name for name in names if name != BY_RULES)
    settings = session.settings.model_copy(update={"detectors": alone})
    detectors = create_detectors(settings) if alone else {}
    contents: list[Content] = []
    runs: list[MethodRun] = []
    with session.progress() as progress:
        for page in pages:
            contents.append(content_of(page, settings.extraction)[0])
            progress.count("read", len(contents), len(pages))
        for name in names:
            if name == BY_RULES:
                with session.scratch() as dedup:
                    runs.append(run_rules(dedup, [*map(_as_read, pages, contents)], pairs))
            else:
                ids = [page.id for page in pages]
                runs.append(run_method(detectors[name], ids, contents, pairs, settings.index))
            progress.count("methods", len(runs), len(names))
    return runs


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
    output.table(QUALITY, [_quality(name, each) for name, each in methods])
    output.table(COST, [_cost(name, each) for name, each in methods])
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
        output.line(f"{rest} more such pairs: --json lists them")


def _quality(name: str, method: Mapping[str, Any]) -> tuple[str, ...]:
    """Cells under ``QUALITY`` of one method in JSON form; figures of the threshold are those out of fold."""
    own = method["own"]
    scores = method["tuned"]["out_of_fold"] if method["tuned"] else own
    return (
        name,
        _share(method["candidate_recall"]),
        _number(method["threshold"]),
        _share(scores["merged_positive"]),
        _share(scores["merged_diff"]),
        _number(scores["precision"]),
        _number(scores["f1"]),
        _number(method["average_precision"]),
        _share(own["merged_positive"]),
        _share(own["merged_diff"]),
    )


def _cost(name: str, method: Mapping[str, Any]) -> tuple[str, ...]:
    """Cells under ``COST`` of one method in JSON form."""
    cost = method["cost"]
    return (
        name,
        _number(cost["features_ms"]),
        _number(cost["join_ms"]),
        _number(cost["verify_us"], 1),
        _number(cost["total_ms"]),
        _number(cost["bytes"], 0),
        _number(cost["terms"], 0),
        _number(cost["candidates"], 1),
        ", ".join(f"{count} {reason}" for reason, count in method["skipped"].items()),
    )


def _share(share: Mapping[str, Any]) -> str:
    return f"{share['value']:.3f} ({share['hits']}/{share['total']})" if share["total"] else "–"


def _number(value: float | None, places: int = 3) -> str:
    return "–" if value is None else f"{value:,.{places}f}"
