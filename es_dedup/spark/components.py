"""Connected components: at the driver when there are few edges, else by large-star and small-star.

Source: Kiveris et al., "Connected Components in MapReduce and Beyond", SoCC 2014, section 4 (alternating algorithm).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from es_dedup.text import ragged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DRIVER_EDGES: Final = 1_000_000  # collected at the driver: 423 MiB, docs/benchmarks/spark.md
SCHEMA: Final = "page_id string, component string"


def components(edges: DataFrame, *, driver_edges: int = DRIVER_EDGES) -> DataFrame:
    """``page_id`` and ``component``, the least page id of its component, of every page with an edge.

    Args:
        edges: columns ``left`` and ``right``, two different page ids.
        driver_edges: the driver does up to so many.
    """
    if edges.count() <= driver_edges:
        return _at_driver(edges)
    return _alternating(edges)


def _at_driver(edges: DataFrame) -> DataFrame:
    rows = edges.select("left", "right").collect()
    names = sorted({name for row in rows for name in row})
    place = {name: at for at, name in enumerate(names)}
    left, right = (np.array([place[row[side]] for row in rows], dtype=np.int64) for side in (0, 1))
    labels = [names[row] for row in ragged.components(len(names), left, right).tolist()]
    made = pd.DataFrame({"page_id": names, "component": labels}, dtype=np.object_)
    return edges.sparkSession.createDataFrame(made, SCHEMA)


def _alternating(edges: DataFrame) -> DataFrame:
    """Each round hangs the pages of a star below the least page it knows; it ends when no edge changes.

    Edges are kept from the greater page id to the smaller. A large-star moves the greater neighbours of a page below its least neighbour, a
    small-star the smaller ones and the page itself. Rounds grow with the square of the logarithm of the pages at most.
    """
    known = _downwards(edges.select(F.col("left").alias("page"), F.col("right").alias("other")))
    before, after = None, _digest(known)
    while after != before:
        # its plan is cut here: it would grow with each round as a power of its size
        known = _small_star(_large_star(known)).localCheckpoint()
        before, after = after, _digest(known)
    roots = known.select(F.col("other").alias("page_id")).distinct()
    return known.selectExpr("page AS page_id", "other AS component").union(
        roots.withColumn("component", F.col("page_id"))
    )


def _digest(known: DataFrame) -> object:
    return known.agg(F.count("*"), F.sum(F.xxhash64("page", "other").cast("decimal(38,0)"))).first()


def _downwards(pairs: DataFrame) -> DataFrame:
    """Each pair once, from the greater page id to the smaller."""
    return (
        pairs.where("page != other")
        .select(F.greatest("page", "other").alias("page"), F.least("page", "other").alias("other"))
        .distinct()
    )


def _large_star(known: DataFrame) -> DataFrame:
    both = known.union(known.selectExpr("other AS page", "page AS other"))
    least = both.groupBy("page").agg(F.min("other").alias("least"))
    moved = (
        both.where("other > page")
        .join(least, "page")
        .select("other", F.least("page", "least").alias("least"))
    )
    return _downwards(moved.selectExpr("other AS page", "least AS other"))


def _small_star(known: DataFrame) -> DataFrame:
    least = known.groupBy("page").agg(F.min("other").alias("least"))
    moved = known.join(least, "page").where("other != least").selectExpr("other AS page", "least AS other")
    return _downwards(moved.union(least.selectExpr("page", "least AS other")))
