"""Feature rows to related pairs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from es_dedup.decision.comparison import PagePairs, Pages, compare, days_of
from es_dedup.detectors.features import unpack
from es_dedup.spark import tables
from es_dedup.spark.candidates import candidates
from es_dedup.spark.feature_rows import checked
from es_dedup.spark.ranking import learned, processed, ranks

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from es_dedup.decision.statistics import Statistics
    from es_dedup.settings import Settings

BLOCK: Final = 4_096  # pairs compared at a time, about


def pairs(
    features: DataFrame,
    settings: Settings | None = None,
    *,
    known: DataFrame | None = None,
    statistics: Statistics | None = None,
) -> DataFrame:
    """Related pairs: ``tables.PAIRS``.

    Candidates are counted when this is called, statistics learned and pages ranked; comparing waits until the result is read.

    Args:
        features: as ``features`` makes it; read several times.
        settings: those the features were made with.
        known: features of further pages, of which the pairs among themselves are known and left out.
        statistics: of an earlier run; None: learned from all these pages.

    Raises:
        ConfigError: a method is enabled that Spark does not know.
        ValueError: a page id occurs twice.
    """
    chosen, pages = checked(settings), processed(features).withColumn("fresh", F.expr("true"))
    if known is not None:
        pages = pages.unionByName(processed(known).withColumn("fresh", F.expr("false")))
    rows = pages.join(ranks(pages, chosen), "page_id")
    context = features.sparkSession.sparkContext
    shared = context.broadcast(statistics or learned(pages, chosen))
    found = candidates(rows, chosen, shared).persist()
    blocks = max(1, -(-found.count() // BLOCK))
    # by the later page: it has few candidates before it, as few postings of a term answer
    placed = found.withColumn("block", F.pmod(F.xxhash64("right"), F.lit(blocks)))
    # a name of its own: Spark 4 takes the columns of two tables made of one for the same
    sides = [
        placed.select(F.col("block").alias("of"), F.col(side).alias("rank")) for side in ("left", "right")
    ]
    needed = sides[0].union(sides[1]).distinct()
    pages_of = needed.join(rows.select("rank", "page_id", "published", "payload"), "rank")
    grouped = placed.groupBy("block").cogroup(pages_of.groupBy("of"))
    return grouped.applyInPandas(partial(_related, chosen, shared), tables.PAIRS)


def _related(
    settings: Settings, statistics: Broadcast[Statistics], some: pd.DataFrame, known: pd.DataFrame
) -> pd.DataFrame:
    """Related pairs of a block; rows are in order of page ids, so the left page is that of the smaller id."""
    known = known.sort_values("page_id", ignore_index=True)
    days = days_of(known["published"])
    pages = Pages(known["page_id"].tolist(), unpack(known["payload"].tolist()), days)
    row_of = pd.Series(known.index.to_numpy(), index=known["rank"])
    one, other = (row_of.loc[some[side]].to_numpy(dtype=np.int64) for side in ("left", "right"))
    made = []
    for start in range(0, len(some), BLOCK):
        ours, theirs = one[start : start + BLOCK], other[start : start + BLOCK]
        left, right = np.minimum(ours, theirs), np.maximum(ours, theirs)
        compared = compare(PagePairs(pages, left, pages, right), statistics.value, settings)
        facts, kept = compared.decisions.facts, compared.decisions.rule == 0
        edges = compared.related_rows().edges(pages.ids, pages.ids)
        made.append(
            pd.DataFrame(
                {
                    "left": [edge.left for edge in edges],
                    "right": [edge.right for edge in edges],
                    "relation": [str(edge.relation) for edge in edges],
                    "score": [edge.score for edge in edges],
                    "left_cover": facts.left_cover[kept].round(4),
                    "right_cover": facts.right_cover[kept].round(4),
                }
            )
        )
    return pd.concat(made, ignore_index=True)
