"""What does each decision rule do? Every labelled set with all rules, and with one rule left out at a time.

Sets: the labelled ones, those with titles also as text only; the pairs read for this project; edited copies, with the
candidate pairs of a copy and a page that has nothing of its original as different ones; broadcast-zh, whose candidate
pairs of different days count as different (most are issues of a series; they have no labels), and news-en, whose unlabelled
candidate pairs count as different where the titles name other companies or the days are a week apart. A rule is left out of its
place in the order; the rules after it stay. Of a rule with alternatives each is left out, too. Features and measures of a set are
computed once. ``--write`` renews docs/benchmarks/rule-effects.md.
"""

from __future__ import annotations

import math
import random
import re
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from unittest import mock

import numpy as np
from bench_mutants import NOTHING, SETS, original_of, pages_of, with_copies
from harness import ROOT, Row, data_file, expect, page_of, parser_of, ran_on, report, rows_of
from labelled import GRADED, READ, TEXT_ONLY, joined, pair_sets, read_sets, scan, text_only
from measured_pairs import measured, measured_rows, shown

from es_dedup.decision import pair_facts, rules
from es_dedup.decision.comparison import BLOCK
from es_dedup.decision.match_rules import RULES
from es_dedup.decision.statistics import Statistics
from es_dedup.decision.thresholds import PRESETS, preset_thresholds
from es_dedup.detectors.coverage_pairs import measure
from es_dedup.evaluation import Label

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from labelled import Scanned
    from measured_pairs import Measured, Score
    from numpy.typing import NDArray

    from es_dedup.decision.thresholds import Thresholds

    Rows = NDArray[np.int64]

PAGE: Final = ROOT / "docs" / "benchmarks" / "rule-effects.md"
BROADCAST: Final = "broadcast-zh"
FORMS: Final = "news-en, other issues"
PAIR_SETS: Final = (
    *("portal-zh", "news-zh-2025", "edits-zh", "judged-en", "judged-gov", f"judged-gov{GRADED}", "news-en"),
    *(f"{name}{TEXT_ONLY}" for name in ("portal-zh", "news-zh-2025", "news-en")),
)
EDITED: Final = tuple(f"{name}, edited copies" for name in SETS)
ALL_SETS: Final = (
    *PAIR_SETS,
    *EDITED,
    *(f"{name}{form}" for name in (FORMS, BROADCAST) for form in ("", TEXT_ONLY)),
)
LEARNED: Final = (
    "statistics of the corpus",
    "forms told from edited copies",
    "required coverage that grows with the days",
)
ALTERNATIVE: Final = ", alternative "
COMPANY: Final = re.compile(r"<([A-Z.]+)>")
WEEK: Final = 7
LEAST_COVER: Final = 0.40  # of the better covered page of pairs without labels: no preset accepts below
PAGE_COMMAND: Final = "benchmarks/bench_rules.py --write"
SETS_IN_WORDS: Final = """\
F1 and *different*, the number of different pairs accepted, on the [labelled sets](decision-rules.md#the-labelled-sets) and on others:

- *Text only*: without titles and times. *But for grade 1*: without pairs that are alike in form.
- *Edited copies*: copies edited by a program, and the pairs of a copy with a page that has nothing of its original, if at least 0.40 of one page is covered.
- *broadcast-zh* has no labels: its pairs of different days with that coverage count as different, since most are issues of a series.
- *Other issues*: unlabelled pairs of news-en with that coverage whose titles name other companies (`<TICKER>`) or whose days are a week or more apart."""
EFFECTS_IN_WORDS: Final = """\
*Worse* and *better* count the sets on which F1 falls or rises if only this rule is left out; on sets of different pairs alone, those on which more or fewer are
accepted. A pair that two rules reject shows in neither row. The command also prints the effect of each alternative of a rule."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A set with all rules and with one left out."""

    name: str
    every: Score
    fewer: Score

    @property
    def gain(self) -> float:
        """What leaving the rule out changes: of F1, or less of accepted pairs where a set has only different ones."""
        if self.every.f1 is None or self.fewer.f1 is None:
            return (self.every.merged - self.fewer.merged) / max(self.every.merged_of, 1)
        return self.fewer.f1 - self.every.f1

    def changes(self) -> Row:
        """F1 and accepted pairs of different articles where they differ, before and after."""
        figures = (
            ("F1", _figure(self.every.f1), _figure(self.fewer.f1)),
            ("different", f"{self.every.merged:,}", f"{self.fewer.merged:,}"),
        )
        return {name: f"{before} → {after}" for name, before, after in figures if before != after}

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(f'{name} {change}' for name, change in self.changes().items())}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", default=ALL_SETS, choices=ALL_SETS)
    parser.add_argument("--no-read", action="store_true", help="without the pairs read for this project")
    parser.add_argument("--items", type=int, default=20_000, help="first items of broadcast-zh")
    parser.add_argument("--originals", type=int, default=400, help="pages of a set that are edited")
    parser.add_argument("--preset", default="balanced", choices=tuple(PRESETS))
    parser.add_argument("--write", action="store_true", help=f"renew {PAGE.relative_to(ROOT)}")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    sets = list(
        sets_of(given.data, given.sets, items=given.items, originals=given.originals, read=not given.no_read)
    )
    preset = preset_thresholds(given.preset)
    every = {each.name: each.score(preset) for each in sets}
    effects = {
        name: [Effect(each.name, every[each.name], score) for each, score in zip(sets, scores, strict=True)]
        for name, scores in variants(sets, preset)
    }
    for left_out, shown_by in effects.items():
        fewer = [each.name for each in shown_by if each.fewer.merged < each.every.merged]
        expect(
            left_out in LEARNED or not fewer,
            f"without {left_out!r} fewer different pairs are accepted in {fewer}",
        )
    rows: list[Row] = [
        {"left out": "", "set": name}
        | {"F1": _figure(score.f1), "recall / different / relations": shown(score)}
        for name, score in every.items()
    ]
    rows += [
        {"left out": name, "set": each.name} | changes
        for name, found in effects.items()
        for each in found
        if (changes := each.changes())
    ]
    minutes = (time.monotonic() - began) / 60
    notes = {name: f"{_same(score):,} same, {score.merged_of:,} different" for name, score in every.items()}
    report("Effect of leaving out each rule", rows, given.json, notes | {"minutes": round(minutes, 1)})
    if given.write:
        PAGE.write_text(page(effects, given.preset, minutes), encoding="utf-8")
    return 0


