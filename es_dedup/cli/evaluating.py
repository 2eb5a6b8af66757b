"""``eval`` and ``tune``: how good the decisions are on labelled pairs, and which thresholds would be better."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.figures import show_decider, show_pairs, show_report, show_sweep
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
from es_dedup.readers import ReadOptions  # noqa: TC001 - typer reads annotations at run time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.evaluation import Axis, LabelledPair, TuneReport
    from es_dedup.evaluation.runner import Measured
    from es_dedup.evaluation.tune import Measures

MAX_VALUES: Final = 40
"""Values tried on one axis: those that pairs have, thinned out evenly."""

Labels = Annotated[Path, typer.Argument(help=LABELS_HELP, metavar="LABELS", show_default=False)]


@dataclass(frozen=True, slots=True)
class _Ground:
    """Labels, what the index says of them, and what could not be read."""

    labels: tuple[LabelledPair, ...]
    measured: Measured
    left_out: int


@with_input_options
def evaluate(
    context: typer.Context,
    labels: Labels,
    corpus: Corpus,
    options: ReadOptions,
    method: Annotated[
        list[str] | None, typer.Option(help="Method to report beside the decision rules (default: all).")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Also decide without this rule or group of rules; may be repeated.",
            metavar="RULE",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure candidates, decisions and clusters against labelled pairs; the corpus is scanned in memory.

    Partial pairs count neither for nor against; they are reported apart.
    """
    from es_dedup.decision.voting import decided_by
    from es_dedup.evaluation.runner import merged_without, report

    session = session_of(context)
    _check_methods(session, method or ())
    _check_rules(session, without or (), "--without")
    ground = _measure(session, labels, corpus, options, without or ())
    found = report(ground.measured, ground.labels, method or None)
    decider = decided_by(session.settings)
    changed = merged_without(ground.measured, ground.labels)
    session.output.emit(
        found.as_dict()
        | {"decided_by": decider, "missing_pages": ground.measured.missing, "left_out": ground.left_out}
        | {
            "merged_without": {
                name: [[each.left, each.right, str(each.label)] for each in pairs]
                for name, pairs in changed.items()
            }
        }
    )
    show_report(session.output, found)
    for name, pairs in changed.items():
        show_pairs(session.output, f"merged by {name}", pairs)
    show_decider(session.output, decider)
    end_with_missing(session, ground.measured.missing, ground.left_out)


@with_input_options
def tune(
    context: typer.Context,
    labels: Labels,
    corpus: Corpus,
    options: ReadOptions,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Sweep method.measure (as named by `explain`); several are swept together."),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            help="Sweep each threshold of this decision rule or group of rules; may be repeated.",
            metavar="RULE",
            show_default=False,
        ),
    ] = None,
    folds: Folds = 5,
    max_merged_diff: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Best threshold: highest recall with at most this share of merged diff pairs."
        ),
    ] = 0.1,
    best_f1: Annotated[
        bool,
        typer.Option(
            "--f1", help="Best threshold: highest F1, which depends on the share of diff pairs in the labels."
        ),
    ] = False,
) -> None:
    """Sweep thresholds on labelled pairs with cross-validation and show what would change; nothing is changed.

    Without --measure and --rule the main measure of each method is swept by itself.
    """
    session = session_of(context)
    _check_rules(session, rule or (), "--rule")
    ground = _measure(session, labels, corpus, options)
    bound = None if best_f1 else max_merged_diff
    sweeps = [tuple(measure)] if measure else [] if rule else _main_measures(ground.measured)
    for names in sweeps:
        found = _sweep(ground, names, folds, bound)
        session.output.emit({"measures": names, **found.as_dict()})
        current = {name: each for name, each in ground.measured.thresholds.items() if name in names}
        show_sweep(
            session.output,
            found,
            {name: f"{each.value:g} ({name.partition('.')[0]}.{each.key})" for name, each in current.items()},
        )
    _sweep_rules(session, ground, rule or (), folds, bound)
    end_with_missing(session, ground.measured.missing, ground.left_out)


