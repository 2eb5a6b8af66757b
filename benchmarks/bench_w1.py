"""How fast, and how many of the similar pairs are found, on random documents with edited copies (W1)?

``add_many``, the first call of its process, which loads what later calls find loaded, then ``add_many`` and ``scan``, each
into a new file; recall and precision of the pairs of each cluster against the pairs of exact Jaccard similarity 0.8 or
more, Chinese and English apart. A pair below 0.8 is no error by itself: es-dedup has its own idea of a duplicate, and a
copy with a fifth of its words changed is one for most readers.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness import Row, cpu_seconds, expect, parser_of, report, share
from w1 import documents, truth

from es_dedup import Deduplicator, Page

if TYPE_CHECKING:
    from collections.abc import Sequence

GOALS: Final = {"pages/s": 5_000, "recall": 0.995, "gap between the languages": 0.005}
LEAST_RECALL: Final = 0.9  # below, the times are of no interest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--bases", type=int, default=10_000, help="documents before copies")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    made = documents(given.bases, given.seed)
    pages = [Page(id=each.id, text=each.text) for each in made]
    language = {each.id: each.language for each in made}
    family = {each.id: each.family for each in made}
    similar = truth(made)
    rows: list[Row] = []
    for start, call in (("first", "add_many"), ("later", "add_many"), ("later", "scan")):
        with tempfile.TemporaryDirectory() as folder, Deduplicator.open(Path(folder) / "w1.db") as dedup:
            begun, cpu = time.perf_counter(), cpu_seconds()
            found = getattr(dedup, call)(pages)
            seconds, cpu = time.perf_counter() - begun, cpu_seconds() - cpu
            expect(found.stored == len(pages), "not every document was stored")
            pairs = clustered(dedup)
        for name, wanted in similar.items():
            ours = {pair for pair in pairs if language[pair[0]] == name}
            expect(
                len(ours & wanted) >= LEAST_RECALL * len(wanted),
                f"{call}: too few similar {name} pairs found",
            )
            rows.append(
                {
                    "call": f"{start} {call}",
                    "language": name,
                    "documents": sum(each == name for each in language.values()),
                    "similar pairs": len(wanted),
                    "recall": share(len(ours & wanted), len(wanted)),
                    "precision": share(len(ours & wanted), len(ours)),
                    "of one base": share(sum(family[a] == family[b] for a, b in ours), len(ours)),
                    "pages/s, both": round(len(pages) / seconds),
                    "CPU s, both": round(cpu, 2),
                }
            )
    report(f"W1, {len(pages):,} documents", rows, given.json, {"goals": GOALS})
    return 0


def clustered(dedup: Deduplicator) -> set[tuple[str, str]]:
    """All pairs within a cluster, ids in order."""
    return {
        pair
        for cluster in dedup.clusters(min_size=2)
        for pair in combinations(sorted((cluster.canonical, *(each.page_id for each in cluster.members))), 2)
    }


if __name__ == "__main__":
    sys.exit(main())
