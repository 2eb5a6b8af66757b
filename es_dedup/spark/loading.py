"""Tables into the feature index on Elasticsearch: features by all workers, then edges and clusters at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PythonException

from es_dedup.batch.clusters import CLUSTERS_PENDING, write_session
from es_dedup.batch.learning import store_statistics
from es_dedup.batch.override_changes import follow_overrides
from es_dedup.batch.overrides import load_ignored
from es_dedup.detectors.features import stored_terms, unpack
from es_dedup.errors import ConfigError, IndexInterrupted, InputError
from es_dedup.index import factory
from es_dedup.index.cluster_changes import Assignment
from es_dedup.index.records import RecordBatch
from es_dedup.model import Edge, Relation
from es_dedup.spark.batches import batch_of, mapped
from es_dedup.spark.feature_rows import checked
from es_dedup.spark.folder import TableFolder, cause, readable
from es_dedup.spark.ranking import processed
from es_dedup.spark.updating import made_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from es_dedup.index.port import Index
    from es_dedup.settings import Settings

LOADING: Final = "load"
"""Value of the note of pending clusters while tables are loaded: other pages of the index have other values."""
FAILED: Final = "page_id string, reason string"
NAMED: Final = (
    "the index keeps named features and the tables have none: make them with --named, or an index with "
    "elastic.named_fields = false"
)
HOLDS_PAGES: Final = "the index holds pages that did not come from these tables: load into a new index, and let the hook add later pages"

HAS_PASSAGES: Final = "the index has ignored passages, which features made on Spark do not leave out: undo these overrides, or scan the pages"


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Result of ``load``: pages and related pairs stored, and the last day of the tables."""

    pages: int
    pairs: int
    day: str


def load(spark: SparkSession, tables: str, place: str, settings: Settings | None = None) -> LoadReport:
    """Store the pages and clusters of the last day of a folder in an index on Elasticsearch, as if they had been scanned into it.

    Workers write features, in requests of ``elastic.chunk_bytes`` each, and wait and repeat where the server is busy; ids are those of the
    pages, so a load that was stopped is repeated by the same call. Hook, check and all else go on from there. Texts are not stored.
    Clusters follow the overrides that the index has.

    Args:
        spark: the session; its workers reach the server.
        tables: the folder, as ``update_tables`` makes it.
        place: address of the index, which is made where it is not there, and must be empty.
        settings: those that the tables were made with; None: those of the settings file and the environment.

    Raises:
        ConfigError: the index is not on Elasticsearch, holds other pages, has ignored passages, or keeps named fields that the tables have
            not.
        InputError: there are no finished tables, or they cannot be read.
        SettingsMismatch: the tables were made with other settings.
        IndexError_: see ``errors``; the same call goes on.
    """
    chosen, folder = checked(settings), TableFolder(spark, tables)
    with readable(tables):
        recorded, days, statistics = folder.recorded(), folder.days("clusters"), folder.statistics()
        if statistics is None or not days:
            raise InputError(tables, None, "no finished tables: make them with `es-dedup spark run`")
        named = bool(recorded["named"])
        folder.check(made_with(chosen, named=named))
        if not factory.is_remote(place):
            raise ConfigError((f"{place} is not on Elasticsearch: http://host:9200/name",), "index")
        features, pairs = (
            folder.read(name, [day for day in folder.days(name) if day <= days[-1]])
            for name in ("features", "pairs")
        )
        pages, clusters = processed(features), folder.read("clusters", days[-1:]).where("failed = ''")
        with factory.open_index(place, chosen, exact=True) as index, write_session(index):
            if index.keeps_named and not named:
                raise ConfigError((NAMED,), "index")
            if index.note(CLUSTERS_PENDING) != LOADING and index.count():
                raise ConfigError((HOLDS_PAGES,), "index")
            if load_ignored(index):
                raise ConfigError((HAS_PASSAGES,), "index")
            index.set_note(CLUSTERS_PENDING, LOADING)
            _put_all(pages, index, place, chosen)
            store_statistics(index, statistics, statistics.to_bytes(), chosen)
            index.replace_all(_edges(pairs), _assignments(clusters))
            follow_overrides(index, chosen)
            index.refresh_clusters()  # whoever opens the index next sees them
            index.set_note(CLUSTERS_PENDING, None)
            return LoadReport(index.count(), pairs.count(), days[-1])


def _put_all(pages: DataFrame, index: Index, place: str, settings: Settings) -> None:
    try:
        failed = mapped(pages, _put, FAILED, place, settings).collect()
    except PythonException as error:  # of a worker
        raise IndexInterrupted(factory.shown(place), cause(error)) from error
    if failed:
        said = f"{len(failed)} pages were not stored, as {failed[0].page_id}: {failed[0].reason}"
        raise IndexInterrupted(factory.shown(place), said)
    index.refresh()


def _put(place: str, settings: Settings, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Store pages; what could not be stored."""
    with factory.open_index(place, settings, exact=True) as index:
        for batch in batches:
            failed = index.put_batch(_records(batch.to_pydict(), settings))
            yield batch_of(page_id=list(failed), reason=list(failed.values()))


def _records(rows: dict[str, list[Any]], settings: Settings) -> RecordBatch:
    terms, offsets = stored_terms(unpack(rows["payload"]), settings)
    return RecordBatch(
        ids=rows["page_id"],
        lengths=rows["length"],
        content_hashes=[value % 2**64 for value in rows["content_hash"]],
        payloads=rows["payload"],
        terms=terms,
        term_offsets=offsets,
        named=[json.loads(each or "{}") for each in rows["named"]],
        urls=rows["url"],
        sites=rows["site"],
        titles=rows["title"],
        published=rows["published"],
        languages=rows["language"],
        skipped=rows["skipped"],
    )


def _edges(pairs: DataFrame) -> Iterator[Edge]:
    for row in pairs.select("left", "right", "relation", "score").toLocalIterator():
        yield Edge(row.left, row.right, Relation(row.relation), row.score)


def _assignments(clusters: DataFrame) -> Iterator[Assignment]:
    for row in clusters.toLocalIterator():
        relation = Relation(row.relation) if row.relation else Relation.EXACT
        score = 1.0 if row.score is None else row.score
        yield Assignment(row.page_id, row.cluster_id, row.canonical, relation, score)
