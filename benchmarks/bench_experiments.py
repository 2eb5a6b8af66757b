"""What do the experiments of the source documents give on our data, next to the published figures?

One experiment a run. Precision and recall are over the labelled pairs of each set: of ``dup`` and ``contain`` pairs those that a
method finds as candidates and accepts, and of all it accepts (``partial`` pairs left out) those; precision depends on the share of ``diff``
pairs in the labels. Times are processor time of one core unless a column says otherwise, the best of several rounds in turns.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import experiments_ccdet
import experiments_others
from harness import parser_of, report
from labelled import GROUPED, LABELLED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from paper_experiments import Given, Table

EXPERIMENTS: Final[Mapping[str, Callable[[Given], Table]]] = {
    "ccdet-accuracy": experiments_ccdet.accuracy,
    "ccdet-stoplists": experiments_ccdet.stop_lists,
    "ccdet-pruning": experiments_ccdet.pruning,
    "ccdet-times": experiments_ccdet.times,
    "ccdet-nodes": experiments_ccdet.nodes,
    "dwdcs-1": experiments_others.correctness,
    "dwdcs-2": experiments_others.networks,
    "dwdcs-3": experiments_others.key_concepts,
    "dwdcs-4": experiments_others.hubs,
    "multi-simhash": experiments_others.multi_simhash,
    "char-frequency": experiments_others.tree,
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
