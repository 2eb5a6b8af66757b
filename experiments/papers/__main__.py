"""What do the experiments of the source documents give on our data, next to the published figures?

One experiment a run. Precision and recall are over the labelled pairs of each set: of ``dup`` and ``contain`` pairs those that a
method finds as candidates and accepts, and of all it accepts (``partial`` pairs left out) those; precision depends on the share of ``diff``
pairs in the labels. Times are processor time of one core unless a column says otherwise, the best of several rounds in turns.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from harness import parser_of, report
from labelled import GROUPED, LABELLED

from experiments.papers import ccdet, others

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from experiments.papers.runs import Given, Table

EXPERIMENTS: Final[Mapping[str, Callable[[Given], Table]]] = {
    "ccdet-accuracy": ccdet.accuracy,
    "ccdet-stoplists": ccdet.stop_lists,
    "ccdet-pruning": ccdet.pruning,
    "ccdet-times": ccdet.times,
    "ccdet-nodes": ccdet.nodes,
    "dwdcs-1": others.correctness,
    "dwdcs-2": others.networks,
    "dwdcs-3": others.key_concepts,
    "dwdcs-4": others.hubs,
    "multi-simhash": others.multi_simhash,
    "char-frequency": others.tree,
}


SETS: Final = (*LABELLED, *GROUPED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one experiment."""
    parser = parser_of(__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--pages", type=int, default=None, help="pages of an experiment on times")
    parser.add_argument("--rounds", type=int, default=3)
    given: Any = parser.parse_args(arguments)
    before = os.getloadavg()[0]
    table = EXPERIMENTS[given.experiment](given)
    load = f"{before:.2f} before, {os.getloadavg()[0]:.2f} after, {os.cpu_count()} cores"
    notes = {"published": table.published, **table.notes, "load": load}
    report(f"{given.experiment}: {table.title}", table.rows, given.json, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