def _sweep_rules(
    session: Session, ground: _Ground, names: Iterable[str], folds: int, max_merged_diff: float | None
) -> None:
    """Sweep each threshold of these rules, with all others at their current values."""
    from es_dedup.decision.match_rules import RULES
    from es_dedup.evaluation.rule_thresholds import sweeps_of

    for rule in (each.name for each in RULES if {each.name, each.group}.intersection(names)):
        for each in sweeps_of(ground.measured.rules, rule, MAX_VALUES):
            said = {
                "rule": rule,
                "measures": [each.name],
                "rejects": each.rejects,
                "now": each.threshold,
                "settings": each.settings,
            }
            if each.axis is None:
                session.output.emit({**said, "chosen": None})
                session.output.line(f"{each.name}: no labelled pair depends on it\n")
                continue
            found = _swept(
                ground, each.measures, [each.axis], {each.name: each.current}, folds, max_merged_diff
            )
            session.output.emit({**said, **found.as_dict()})
            origin = f"set by {', '.join(each.settings)}" if each.settings else "fixed"
            now = f"{each.threshold or 0:g} (rejects {each.rejects} the threshold; {origin})"
            show_sweep(session.output, found, {each.name: now})


def _measure(
    session: Session,
    labels: Path,
    corpus: list[str],
    options: ReadOptions,
    without: Iterable[str] = (),
) -> _Ground:
    """Measure the index on the labelled pairs."""
    from es_dedup.evaluation import read_labels
    from es_dedup.evaluation.runner import measure

    pairs = read_labels(labels)
    intake = Intake(corpus, options, session, leave=labels)
    with session.scratch() as dedup, ProgressDisplay(quiet=session.output.quiet) as progress:
        done = dedup.scan(intake.pages(), progress=progress)
        measured = measure(dedup, pairs, lambda at, total: progress.count("verify", at, total), without)
    check_labels(labels, pairs, measured.missing)
    return _Ground(pairs, measured, intake.failed + len(done.failed))


def _check_methods(session: Session, methods: Iterable[str]) -> None:
    from es_dedup.evaluation.runner import BY_RULES

    enabled = (BY_RULES, *session.settings.detectors)
    for name in methods:
        if name not in enabled:
            raise typer.BadParameter(
                f"{name!r} is not among {', '.join(enabled)}: to measure another method, add it to the setting detectors",
                param_hint="--method",
            )


def _check_rules(session: Session, names: Iterable[str], option: str) -> None:
    from es_dedup.decision.rules import without_rules
    from es_dedup.decision.thresholds import thresholds_of
    from es_dedup.decision.voting import decided_by, voters_of
    from es_dedup.errors import ConfigError

    if not names:
        return
    if voters_of(session.settings):
        raise typer.BadParameter(
            f"no rule is asked, {decided_by(session.settings)} decides", param_hint=option
        )
    try:
        without_rules(thresholds_of(session.settings.decision), names)
    except ConfigError as error:
        raise typer.BadParameter("; ".join(error.problems), param_hint=option) from error


def _main_measures(measured: Measured) -> list[tuple[str, ...]]:
    """The score of the decision rules; of each method the first measure that has a threshold, or its score."""
    from es_dedup.evaluation.runner import BY_RULES

    first = {BY_RULES: f"{BY_RULES}.score"}
    for name in measured.thresholds:
        first.setdefault(name.partition(".")[0], name)
    for method in measured.decisions:
        first.setdefault(method, f"{method}.score")
    return [(name,) for name in first.values()]


def _sweep(ground: _Ground, names: tuple[str, ...], folds: int, max_merged_diff: float | None) -> TuneReport:
    from es_dedup.evaluation import Axis

    measured = ground.measured
    axes, current = [], {}
    for name in names:
        values = sorted({found[name] for found in measured.measures.values() if name in found})
        if not values:
            known = sorted({name for found in measured.measures.values() for name in found})
            raise typer.BadParameter(
                f"no pair has {name!r}; known are {', '.join(known)}", param_hint="--measure"
            )
        threshold = measured.thresholds.get(name)
        at_least = threshold is None or threshold.at_least
        axes.append(Axis(name, _thinned(values, MAX_VALUES if len(names) == 1 else 15), at_least))
        if threshold is not None:
            current[name] = threshold.value
    today = current if len(current) == len(names) else None
    return _swept(ground, measured.measures, axes, today, folds, max_merged_diff)


def _swept(
    ground: _Ground,
    measures: Measures,
    axes: list[Axis],
    current: Mapping[str, float] | None,
    folds: int,
    max_merged_diff: float | None,
) -> TuneReport:
    from es_dedup.evaluation import Goal
    from es_dedup.evaluation import tune as sweep

    goal = Goal(max_merged_diff)
    try:
        return sweep(ground.labels, measures, axes, current=current, folds=folds, goal=goal)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _thinned(values: list[float], most: int) -> tuple[float, ...]:
    if len(values) <= most:
        return tuple(values)
    return tuple(values[place * (len(values) - 1) // (most - 1)] for place in range(most))
