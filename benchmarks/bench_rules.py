"""What does each rule of the decision rules do? Recall and wrong merges with all rules, and with one rule left out at a time.

For every labelled set: the share of duplicate and containing pairs that are accepted, and the share of different pairs
that are accepted too. Rows: the decision rules as it is; without corpus statistics; without the demand that grows with the days
between two pages; then without each rule. A rule is left out of its place in the order; the rules after it stay.
Sets with groups in place of labels (edits-zh) take random pairs of different groups as different ones. broadcast-zh has no
labels: there the column is a count of accepted pairs of different days, most of them issues of one series.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np
from harness import Row, data_file, expect, page_of, parser_of, report, rows_of, share
from labelled import GROUPED, LABELLED, joined, pair_sets, scan

from es_dedup.decision import pair_facts, required_coverage
from es_dedup.decision.comparison import BLOCK, decide_rows
from es_dedup.decision.match_rules import RULES
from es_dedup.decision.statistics import Statistics
from es_dedup.decision.thresholds import BALANCED
from es_dedup.detectors.coverage_pairs import best_cover, measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labelled import Scanned
    from numpy.typing import NDArray

    from es_dedup.decision.thresholds import Thresholds
    from es_dedup.detectors.coverage_pairs import PairMeasures

    Rows = NDArray[np.int64]
    Block = tuple[PairMeasures, Rows, Rows]

ALL_SETS: Final = (*LABELLED, *GROUPED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", default=ALL_SETS, choices=ALL_SETS)
    parser.add_argument("--items", type=int, default=20_000, help="first items of broadcast-zh; 0: none")
    given = parser.parse_args(arguments)
    table: dict[str, Row] = {}
    notes: dict[str, str] = {}
    for pairs in pair_sets(given.data, given.sets):
        scanned = scan(pairs.pages)
        with scanned.dedup:
            asked = [scanned.rows(pairs.same), scanned.rows(pairs.other)]
            for name, (same, other) in variants(scanned, asked):
                row = table.setdefault(name, {"judge": name})
                row[f"{pairs.name} recall"] = share(same, len(pairs.same))
                row[f"{pairs.name} merged"] = share(other, len(pairs.other))
        notes[pairs.name] = f"{len(pairs.same)} same, {len(pairs.other)} different pairs"
    if given.items:
        scanned = scan(
            [page_of(row) for row in rows_of(data_file(given.data, "broadcast-zh.jsonl.xz"), given.items)]
        )
        with scanned.dedup:
            left, right = days_apart(scanned)
            for name, (accepted,) in variants(scanned, [(left, right)]):
                table.setdefault(name, {"judge": name})["broadcast-zh"] = accepted
        notes["broadcast-zh"] = (
            f"of {len(left):,} covered pairs of different days among {given.items:,} items, how many are accepted"
        )
    report("Recall of same pairs, share of different pairs merged", list(table.values()), given.json, notes)
    return 0


def days_apart(scanned: Scanned) -> tuple[Rows, Rows]:
    """Candidate pairs of different days that are covered enough to come before the decision rules."""
    pages = scanned.corpus.pages
    found = joined(scanned)
    apart = pages.days[found.left] != pages.days[found.right]
    left, right = found.left[apart], found.right[apart]
    cover, weights = pages.table.coverage, scanned.statistics.weights(pages.table.coverage)
    likely = [
        best_cover(cover, ours, cover, theirs, weights, weights) >= BALANCED.least_cover
        for ours, theirs in blocks(left, right)
    ]
    keep = np.concatenate(likely) if likely else np.zeros(0, dtype=np.bool_)
    return left[keep], right[keep]


def blocks(left: Rows, right: Rows) -> Iterator[tuple[Rows, Rows]]:
    """The pairs, a bounded number at a time."""
    for start in range(0, len(left), BLOCK):
        yield left[start : start + BLOCK], right[start : start + BLOCK]


def variants(scanned: Scanned, asked: Sequence[tuple[Rows, Rows]]) -> Iterator[tuple[str, list[int]]]:
    """Name of each variant, and how many pairs of each group it accepts."""
    measured = [measured_blocks(scanned, pairs, scanned.statistics) for pairs in asked]
    every = [accepted(scanned, group) for group in measured]
    yield "all", every
    yield (
        "without statistics",
        [accepted(scanned, measured_blocks(scanned, pairs, Statistics.empty())) for pairs in asked],
    )
    with without_days():
        yield "without the demand that grows with the days", [accepted(scanned, group) for group in measured]
    for rule in RULES:
        fewer = replace(BALANCED, without=frozenset((rule.name,)))
        found = [accepted(scanned, group, fewer) for group in measured]
        expect(
            all(more >= less for more, less in zip(found, every, strict=True)),
            f"without the rule {rule.name!r} fewer pairs are accepted",
        )
        yield f"without: {rule.name}", found


def measured_blocks(scanned: Scanned, pairs: tuple[Rows, Rows], statistics: Statistics) -> list[Block]:
    """Measures of the pairs, made once for all variants of the decision rules."""
    cover = scanned.corpus.pages.table.coverage
    weights = statistics.weights(cover)
    return [
        (measure(cover, left, cover, right, weights, weights), left, right) for left, right in blocks(*pairs)
    ]


def accepted(scanned: Scanned, measured: list[Block], limits: Thresholds = BALANCED) -> int:
    """How many of the pairs the decision rules take for related."""
    pages = scanned.corpus.pages
    return sum(
        int((decide_rows(measures, pages, left, pages, right, limits).rule == 0).sum())
        for measures, left, right in measured
    )


@contextmanager
def without_days() -> Iterator[None]:
    """The decision rules as if all pages were of one day, in what it demands of the covers; the rules still see the days."""
    plain = required_coverage.required_coverage

    def timeless(measures: Any, known: Any, limits: Any) -> Any:
        return plain(measures, replace(known, days=np.zeros_like(known.days)), limits)

    with patch.object(pair_facts, "required_coverage", timeless):
        yield


if __name__ == "__main__":
    sys.exit(main())
