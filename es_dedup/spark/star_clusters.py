"""Related pairs to clusters: the library's star clustering on whole connected components."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from es_dedup.clustering.constraints import ClusterRules
from es_dedup.clustering.order import PageKey
from es_dedup.clustering.star import cluster_all
from es_dedup.model import Edge, Relation
from es_dedup.spark import tables
from es_dedup.spark.components import components
from es_dedup.spark.feature_rows import checked
from es_dedup.spark.ranking import KEY_COLUMNS, processed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from es_dedup.settings import Settings
    from es_dedup.settings.loading import ClusterConfig

GROUP: Final = 10_000  # pages clustered at a time, about
SAME: Final = tuple(str(relation) for relation in Relation if relation.same)
COLUMNS: Final = [each.split()[0] for each in tables.CLUSTERS.split(", ")]


def clusters(features: DataFrame, pairs: DataFrame, settings: Settings | None = None) -> DataFrame:
    """Cluster and canonical document of each page: ``tables.CLUSTERS``.

    Args:
        features: as ``features`` makes it.
        pairs: as ``pairs`` makes it; read several times.
        settings: the canonical order.
    """
    chosen = checked(settings)
    edges = pairs.where(F.col("relation").isin(*SAME))
    labels = components(edges)
    pages = processed(features).select(*KEY_COLUMNS).join(labels, "page_id", "left")
    pages = pages.withColumn("component", F.coalesce("component", "page_id"))
    group = F.pmod(F.xxhash64("component"), F.lit(max(1, -(-features.count() // GROUP)))).alias("group")
    of_edges = edges.join(labels.withColumnRenamed("page_id", "left"), "left").select(*edges.columns, group)
    grouped = pages.select(*KEY_COLUMNS, group).groupBy("group").cogroup(of_edges.groupBy("group"))
    made = grouped.applyInPandas(partial(_clustered, chosen.cluster), tables.CLUSTERS)
    failed = features.where(F.col("failed") != "").select("page_id", "failed")
    return made.unionByName(failed, allowMissingColumns=True).select(*COLUMNS)


def _clustered(config: ClusterConfig, pages: pd.DataFrame, edges: pd.DataFrame) -> pd.DataFrame:
    """Clusters of some whole components."""
    keys = [PageKey(*values) for values in pages[list(KEY_COLUMNS)].itertuples(index=False)]
    columns = ["left", "right", "relation", "score"]
    related = [
        Edge(left, right, Relation(relation), score)
        for left, right, relation, score in edges[columns].itertuples(index=False)
    ]
    covers = {
        (row.left, row.right): (row.left_cover, row.right_cover) for row in edges.itertuples(index=False)
    }
    covers |= {(right, left): cover[::-1] for (left, right), cover in covers.items()}
    rows: list[tuple[Any, ...]] = []
    for each in cluster_all(keys, related, ClusterRules(config)).values():
        chief = each.canonical
        if chief == each.page_id:
            rows.append((each.page_id, each.cluster_id, chief, None, None, None, None, None, ""))
        else:
            cover = covers[each.page_id, chief]
            told = (str(each.relation), each.score, chief, *cover, "")
            rows.append((each.page_id, each.cluster_id, chief, *told))
    return pd.DataFrame(rows, columns=COLUMNS)
