"""Are the versions of one document found? By group, with the decision rules' reasons for the misses.

manual-zh: pages of a manual over many releases, a group is one page; statutes-zh: dated versions of one law. The pairs
asked are neighbouring versions of a group, by time. A group counts as whole when all its versions are in one cluster.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from harness import Row, data_file, expect, page_of, parser_of, report, rows_of, share
from labelled import joined, scan

from es_dedup import Settings
from es_dedup.decision.comparison import BLOCK, PagePairs, compare
from es_dedup.decision.rules import REASONS
from es_dedup.decision.thresholds import PRESETS, preset_thresholds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelled import Scanned

    from es_dedup.decision.thresholds import Thresholds

SETS: Final = ("manual-zh", "statutes-zh")


@dataclass(frozen=True, slots=True)
class Found:
    """What is found of one set."""

    row: Row
    reasons: Counter[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--no-times", action="store_true", help="leave out the times of publication")
    parser.add_argument(
        "--preset", default="balanced", choices=tuple(PRESETS), help="thresholds of the decision rules"
    )
    given = parser.parse_args(arguments)
    rows: list[Row] = []
    reasons: dict[str, Any] = {}
    for name in given.sets:
        versions = rows_of(data_file(given.data, f"{name}.jsonl.xz"))
        found = measure(name, versions, timed=not given.no_times, preset=given.preset)
        rows.append(found.row)
        reasons[name] = dict(found.reasons.most_common())
    table = [
        {"reason for a miss": reason, **{name: counted.get(reason, 0) for name, counted in reasons.items()}}
        for reason in sorted({reason for counted in reasons.values() for reason in counted})
    ]
    report("Versions of one document", rows, None)
    report("Reasons for the misses, neighbouring versions", table or [{"reason for a miss": "none"}], None)
    if given.json:
        report("Versions of one document", rows, given.json, {"reasons": reasons})
    return 0


def measure(name: str, rows: Sequence[Row], *, timed: bool = True, preset: str = "balanced") -> Found:
    """Scan a set and look at the groups of two or more versions."""
    rows = list({row["id"]: row for row in rows}.values())  # equal texts have one id in these sets
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    several = [sorted(group, key=_age) for group in groups.values() if len(group) > 1]
    expect(bool(several), f"{name} has no group of two versions")
    neighbours = [(left["id"], right["id"]) for group in several for left, right in pairwise(group)]
    settings = Settings.model_validate({"decision": {"preset": preset}})
    scanned = scan([page_of(row if timed else {**row, "time": None}) for row in rows], settings)
    with scanned.dedup as dedup:
        cluster_of = {
            page: cluster.id
            for cluster in dedup.clusters()
            for page in (cluster.canonical, *(each.page_id for each in cluster.members))
        }
        candidates = candidate_rows(scanned)
    expect(len(cluster_of) == len({row["id"] for row in rows}), "pages without a cluster")
    rules = rules_of(scanned, neighbours, preset_thresholds(preset))
    group_of = {row["id"]: row["group"] for row in rows}
    mixed = Counter(
        len({group_of[page] for page in pages}) > 1
        for pages in _members(cluster_of).values()
        if len(pages) > 1
    )
    reasons = Counter(
        "accepted, but no candidate" if rule == 0 else REASONS[rule]
        for pair, rule in zip(neighbours, rules, strict=True)
        if rule or not _is_candidate(pair, candidates, scanned)
    )
    related = sum(rule == 0 for rule in rules)
    together = sum(cluster_of[left] == cluster_of[right] for left, right in neighbours)
    whole = sum(len({cluster_of[row["id"]] for row in group}) == 1 for group in several)
    return Found(
        {
            "set": name,
            "pages": len(rows),
            "groups of 2+": len(several),
            "whole groups": share(whole, len(several)),
            "neighbours": len(neighbours),
            "related": share(related, len(neighbours)),
            "in one cluster": share(together, len(neighbours)),
            "clusters of 2+": mixed.total(),
            "with other groups": mixed[True],
        },
        reasons,
    )


def rules_of(scanned: Scanned, pairs: Sequence[tuple[str, str]], thresholds: Thresholds) -> list[int]:
    """The decision rules' rule for each pair, 0 where it accepts."""
    pages, rules = scanned.corpus.pages, []
    for start in range(0, len(pairs), BLOCK):
        left, right = scanned.rows(pairs[start : start + BLOCK])
        rules += compare(
            PagePairs(pages, left, pages, right), scanned.statistics, Settings(), thresholds
        ).decisions.rule.tolist()
    return rules


def candidate_rows(scanned: Scanned) -> set[tuple[int, int]]:
    """Rows of the candidate pairs of a scan."""
    found = joined(scanned)
    return set(zip(found.left.tolist(), found.right.tolist(), strict=True))


def _is_candidate(pair: tuple[str, str], candidates: set[tuple[int, int]], scanned: Scanned) -> bool:
    left, right = sorted(scanned.row[name] for name in pair)
    return (left, right) in candidates


def _members(cluster_of: dict[str, str]) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for page, cluster in cluster_of.items():
        members.setdefault(cluster, []).append(page)
    return members


def _age(row: Row) -> tuple[list[int], str]:
    """Versions in order: the numbers of the release or date; names without numbers (the newest) come last."""
    numbers = [int(each) for each in re.findall(r"\d+", str(row.get("time") or ""))]
    return (numbers or [9_999], row["id"])


if __name__ == "__main__":
    sys.exit(main())
