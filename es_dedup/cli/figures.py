"""Figures of an evaluation or a sweep for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.cli.output import Output
    from es_dedup.evaluation import (
        EvaluationReport,
        LabelledPair,
        MethodReport,
        PairScores,
        Share,
        TuneReport,
    )

SHOWN_PAIRS: Final = 10


def show_decider(output: Output, decided_by: str) -> None:
    """Say which method decides in the line ``rules``, unless the decision rules do."""
    if decided_by != "rules":
        output.line(f"rules: the decision by {decided_by}")


def show_report(output: Output, found: EvaluationReport) -> None:
    """Show candidates, methods, score bands and clusters of one evaluation."""
    from es_dedup.evaluation.runner import WITHOUT

    counts = ", ".join(f"{count} {label}" for label, count in found.labels.items())
    output.line(f"{found.pairs} labelled pairs: {counts}")
    for name, share in found.candidates.items():
        output.line(f"candidate recall ({name})  {_share(share)}")
    output.line()
    heads = ("method", "recall", "diff merged", "precision", "F1", "partial merged", "relation right")
    output.table(
        heads,
        [
            (name, *_scores(method.pairs), _share(method.relations.correct))
            for name, method in found.methods.items()
        ],
    )
    output.line()
    bands = [
        row
        for name, method in found.methods.items()
        if not name.startswith(WITHOUT)
        for row in _bands(name, method)
    ]
    output.table(("method", "score", "dup", "contain", "partial", "diff (merged of all)"), bands)
    if found.clusters is not None:
        facts = {
            name: f"{value:.3f}"
            for name, value in found.clusters.as_dict().items()
            if isinstance(value, float)
        }
        output.line("clusters (B-cubed)  " + ", ".join(f"{name} {value}" for name, value in facts.items()))


def _bands(name: str, method: MethodReport) -> list[tuple[str, ...]]:
    rows = []
    for band in method.bands:
        cells = [f"{share.hits}/{share.total}" if share.total else "" for share in band.merged.values()]
        if any(cells):
            rows.append((name, f"{band.low:.1f}-{band.high:.1f}", *cells))
    return rows


def _scores(pairs: PairScores) -> tuple[str, ...]:
    return (
        _share(pairs.positive),
        _share(pairs.diff),
        _figure(pairs.precision),
        _figure(pairs.f1),
        _share(pairs.partial),
    )


def _share(share: Share) -> str:
    shown = share.as_dict()
    return (
        f"{share.value:.3f} ({share.hits}/{share.total}, {shown['low']:.2f}-{shown['high']:.2f})"
        if share.total
        else "–"
    )


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def show_sweep(output: Output, found: TuneReport, today: Mapping[str, str]) -> None:
    """Show the best thresholds of one sweep, their figures and the pairs that would change; ``today``: measure to its current threshold in words."""
    for name, value in found.chosen.items():
        now = f", now {today[name]}" if name in today else ""
        spread = sorted(fold.thresholds[name] for fold in found.folds)
        output.line(
            f"{name}: best threshold {value:.4g}{now}; between folds {spread[0]:.4g} to {spread[-1]:.4g}"
        )
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
