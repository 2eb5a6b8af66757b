"""Pages to feature rows, by the code that ``scan`` uses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812

from es_dedup.batch.featurise import FeatureMaker, page_groups, problem_of
from es_dedup.errors import ConfigError
from es_dedup.model import Page
from es_dedup.readers.records import no_text, usual_columns
from es_dedup.settings.loading import settings_in_force
from es_dedup.spark import tables
from es_dedup.spark.batches import batch_of, mapped, signed
from es_dedup.text.hashing import hash64

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from es_dedup.settings import Settings

COLUMNS: Final = ("id", "text", "html", "title", "url", "site", "published", "http_charset")
TEXT: Final = ("a string", (T.StringType, T.CharType, T.VarcharType, T.NullType))
KINDS: Final = {
    "id": ("a string or a whole number", (*TEXT[1], T.IntegralType)),
    "html": ("a string or binary", (*TEXT[1], T.BinaryType)),
    "published": ("a string, date or timestamp", (*TEXT[1], T.DateType, T.TimestampType, T.TimestampNTZType)),
}
"""Types of columns, in words too; all others are ``TEXT``."""
KEPT: Final = (T.BinaryType, T.TimestampType, T.TimestampNTZType)
"""Types that pages take as they are; all others are made strings."""
DETECTORS: Final = frozenset({"ccdet", "simhash", "coverage"})


def features(pages: DataFrame, settings: Settings | None = None, *, named: bool = False) -> DataFrame:
    """Features of all pages: ``tables.FEATURES``.

    Args:
        pages: columns as the attributes of ``Page``: ``id``, and ``text`` or ``html``; others of ``COLUMNS`` where there are. Types are
            those of ``KINDS``.
        settings: None: those of the settings file and the environment.
        named: make named fields too, for ``load``.

    Raises:
        ConfigError: a column is missing, is there twice or has another type, or a method is enabled beyond the default ones.
    """
    return mapped(
        pages.select(*_columns(pages)),
        _featurise,
        tables.FEATURES,
        FeatureMaker(checked(settings), named=named),
    )


def _columns(pages: DataFrame) -> list[Column]:
    """The columns that pages are made from, under the names of ``COLUMNS``; Spark tells upper from lower case by its setting.

    Raises:
        ConfigError: a column is missing, is there twice, or has another type than those of ``KINDS``.
    """
    sensitive = pages.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    usual = {name: role for role, name in usual_columns(pages.columns).items() if role in ("text", "html")}
    given = [
        (usual.get(field.name, field.name if sensitive else field.name.lower()), field)
        for field in pages.schema
    ]
    names = [name for name, _ in given if name in COLUMNS]
    if not {"text", "html"}.intersection(names):
        raise ConfigError((no_text(pages.columns, "rename one to text or html"),), "pages")
    if "id" not in names:
        raise ConfigError((f"pages need a column id, not only {', '.join(pages.columns)}",), "pages")
    problems = [
        f"there are {names.count(name)} columns {name}" for name in set(names) if names.count(name) > 1
    ]
    problems += [
        f"column {name} has the type {field.dataType.simpleString()}, it must be {KINDS.get(name, TEXT)[0]}"
        for name, field in given
        if name in COLUMNS and not isinstance(field.dataType, KINDS.get(name, TEXT)[1])
    ]
    if problems:
        raise ConfigError(tuple(problems), "pages")
    columns = []
    for name, field in given:
        if name in COLUMNS:
            column = F.col(f"`{field.name.replace('`', '``')}`")
            columns.append(
                (column if isinstance(field.dataType, KEPT) else column.cast("string")).alias(name)
            )
    return columns


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


def _featurise(maker: FeatureMaker, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for group in page_groups(_page(row) for batch in batches for row in batch.to_pylist()):
        problems = [(page.id, problem) for page in group if (problem := problem_of(page))]
        records = maker.chunk(group).records
        rows, none = len(records.ids), len(problems)  # several pages may have no id
        failed = [page_id for page_id, _ in problems]
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
            named=[*(map(_json, records.named) if maker.named else [""] * rows), *[""] * none],
            skipped=[*records.skipped, *[""] * none],
            failed=[*[""] * rows, *(problem for _, problem in problems)],
        )


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _page(row: dict[str, Any]) -> Page:
    return Page(**{**row, "id": row["id"] or ""})
