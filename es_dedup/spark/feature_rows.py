"""Pages to feature rows, by the code that ``scan`` uses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch.featurise import make_chunk, page_groups
from es_dedup.errors import ConfigError
from es_dedup.extraction import create_extractor
from es_dedup.model import Page
from es_dedup.settings.loading import settings_in_force
from es_dedup.spark import tables
from es_dedup.spark.batches import batch_of, mapped, signed
from es_dedup.text.hashing import hash64

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from es_dedup.settings import Settings

COLUMNS: Final = ("id", "text", "html", "title", "url", "site", "published", "http_charset")
DETECTORS: Final = frozenset({"ccdet", "simhash", "coverage"})


def features(pages: DataFrame, settings: Settings | None = None, *, named: bool = False) -> DataFrame:
    """Features of all pages: ``tables.FEATURES``.

    Args:
        pages: columns as the attributes of ``Page``: ``id``, and ``text`` or ``html``; others of ``COLUMNS`` where there are.
        settings: None: those of the settings file and the environment.
        named: make named fields too, for ``load``.

    Raises:
        ConfigError: a column is missing, or a method is enabled beyond the default ones.
    """
    given = [name for name in COLUMNS if name in pages.columns]
    if "id" not in given or not {"text", "html"}.intersection(given):
        raise ConfigError(
            (f"pages need columns id and text or html, not {', '.join(pages.columns)}",), "pages"
        )
    return mapped(pages.select(*given), _featurise, tables.FEATURES, checked(settings), named)


def checked(settings: Settings | None) -> Settings:
    """Settings in force.

    Raises:
        ConfigError: a method is enabled that Spark does not know.
    """
    found = settings_in_force(settings)
    if further := sorted(set(found.detectors) - DETECTORS):
        problem = (
            f"detectors: {', '.join(further)} cannot be used on Spark, only {', '.join(sorted(DETECTORS))}"
        )
        raise ConfigError((problem,))
    return found


def _featurise(
    settings: Settings,
    named: bool,  # noqa: FBT001 - given by place
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    extractor = create_extractor(settings.extraction)
    for group in page_groups(_page(row) for batch in batches for row in batch.to_pylist()):
        chunk = make_chunk(group, settings, extractor, None, named=named)
        records, failed = chunk.records, chunk.failed
        rows, none = len(records.ids), len(failed)
        yield batch_of(
            page_id=[*records.ids, *failed],
            published=[*records.published, *[""] * none],
            site=[*records.sites, *[""] * none],
            url=[*records.urls, *[""] * none],
            title=[*records.titles, *[""] * none],
            language=[*records.languages, *[""] * none],
            length=np.array([*records.lengths, *[0] * none], dtype=np.int64),
            content_hash=signed(np.array([*records.content_hashes, *[0] * none], dtype=np.uint64)),
            place_key=signed(np.array([hash64(each) for each in (*records.ids, *failed)], dtype=np.uint64)),
            payload=[*records.payloads, *[b""] * none],
            named=[*(map(_json, records.named) if named else [""] * rows), *[""] * none],
            skipped=[*records.skipped, *[""] * none],
            failed=[*[""] * rows, *failed.values()],
        )


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _page(row: dict[str, Any]) -> Page:
    return Page(**{**row, "id": row["id"] or ""})
