"""Near-duplicates among the rows of a Spark DataFrame, with the clusters that ``Deduplicator.scan`` gives.

Main names: ``deduplicate`` runs the whole flow; ``features``, ``pairs`` and ``clusters`` are its steps, each from tables to a table with
the schema in ``tables``; ``update_tables`` runs them over tables in a folder, day after day, and ``load`` loads these into Elasticsearch;
``session`` makes a session with what the steps need. The first use of a name imports pyspark, and raises ``MissingExtra`` where it is not
installed.

Traps:
    - A step reads its input more than once: persist it, or write it as Parquet and read it back.
    - Workers import es_dedup: install the same version of it on all of them.
    - A page id that occurs twice raises ``ValueError``: a table has no last row, as the input of a scan has.
"""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.spark.feature_rows import features
    from es_dedup.spark.loading import load
    from es_dedup.spark.related_pairs import pairs
    from es_dedup.spark.requirements import session
    from es_dedup.spark.star_clusters import clusters
    from es_dedup.spark.updating import DayOptions, deduplicate, update_tables

__all__ = ["DayOptions", "clusters", "deduplicate", "features", "load", "pairs", "session", "update_tables"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attributes(__name__, "es_dedup.spark.requirements")  # which says what is not installed
