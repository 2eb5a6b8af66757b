"""How good is the judge under each preset? Recall, different pairs accepted and relations on every labelled set.

Each cell: share of duplicate and containing pairs accepted / different pairs accepted / share of pairs with the reader's
relation, where pairs that share only a passage should be different. The last rows are the same before anything is known
of the corpus. ``--confusion`` prints which relations are taken for which, of the chosen preset.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from harness import Row, expect, parser_of, report
from judged import measured, shown
from labelled import GROUPED, LABELLED, READ, pair_sets, read_sets

from es_dedup.evaluation import Label
from es_dedup.judgement.limits import PRESETS, limits_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from judged import Measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", default=(*LABELLED, *GROUPED), choices=(*LABELLED, *GROUPED))
    parser.add_argument("--no-read", action="store_true", help="without the pairs read for this project")
    parser.add_argument("--confusion", choices=tuple(PRESETS), help="print its relations beside the readers'")
    given = parser.parse_args(arguments)
    found = all_measured(given.data, given.sets, read=not given.no_read)
    if given.confusion:
        rows = [row for each in found for row in confusion(each, given.confusion)]
        report(f"Relations of {given.confusion} beside the readers'", rows, given.json)
        return 0
    rows = []
    for each in found:
        row: Row = {"set": each.name} | {name: shown(each.score(limits_of(name))) for name in PRESETS}
        row["balanced, nothing learned"] = shown(each.score(limits_of("balanced"), learned=False))
        scores = each.score(limits_of("balanced"))
        row["partial accepted"] = f"{scores.partial} of {scores.partial_of}"
        strict = each.score(limits_of("strict"))
        expect(strict.merged <= scores.merged, f"{each.name}: strict merges more than balanced")
        rows.append(row)
    report("Recall / different pairs accepted / relations", rows, given.json)
    return 0


def all_measured(folder: Path | None, names: Sequence[str], *, read: bool) -> list[Measured]:
    """The labelled sets, and the pairs that were read for this project."""
    return measured([*pair_sets(folder, names), *(read_sets(folder, READ) if read else ())])


def confusion(each: Measured, preset: str) -> list[Row]:
    """One row for each label of readers."""
    table = each.score(limits_of(preset)).table
    rows = []
    for label in Label:
        said = {str(other): table[label, other] for other in (Label.DUP, Label.CONTAIN, Label.DIFF)}
        if sum(said.values()):
            rows.append({"set": each.name, "read as": str(label)} | said)
    return rows


if __name__ == "__main__":
    sys.exit(main())
