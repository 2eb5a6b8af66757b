"""``quality eval``, ``quality tune`` and ``quality labels``: how good the decisions are on labelled pairs, which thresholds would be better, and how far readers agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from es_dedup.batch.annotations import read_jsonl
from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake
from es_dedup.cli.output import Output
from es_dedup.cli.session import Session
from es_dedup.cli.targets import OutputFile, output_target, write_target
from es_dedup.decision.voting import decided_by
from es_dedup.errors import InputError
from es_dedup.evaluation import Axis, read_labels
from es_dedup.evaluation import tune as tune_
from es_dedup.evaluation.agreement import agreements, as_jsonl, consensus
from es_dedup.evaluation.labels import UNDECIDED
from es_dedup.evaluation.runner import BY_RULES, Measured, report
from es_dedup.evaluation.runner import measure as measure_
from es_dedup.readers import ReadOptions

if TYPE_CHECKING:
    from es_dedup.evaluation import EvaluationReport, LabelledPair, PairScores, Share, TuneReport

MAX_VALUES: Final = 40
"""Values tried: those that pairs have, thinned out evenly."""
SHOWN_MISSING: Final = 5
SHOWN_PAIRS: Final = 10
LABELS_HELP: Final = "TSV with a header, or JSONL: id_a, id_b, label (dup, contain, partial, diff)."

Labels = Annotated[Path, typer.Argument(help=LABELS_HELP)]
Corpus = Annotated[list[str], typer.Option("-c", help="Input with the labelled pages; may be repeated.")]
Folds = Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")]


def eval_(
    session: Session, labels: Labels, *, corpus: Corpus, options: ReadOptions, method: list[str] | None = None
) -> ExitCode:
    """Measure candidates, decisions and clusters against labelled pairs; the corpus is scanned in memory.

    Partial pairs count neither for nor against; they are reported apart.

    Args:
        method: Method to report in addition to the decision rules (default: all).
    """
    _check_methods(session, method or ())
    pairs, measured, left_out = _measure(session, labels, corpus, options)
    found = report(measured, pairs, method or None)
    decider = decided_by(session.settings)
    session.output.emit(
        found.as_dict() | {"decided_by": decider, "missing_pages": measured.missing, "left_out": left_out}
    )
    show_report(session.output, found)
    show_decider(session.output, decider)
    return name_missing(session, measured.missing, left_out)


def tune(
    session: Session,
    labels: Labels,
    *,
    corpus: Corpus,
    options: ReadOptions,
    measure: list[str] | None = None,
    folds: Folds = 5,
    max_merged_diff: Annotated[float, typer.Option(min=0, max=1)] = 0.1,
) -> ExitCode:
    """Sweep thresholds on labelled pairs with cross-validation and show what would change; nothing is changed.

    Without --measure the main measure of each method is swept by itself.

    Args:
        measure: Sweep method.measure (as named by `explain`); may be repeated.
        max_merged_diff: Best threshold: highest recall with at most this share of merged diff pairs.
    """
    pairs, measured, left_out = _measure(session, labels, corpus, options)
    for name in measure or _main_measures(measured):
        threshold = measured.thresholds.get(name)
        now = threshold.value if threshold else None
        settings = [f"{name.partition('.')[0]}.{threshold.key}"] if threshold else []
        try:
            found = tune_(
                pairs,
                measured.measures,
                _axis_of(measured, name),
                current=now,
                folds=folds,
                max_merged_diff=max_merged_diff,
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        session.output.emit({"measure": name, "now": now, "settings": settings, **found.as_dict()})
        shown = "" if now is None else f", now {now:g} ({', '.join(settings)})"
        show_sweep(session.output, f"{name}: best threshold {found.chosen:.4g}{shown}", found)
    return name_missing(session, measured.missing, left_out)


def labels(
    session: Session,
    *,
    output: OutputFile = None,
    by_reader: bool = False,
    import_: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
) -> None:
    """Show how far the readers agree who labelled stored pairs in the console, and write their labels for `quality eval` and `quality tune`.

    A pair on which readers differ is undecided (`?`); of two labels of one reader on one pair the later one counts.

    Args:
        output: File for the labels (none).
        by_reader: Write what each reader said and took back, as `--import` reads it.
        import_: First take over labels of a file that `--by-reader` wrote; all lines, or none where one is no label.
    """
    inputs = [] if import_ is None else [import_]
    target = output_target(output, session, "--output", inputs) if output else None
    if import_ is not None:
        _import_labels(session, import_)
    with session.read(quiet=True) as dedup:
        annotations, history = dedup.annotations(), dedup.annotations(removed=True)
    rows, found = consensus(annotations), agreements(annotations)
    if target is not None:
        lines = as_jsonl([each.as_dict() for each in history] if by_reader else rows)
        write_target(target, lines.encode())
    undecided = sum(row["label"] == UNDECIDED for row in rows)
    session.output.emit({"pairs": len(rows), "undecided": undecided, "agreement": found})
    kappas = ("" if each.kappa is None else f"{each.kappa:.2f}" for each in found)
    cells = (
        (" ".join(each.readers), each.pairs, f"{each.share:.2f}", kappa)
        for each, kappa in zip(found, kappas, strict=True)
    )
    session.output.table(("readers", "pairs", "agreement", "kappa"), cells)
    place = f" in {output}" if output else ""
    session.output.note(f"{len(rows):,} labelled pairs, {undecided:,} undecided{place}")


def _import_labels(session: Session, source: Path) -> None:
    with source.open(encoding="utf-8") as lines:
        given = list(read_jsonl(lines, str(source)))
    session.read(quiet=True).close()
    with session.write() as dedup:
        count = dedup.import_annotations(given)
    session.output.note(f"{count:,} of {len(given):,} labels taken over")


def _measure(
    session: Session, labels: Path, corpus: list[str], options: ReadOptions
) -> tuple[tuple[LabelledPair, ...], Measured, int]:
    """The labelled pairs, what an index of the corpus says of them, and how many inputs were left out."""
    pairs = read_labels(labels)
    intake = Intake(corpus, options, session, leave=labels)
    with session.scratch() as dedup, session.progress() as progress:
        done = dedup.scan(intake.pages(), progress=progress)
        measured = measure_(dedup, pairs, progress.counter("verify"))
    check_labels(labels, pairs, measured.missing)
    return pairs, measured, intake.failed + len(done.failed)


def check_labels(labels: Path, pairs: Sequence[LabelledPair], missing: Sequence[str]) -> None:
    """Raise ``InputError`` where no labelled page, of ``pairs`` without the ``missing`` ones, is in the corpus."""
    if not pairs:
        raise InputError(str(labels), None, "holds no labelled pair")
    if len(missing) == len({page for each in pairs for page in each.pair}):
        problem = f"none of its {len(missing):,} labelled pages is in the corpus: check --corpus and the page ids ({_some(missing)})"
        raise InputError(str(labels), None, problem)


def name_missing(session: Session, missing: Sequence[str], left_out: int) -> ExitCode:
    """Name labelled pages that are missing; the exit code says so, or that input was left out."""
    if missing:
        session.output.warn(
            f"{len(missing)} labelled pages are not in the corpus; their pairs count as different: {_some(missing)}"
        )
    return ExitCode.LEFT_OUT if missing or left_out else ExitCode.OK


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_MISSING]) + (" …" if len(names) > SHOWN_MISSING else "")


def _check_methods(session: Session, methods: Iterable[str]) -> None:
    enabled = (BY_RULES, *session.settings.detectors)
    for name in methods:
        if name not in enabled:
            advice = "to measure another method, add it to the setting detectors"
            problem = f"{name!r} is not among {', '.join(enabled)}: {advice}"
            raise typer.BadParameter(problem, param_hint="--method")


def _main_measures(measured: Measured) -> list[str]:
    """The score of the decision rules; of each method the first measure that has a threshold, or its score."""
    first = {BY_RULES: f"{BY_RULES}.score"}
    for name in measured.thresholds:
        first.setdefault(name.partition(".")[0], name)
    for method in measured.decisions:
        first.setdefault(method, f"{method}.score")
    return list(first.values())


def _axis_of(measured: Measured, name: str) -> Axis:
    """The values that pairs have of a measure, thinned out where there are many."""
    values = sorted({found[name] for found in measured.measures.values() if name in found})
    if not values:
        known = ", ".join(sorted({name for found in measured.measures.values() for name in found}))
        raise typer.BadParameter(f"no pair has {name!r}; known are {known}", param_hint="--measure")
    if len(values) > MAX_VALUES:
        values = [values[place * (len(values) - 1) // (MAX_VALUES - 1)] for place in range(MAX_VALUES)]
    threshold = measured.thresholds.get(name)
    return Axis(name, tuple(values), threshold is None or threshold.at_least)


def show_decider(output: Output, decided_by: str) -> None:
    """Say which method decides in the line ``rules``, unless the decision rules do."""
    if decided_by != "rules":
        output.line(f"rules: the decision by {decided_by}")


def show_report(output: Output, found: EvaluationReport) -> None:
    """Show candidates, methods and clusters of one evaluation."""
    counts = ", ".join(f"{count} {label}" for label, count in found.labels.items())
    output.line(f"{found.pairs} labelled pairs: {counts}")
    for name, share in found.candidates.items():
        output.line(f"candidate recall ({name})  {_shown(share)}")
    output.line()
    heads = ("method", "recall", "diff merged", "precision", "F1", "partial merged", "relation right")
    methods = found.methods.items()
    rows = [(name, *_scores(method.pairs), _shown(method.relations)) for name, method in methods]
    output.table(heads, rows)
    if found.clusters is not None:
        figures = found.clusters.as_dict().items()
        shown = (f"{name} {_shown(value)}" for name, value in figures if isinstance(value, float))
        output.line(f"clusters (B-cubed)  {', '.join(shown)}")


def _scores(pairs: PairScores) -> Iterator[str]:
    return map(_shown, (pairs.positive, pairs.diff, pairs.precision, pairs.f1, pairs.partial))


def _shown(value: Share | float | None) -> str:
    """A figure or a share, with how often and its interval."""
    if isinstance(value, float):
        return f"{value:.3f}"
    if not (value and value.total):
        return "–"
    shown = value.as_dict()
    return f"{value.value:.3f} ({value.hits}/{value.total}, {shown['low']:.2f}-{shown['high']:.2f})"


def show_sweep(output: Output, best: str, found: TuneReport) -> None:
    """Show the best threshold of a sweep, in words, its figures and the pairs that would change."""
    spread = sorted(fold.threshold for fold in found.folds)
    output.line(f"{best}; between folds {spread[0]:.4g} to {spread[-1]:.4g}")
    if not found.bound_kept:
        output.line("no threshold keeps the bound on merged diff pairs; this one merges the fewest of them")
    rows: list[tuple[Any, ...]] = [
        ("out of fold", *_scores(found.out_of_fold)),
        ("in sample", *_scores(found.in_sample)),
    ]
    if found.current is not None:
        rows.insert(0, ("now", *_scores(found.current)))
    output.table(("thresholds", "recall", "diff merged", "precision", "F1", "partial merged"), rows)
    show_pairs(output, "newly merged", found.gained)
    show_pairs(output, "no longer merged", found.lost)
    output.line()


def show_pairs(output: Output, word: str, pairs: Sequence[LabelledPair]) -> None:
    """Show the first of these labelled pairs, each with its label."""
    for pair in pairs[:SHOWN_PAIRS]:
        output.line(f"  {word}: {pair.left} ~ {pair.right} ({pair.label})")
    if len(pairs) > SHOWN_PAIRS:
        output.line(f"  {word}: {len(pairs) - SHOWN_PAIRS} more")
