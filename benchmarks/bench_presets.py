"""How good is the decision rules under each preset? Recall, different pairs accepted and relations on every labelled set.

Each cell: share of duplicate and containing pairs accepted / different pairs accepted / share of pairs with the reader's
relation, where pairs that share only a passage should be different. The last rows are the same before anything is known
of the corpus. ``--confusion`` prints which relations are taken for which, of the chosen preset; ``--errors`` each duplicate or
containing pair that is missed and each different pair that is accepted, with what the decision rules saw. ``--removing`` compares
the presets that may be the default of what removes pages: precision, recall and F1 on every labelled set, and on every set with a
template the distinct rows that are lost and the planted copies that are found.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from harness import Row, data_folder, expect, parser_of, report
from labelled import GRADED, GROUPED, LABELLED, READ, TEXT_ONLY, pair_sets, read_sets
from measured_pairs import measured, shown

from es_dedup import Settings
from es_dedup.decision.rules import REASONS
from es_dedup.decision.thresholds import PRESETS, preset_thresholds
from es_dedup.evaluation import Label
from scripts.template_sets import template_sets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from measured_pairs import Measured

    from es_dedup.decision.thresholds import Thresholds

REMOVING: Final = ("balanced", "strict")
GRADED_SETS: Final = ("judged-en", "judged-gov")
"""Sets whose labels are grades; pairs of grade 1 look alike in part and are left out."""
REMOVING_SETS: Final = (
    *(f"{name}{GRADED}" if name in GRADED_SETS else name for name in (*LABELLED, *GROUPED)),
    *(f"{name}{TEXT_ONLY}" for name in LABELLED if name not in GRADED_SETS),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", default=(*LABELLED, *GROUPED), choices=(*LABELLED, *GROUPED))
    parser.add_argument("--no-read", action="store_true", help="without the pairs read for this project")
    parser.add_argument("--confusion", choices=tuple(PRESETS), help="print its relations beside the readers'")
    parser.add_argument("--errors", choices=tuple(PRESETS), help="print what it misses and merges wrongly")
    parser.add_argument(
        "--removing", action="store_true", help=f"compare {' and '.join(REMOVING)} for what removes"
    )
    given = parser.parse_args(arguments)
    if given.removing:
        pairs = all_measured(given.data, REMOVING_SETS, read=not given.no_read)
        report("Precision / recall / F1", [accepted(each) for each in pairs], given.json)
        rows = lost_and_found(data_folder(given.data))
        report("Distinct rows lost / planted copies found", rows, None)
        return 0
    found = all_measured(given.data, given.sets, read=not given.no_read)
    if given.confusion:
        rows = [row for each in found for row in confusion(each, given.confusion)]
        report(f"Relations of {given.confusion} beside the readers'", rows, given.json)
        return 0
    if given.errors:
        rows = [row for each in found for row in errors(each, preset_thresholds(given.errors))]
        report(f"Errors of {given.errors}", rows or [{"set": "none"}], given.json)
        return 0
    rows = []
    for each in found:
        row: Row = {"set": each.name} | {name: shown(each.score(preset_thresholds(name))) for name in PRESETS}
        row["balanced, nothing learned"] = shown(
            each.score(preset_thresholds("balanced"), known=each.by_nothing)
        )
        scores = each.score(preset_thresholds("balanced"))
        row["partial accepted"] = f"{scores.partial} of {scores.partial_of}"
        strict = each.score(preset_thresholds("strict"))
        expect(strict.merged <= scores.merged, f"{each.name}: strict merges more than balanced")
        rows.append(row)
    report("Recall / different pairs accepted / relations", rows, given.json)
    return 0


def all_measured(folder: Path | None, names: Sequence[str], *, read: bool) -> list[Measured]:
    """The labelled sets, and the pairs that were read for this project."""
    return measured([*pair_sets(folder, names), *(read_sets(folder, READ) if read else ())])


def accepted(each: Measured) -> Row:
    """Precision, recall and F1 of a labelled set under the presets compared for what removes."""
    scores = {name: each.score(preset_thresholds(name)) for name in REMOVING}
    return {"set": each.name} | {
        name: " / ".join(
            "–" if figure is None else f"{figure:.3f}" for figure in (score.precision, score.recall, score.f1)
        )
        for name, score in scores.items()
    }


def lost_and_found(folder: Path) -> list[Row]:
    """One row for each set with a template."""
    rows = []
    for made in template_sets(folder):
        row: Row = {"set": made.name, "rows": len(made.rows), "copies": len(made.copies)}
        for name in REMOVING:
            lost, found = made.lost_and_found(Settings(decision={"preset": name}))
            row[name] = f"{lost} / {found}"
        rows.append(row)
    return rows


def errors(each: Measured, thresholds: Thresholds) -> list[Row]:
    """One row for each pair that is missed or merged wrongly."""
    (measures, _), names = each.known, each.pages.ids
    decisions = each.decided(thresholds)
    wrong = [
        pair
        for pair, (label, rule) in enumerate(zip(each.labels.tolist(), decisions.rule.tolist(), strict=True))
        if label != Label.PARTIAL and (rule == 0) != (label in (Label.DUP, Label.CONTAIN))
    ]
    return [
        {
            "set": each.name,
            "pair": f"{names[each.left[pair]]} {names[each.right[pair]]}",
            "read as": str(each.labels[pair]),
            "rule": REASONS[decisions.rule[pair]],
            "covers": f"{decisions.facts.left_cover[pair]:.2f} {decisions.facts.right_cover[pair]:.2f}",
            "needed": round(float(decisions.facts.min_cover[pair]), 2),
            "units": round(float(measures.shared_tokens[pair])),
            "titles": round(float(measures.title_overlap[pair]), 2),
            "about": round(float(decisions.facts.about_title[pair]), 2),
            "distinguishing": round(float(decisions.facts.distinguishing[pair]), 2),
            "other numbers": f"{measures.left.lost_numbers[pair]} {measures.right.lost_numbers[pair]}",
        }
        for pair in wrong
    ]


def confusion(each: Measured, preset: str) -> list[Row]:
    """One row for each label of readers."""
    table = each.score(preset_thresholds(preset)).table
    rows = []
    for label in Label:
        said = {str(other): table[label, other] for other in (Label.DUP, Label.CONTAIN, Label.DIFF)}
        if sum(said.values()):
            rows.append({"set": each.name, "read as": str(label)} | said)
    return rows


if __name__ == "__main__":
    sys.exit(main())
