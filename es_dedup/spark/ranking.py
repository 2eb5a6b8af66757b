"""Canonical order of all pages, and what is learned of them."""

from __future__ import annotations

from dataclasses import replace
from math import isqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.learning import learn
from es_dedup.clustering.order import PageKey, sort_key
from es_dedup.decision.statistics import LEARN_PAGES, Statistics
from es_dedup.detectors.features import unpack
from es_dedup.spark import tables
from es_dedup.spark.batches import batch_of, mapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, Row

    from es_dedup.settings import Settings
    from es_dedup.settings.loading import ClusterConfig

KEY_COLUMNS: Final = ("page_id", "published", "site", "url", "length")
SIGN: Final = -(2**63)  # with it exclusive-or, signed numbers are in the order of unsigned ones
# so many standard deviations more than the pages wanted are below the limit of place keys
DEVIATIONS: Final = 10


class DuplicateIds(ValueError):
    """A page id occurs twice."""


def processed(features: DataFrame) -> DataFrame:
    """Rows of pages that could be processed."""
    return features.where(F.col("failed") == "")


def ranks(pages: DataFrame, settings: Settings) -> DataFrame:
    """Place of each page in canonical order, from 0: ``tables.RANKS``; kept, because several joins read it.

    Raises:
        DuplicateIds: a page id occurs twice.
    """
    keyed = mapped(pages.select(*KEY_COLUMNS), _order, tables.ORDER, settings.cluster)
    # UTF-8 bytes are in the order of code points, so Spark orders ids as Python does
    ordered = keyed.orderBy("favour", "measure", "shortness", "page_id").select("page_id")
    numbered = ordered.rdd.zipWithIndex().map(lambda pair: (pair[0][0], pair[1]))
    made = pages.sparkSession.createDataFrame(numbered, tables.RANKS, verifySchema=False).persist()
    twice = made.groupBy("page_id").count().where("count > 1").limit(3).collect()
    if twice:
        names = ", ".join(repr(row.page_id) for row in twice)
        raise DuplicateIds(
            f"page ids occur twice, as {names}: keep one row of each id before the features are made"
        )
    return made


def learned(pages: DataFrame, settings: Settings) -> Statistics:
    """Statistics from the pages that a scan learns from, collected at the driver: at most ``LEARN_PAGES``."""
    total = pages.count()
    rows = smallest_places(pages.select("page_id", "published", "site", "place_key", "payload"), total)
    keys = [PageKey(row.page_id, row.published, row.site) for row in rows]
    table = unpack([bytes(row.payload) for row in rows])
    return replace(learn(corpus_of(keys, table), settings.ccdet), pages=total)


def smallest_places(pages: DataFrame, total: int, count: int = LEARN_PAGES) -> list[Row]:
    """Rows with the smallest place keys, in their order, collected at the driver.

    Ordered by Spark, each partition would send ``count`` rows, which are too many for the driver where there are many partitions. Place
    keys are hashes, so it is known below which limit the rows are; where that was wrong, all are looked at.

    Args:
        pages: with ``place_key`` and ``page_id``.
        total: so many rows it has.
        count: so many are wanted.
    """
    order = F.col("place_key").bitwiseXOR(F.lit(SIGN))
    expected = count + DEVIATIONS * isqrt(count)
    limit = min(expected * 2**64 // max(total, 1), 2**64 - 1)
    for some in (pages.where(order <= F.lit(limit + SIGN)), pages):
        rows: list[Row] = some.orderBy(order, "page_id").limit(count).collect()
        if len(rows) == min(total, count):
            break
    return rows


def keys_of(batch: pa.RecordBatch) -> list[PageKey]:
    """Sort keys of the canonical order, of rows with ``KEY_COLUMNS``."""
    return [PageKey(**row) for row in batch.select(list(KEY_COLUMNS)).to_pylist()]


def _order(config: ClusterConfig, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    place = sort_key(config)
    for batch in batches:
        found = [place(key) for key in keys_of(batch)]
        order = np.array([each[:3] for each in found], dtype=np.int64).reshape(-1, 3)
        yield batch_of(
            page_id=[each[3] for each in found],
            favour=order[:, 0],
            measure=order[:, 1],
            shortness=order[:, 2],
        )