def sets_of(
    folder: Path | None, names: Sequence[str], *, items: int, originals: int, read: bool
) -> Iterator[Measured]:
    """The sets with their measures."""
    yield from measured(pair_sets(folder, [name for name in names if name in PAIR_SETS]))
    yield from measured(read_sets(folder, READ) if read else ())
    for name in names:
        if name in EDITED:
            yield edited_copies(folder, name.removesuffix(", edited copies"), items // 4, originals)
        elif name.removesuffix(TEXT_ONLY) == FORMS:
            yield other_issues(folder, name)
        elif name.removesuffix(TEXT_ONLY) == BROADCAST and items:
            yield days_apart(folder, name, items)


def variants(sets: Sequence[Measured], preset: Thresholds) -> Iterator[tuple[str, list[Score]]]:
    """Name of each variant, and the score of each set."""
    yield LEARNED[0], [each.score(preset, known=each.by_nothing) for each in sets]
    yield LEARNED[1], [each.score(preset, known=each.without_forms) for each in sets]
    with mock.patch.object(pair_facts, "LATE_LOG_DAYS", math.inf):
        yield LEARNED[2], [each.score(preset) for each in sets]
    for at, rule in enumerate(RULES):
        fewer = replace(preset, without=preset.without | {rule.name})
        yield rule.name, [each.score(fewer) for each in sets]
        for number in range(len(rule.rejects_if) if len(rule.rejects_if) > 1 else 0):
            alternatives = rule.rejects_if[:number] + rule.rejects_if[number + 1 :]
            changed = (*RULES[:at], replace(rule, rejects_if=alternatives), *RULES[at + 1 :])
            with mock.patch.object(rules, "RULES", changed):
                yield f"{rule.name}{ALTERNATIVE}{number + 1}", [each.score(preset) for each in sets]


def edited_copies(folder: Path | None, name: str, items: int, originals: int) -> Measured:
    """Copies and their originals as duplicates; with pages that have nothing of their original as different pages."""
    pages, others = (pages_of(folder, each, items) for each in (name, SETS[name]))
    edited = with_copies(pages, others, originals, 2, random.Random(1))
    scanned = scan(edited.pages)
    with scanned.dedup:
        originals_of, copies = scanned.rows((original_of(copy), copy) for copy in edited.mutants)
        found = joined(scanned)
        ids = scanned.corpus.pages.ids
        original = np.array([scanned.row[original_of(each)] for each in ids])
        copied = np.array([each in edited.mutants for each in ids])
        left, right = found.left, found.right
        keep = (copied[left] | copied[right]) & (original[left] != original[right])
        left, right = left[keep], right[keep]
        keep = covers(scanned, left, right) >= LEAST_COVER
        left, right = left[keep], right[keep]
        keep = covers(scanned, original[left], original[right], weighted=False) < NOTHING
        left, right = left[keep], right[keep]
        labels = [Label.DUP] * len(copies) + [Label.DIFF] * len(left)
        left, right = np.concatenate((originals_of, left)), np.concatenate((copies, right))
        return measured_rows(f"{name}, edited copies", scanned, left, right, labels)


def days_apart(folder: Path | None, name: str, items: int) -> Measured:
    """Candidate pairs of different days, covered enough to come before the decision rules, as different pages."""
    pages = [page_of(row) for row in rows_of(data_file(folder, f"{BROADCAST}.jsonl.xz"), items)]
    days = {page.id: str(page.published)[:10] for page in pages}
    if name != BROADCAST:
        pages = [replace(page, title="", published=None) for page in pages]
    scanned = scan(pages)
    with scanned.dedup:
        day = np.array([days[each] for each in scanned.corpus.pages.ids])
        found = joined(scanned)
        apart = day[found.left] != day[found.right]
        left, right = found.left[apart], found.right[apart]
        keep = covers(scanned, left, right) >= LEAST_COVER
        return measured_rows(name, scanned, left[keep], right[keep], [Label.DIFF] * int(keep.sum()))


def other_issues(folder: Path | None, name: str) -> Measured:
    """Covered candidate pairs without labels that are of one form and two events: other companies, or a week between."""
    pairs = pair_sets(folder, ["news-en"])[0]
    scanned = scan(pairs.pages)
    with scanned.dedup:
        found = joined(scanned)
        keep = covers(scanned, found.left, found.right) >= LEAST_COVER
        left, right = found.left[keep], found.right[keep]
        pages = scanned.corpus.pages
        names = {page.id: set(COMPANY.findall(page.title or "")) for page in pairs.pages}
        titled = [names[each] for each in pages.ids]
        other = np.array(
            [
                bool(titled[a] and titled[b] and not titled[a] & titled[b])
                for a, b in zip(left, right, strict=True)
            ]
        )
        labelled = {frozenset(pair) for pair in pairs.labels}
        known = np.array(
            [frozenset((pages.ids[a], pages.ids[b])) in labelled for a, b in zip(left, right, strict=True)]
        )
        keep = (other | (np.abs(pages.days[left] - pages.days[right]) >= WEEK)) & ~known
        left, right = left[keep], right[keep]
        if name == FORMS:
            return measured_rows(name, scanned, left, right, [Label.DIFF] * len(left))
    ids = [(pages.ids[a], pages.ids[b]) for a, b in zip(left, right, strict=True)]
    scanned = scan(text_only(pairs).pages)
    with scanned.dedup:
        return measured_rows(name, scanned, *scanned.rows(ids), [Label.DIFF] * len(ids))


def covers(scanned: Scanned, left: Rows, right: Rows, *, weighted: bool = True) -> NDArray[np.float64]:
    """Coverage of the better covered page of each pair, a bounded number at a time; shape (pairs,)."""
    table = scanned.corpus.pages.table.coverage
    weights = (scanned.statistics if weighted else Statistics.empty()).weights(table)
    found = [np.zeros(0)]
    for at in range(0, len(left), BLOCK):
        some = slice(at, at + BLOCK)
        measures = measure(table, left[some], table, right[some], weights, weights)
        found.append(np.maximum(measures.left.cover, measures.right.cover))
    return np.concatenate(found)


def page(effects: dict[str, list[Effect]], preset: str, minutes: float) -> str:
    """The page of docs/benchmarks."""
    ran = ran_on()
    lines = [
        "# What does leaving out each rule change?",
        "",
        "<!-- Generated by the command below; do not edit. -->",
        "",
        "```sh",
        f".venv/bin/python {PAGE_COMMAND}",
        "```",
        "",
        (
            f"Generated by this command in {minutes:.1f} minutes ({ran['cores']} cores, {ran['date']}, es-dedup {ran['es_dedup']}, "
            f"preset `{preset}`)."
        ),
        "",
        SETS_IN_WORDS,
        "",
        EFFECTS_IN_WORDS,
        "",
        "| left out | worse | better | changes |",
        "|---|---|---|---|",
    ]
    for name, found in effects.items():
        if ALTERNATIVE in name:
            continue
        changes = "<br>".join(str(each) for each in found if each.changes()) or "–"
        worse, better = (sum(each.gain * sign > 0 for each in found) for sign in (-1, 1))
        lines.append(f"| {name} | {worse} | {better} | {changes} |")
    return "\n".join(lines) + "\n"


def _same(score: Score) -> int:
    return sum(count for (label, _), count in score.table.items() if label in (Label.DUP, Label.CONTAIN))


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main())
