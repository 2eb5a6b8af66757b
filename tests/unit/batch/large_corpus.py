"""``python -m tests.unit.batch.large_corpus ROWS``: a run in files over so many small pages, and the memory that it takes, as JSON."""

import json
import resource
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np

from es_dedup.batch.corpus import Corpus
from es_dedup.batch.whole_corpus import MOST, recluster_corpus
from es_dedup.clustering.order import PageKey
from es_dedup.detectors.features import FeatureTable, featurise, pack
from es_dedup.settings import Settings

PART: Final = 1_000
CHARS: Final = 40
COPIES: Final = 4  # pages of one text, but for one character each
SETTINGS: Final = Settings(workers=2)


class Sink:
    """An index that has no clusters yet, and counts what is written to it."""

    written = 0

    def replace_all(self, edges: Iterable[object], assignments: Iterable[object]) -> None:
        """Count both."""
        self.written = sum(1 for _ in edges) + sum(1 for _ in assignments)

    def assignments(self, _: object) -> dict[str, Any]:
        """None."""
        return {}

    def note(self, _: str) -> None:
        """None."""

    def set_note(self, *_: object) -> None:
        """Forget it."""

    def save_statistics(self, *_: object) -> None:
        """Forget them."""


def parts(rows: int) -> Iterator[tuple[list[PageKey], FeatureTable, list[bytes]]]:
    """Pages of random characters, by id."""
    source = np.random.default_rng(3)
    for first in range(0, rows, PART):
        codes = source.integers(0x4E00, 0x9000, size=(PART // COPIES, CHARS)).repeat(COPIES, axis=0)
        codes[np.arange(PART), source.integers(CHARS, size=PART)] = ord("。")
        table = featurise(["".join(map(chr, row)) for row in codes.tolist()], [""] * PART, SETTINGS)
        keys = [
            PageKey(f"page-{first + at:09}", site=f"s{at % 50}.example", length=CHARS) for at in range(PART)
        ]
        yield keys, table, pack(table)


def peak() -> int:
    """Bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run(rows: int) -> dict[str, int]:
    """Cluster so many pages; peaks before and after, and related pairs."""
    before = peak()
    sink: Any = Sink()
    with tempfile.TemporaryDirectory() as folder, closing(Corpus(parts(rows), Path(folder), MOST)) as corpus:
        read = peak()
        done = recluster_corpus(sink, corpus, SETTINGS)
    return {
        "before": before,
        "read": read,
        "peak": peak(),
        "related": len(done.pairs.left),
        "written": sink.written,
    }


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]))))
