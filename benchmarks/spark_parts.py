"""What parts of a run on Spark take at most, without Spark: statistics and components at the driver, a heavy term in a worker."""

from __future__ import annotations

import multiprocessing
import resource
import time
from typing import TYPE_CHECKING, Final

import numpy as np
from harness import Row, expect
from w1 import documents

from es_dedup import Page
from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.featurise import FeatureMaker
from es_dedup.batch.learning import learn
from es_dedup.clustering.order import PageKey
from es_dedup.detectors.features import unpack
from es_dedup.settings import Settings
from es_dedup.text.ragged import components

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyarrow import RecordBatch

SIZES: Final = {
    "statistics of pages": 100_000,
    "components of pairs": 1_000_000,
    "one term of pages": 2_000_000,
}
BASES: Final = 3_450  # of W1: about 4,870 pages, repeated
CHUNK: Final = 256
BATCH: Final = 10_000


def parts(scale: float) -> list[Row]:
    """Size, seconds of processor time and MiB that each part adds at its peak; each in a process of its own.

    Args:
        scale: of the sizes; 1.0: the limits at the driver, and a term of 2,000,000 pages.
    """
    context = multiprocessing.get_context("spawn")
    rows: list[Row] = []
    for name, size in SIZES.items():
        with context.Pool(1) as pool:
            rows.append(pool.apply(_measured, (name, max(64, round(size * scale)))))
    return rows


def _measured(name: str, size: int) -> Row:
    work = {"statistics of pages": _learn, "components of pairs": _join, "one term of pages": _heavy}[name](
        size
    )
    before, began = _peak_mib(), time.process_time()
    made = work()
    seconds = time.process_time() - began
    return {
        "part": name,
        "size": size,
        "processor s": round(seconds, 1),
        "MiB": round(_peak_mib() - before),
        "makes": made,
    }


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _learn(pages: int) -> Callable[[], str]:
    settings = Settings(workers=1)
    some = documents(min(BASES, pages), 7)
    payloads: list[bytes] = []
    for start in range(0, len(some), CHUNK):
        chunk = [Page(each.id, text=each.text) for each in some[start : start + CHUNK]]
        payloads += FeatureMaker(settings).chunk(chunk).records.payloads

    def work() -> str:
        collected = [
            bytes(bytearray(payloads[row % len(payloads)])) for row in range(pages)
        ]  # no two are one object
        keys = [PageKey(str(row)) for row in range(pages)]
        learned = learn(corpus_of(keys, unpack(collected)), settings.ccdet).to_bytes()
        return f"{len(learned):,} bytes"

    return work


def _join(pairs: int) -> Callable[[], str]:
    def work() -> str:
        edges = [
            (f"pages-2026-11/{row:020d}", f"pages-2026-11/{row // 2 * 2 + pairs:020d}")
            for row in range(pairs)
        ]
        names = sorted({name for edge in edges for name in edge})
        place = {name: at for at, name in enumerate(names)}
        left, right = (np.array([place[edge[side]] for edge in edges]) for side in (0, 1))
        return f"{len(np.unique(components(len(names), left, right))):,} components"

    return work


def _heavy(pages: int) -> Callable[[], str]:
    from es_dedup.spark.batches import batch_of  # noqa: PLC0415 - of an extra
    from es_dedup.spark.candidates import _hits  # noqa: PLC0415

    def batch(start: int) -> RecordBatch:
        ranks = np.arange(start, min(start + BATCH, pages))
        count, yes = len(ranks), np.ones(len(ranks), dtype=bool)
        zeros = np.zeros(count, dtype=np.int8)
        return batch_of(
            method=zeros,
            term=np.full(count, 7, dtype=np.int64),
            rank=ranks,
            queried=yes,
            stored=yes,
            fresh=yes,
            fact=np.zeros(len(yes), dtype=np.int64),
        )

    def work() -> str:
        counted = sum(each.num_rows for each in _hits(Settings(), map(batch, range(0, pages, BATCH))))
        expect(counted < 64 * pages, "more pages than 64 answer for a term")
        return f"{counted:,} counted pairs"

    return work
