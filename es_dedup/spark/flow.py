"""The whole flow over one table of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.spark.feature_rows import features
from es_dedup.spark.related_pairs import pairs
from es_dedup.spark.star_clusters import clusters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from es_dedup.settings import Settings


def deduplicate(pages: DataFrame, settings: Settings | None = None) -> DataFrame:
    """Cluster, canonical document and relation of each page: ``tables.CLUSTERS``, as ``Deduplicator.scan`` clusters these pages.

    Features and pairs are persisted; to keep them, or to go on after a failure, call the steps and write their tables.

    Args:
        pages: columns as the attributes of ``Page``: ``id``, ``text`` or ``html``, and optionally ``title``, ``url``, ``site``, ``published``
            and ``http_charset``.
        settings: None: those of the settings file and the environment.

    Raises:
        ConfigError: a column is missing, or a method is enabled that Spark does not know.
        ValueError: a page id occurs twice.
    """
    made = features(pages, settings).persist()
    related = pairs(made, settings).persist()
    return clusters(made, related, settings)
