"""Rows of chunks: those that are new or changed, the last of each page, several chunks as one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from es_dedup.batch.featurise import Chunk
from es_dedup.clustering import PageKey
from es_dedup.detectors.features import FeatureTable
from es_dedup.index.records import RecordBatch

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from es_dedup.index.records import FeatureRecord


def take(chunk: Chunk, rows: list[int]) -> Chunk:
    """These rows of a chunk; the chunk itself when they are all."""
    if len(rows) == len(chunk.records.ids):
        return chunk
    table = chunk.table.take(np.array(rows, dtype=np.int64))
    return replace(chunk, records=chunk.records.take(rows), table=table)


def without(chunk: Chunk, page_ids: Container[str]) -> Chunk:
    """A chunk without some pages."""
    return take(chunk, [row for row, name in enumerate(chunk.records.ids) if name not in page_ids])


def last_of_each(chunk: Chunk) -> tuple[Chunk, int, int]:
    """Of several pages with one id the last; how many others differ from the next one of their id, and how many are equal to it."""
    records, equal = chunk.records, 0
    last: dict[str, int] = {}
    for row, page_id in enumerate(records.ids):
        before = last.get(page_id)
        equal += before is not None and records.content(before) == records.content(row)
        last[page_id] = row
    fewer = len(records.ids) - len(last)
    return take(chunk, sorted(last.values())), fewer - equal, equal


def changed(chunk: Chunk, stored: Mapping[str, FeatureRecord]) -> tuple[Chunk, int]:
    """Without the pages that are stored with the same content and metadata, and how many these are."""
    rows = [
        row
        for row, page_id in enumerate(chunk.records.ids)
        if page_id not in stored or chunk.records.content(row) != stored[page_id].content
    ]
    unchanged = len(chunk.records.ids) - len(rows)
    return take(chunk, rows), unchanged


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Several chunks as one, what failed left out; at least one chunk."""
    if len(parts) == 1:
        return parts[0]
    records = RecordBatch.concatenate([part.records for part in parts])
    return Chunk(records, FeatureTable.concatenate([part.table for part in parts]), {}, len(records.ids))


def keys_of(records: RecordBatch) -> list[PageKey]:
    """Sort keys of the canonical order."""
    columns: Iterator[tuple[str, str, str, str, int]] = zip(
        records.ids, records.published, records.sites, records.urls, records.lengths, strict=True
    )
    return [PageKey(*values) for values in columns]
