"""A stored corpus in temporary files: features and keys by row, and a few numbers of every page in memory."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.batch.columns import Column
from es_dedup.batch.corpus import key_of
from es_dedup.batch.featurise import day_of
from es_dedup.batch.memory import release_memory
from es_dedup.batch.out_of_core.learning import learn_out_of_core
from es_dedup.clustering import PageKey, sort_key
from es_dedup.decision.comparison import Pages
from es_dedup.detectors.features import FeatureTable, unpack
from es_dedup.model import Progress
from es_dedup.text.hashing import hash64

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from es_dedup.batch.recluster import ProgressListener
    from es_dedup.decision.statistics import Statistics
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings import Settings

    Rows = NDArray[np.int64]

SCANNED: Final = 1_000  # records read at a time
ROWS: Final = 2_000  # rows of features unpacked at a time


class SpilledCorpus:
    """All pages of an index as they were at one time; row after row by page id.

    Attributes:
        keys: hash of each page id.
        days: of publication, 0 when unknown.
        hashes, fingerprints, has_words: as in ``FeatureTable``.
        folder, most: see ``Corpus``.
        sites: site mark of each page; equal ones are one object.
    """

    def __init__(
        self, index: Index, settings: Settings, folder: Path, most: int, report_progress: ProgressListener
    ) -> None:
        """Read the index once, with what other processes have stored a moment ago."""
        self.folder, self.most = folder, most
        index.refresh()
        self._payloads, self._keys = Column(folder, "payloads", np.uint8), Column(folder, "keys", np.uint8)
        self._by_key: Rows | None = None
        place = sort_key(settings.cluster)
        columns: dict[str, list[NDArray[Any]]] = {}
        sites: dict[str, str] = {}
        self.sites: list[str] = []
        read, total = 0, index.count()
        for records in index.scan(batch=SCANNED):
            table = unpack([record.payload for record in records])
            keys = [key_of(record) for record in records]
            order = [place(key)[:3] for key in keys]
            self._add(records, keys)
            self.sites += [sites.setdefault(key.site, key.site) for key in keys]
            for name, values in {
                "keys": np.array([hash64(key.page_id) for key in keys], dtype=np.uint64),
                "days": np.array([day_of(key.published) for key in keys], dtype=np.int64),
                "hashes": table.hashes,
                "fingerprints": table.fingerprints,
                "has_words": table.has_words,
                "order": np.array(order, dtype=np.int64),
            }.items():
                columns.setdefault(name, []).append(values)
            read += len(records)
            report_progress(Progress("read", read, total))
        whole = {name: np.concatenate(parts) for name, parts in columns.items()}
        none = np.zeros(0, dtype=np.int64)
        self.keys: NDArray[np.uint64] = whole.get("keys", none.astype(np.uint64))
        self.days: Rows = whole.get("days", none)
        self.hashes: NDArray[np.uint64] = whole.get("hashes", none.astype(np.uint64))
        self.fingerprints: NDArray[np.uint64] = whole.get("fingerprints", none.astype(np.uint64))
        self.has_words: NDArray[np.bool_] = whole.get("has_words", none.astype(np.bool_))
        self._ranks = _ranks(whole["order"]) if whole else none
        release_memory()

    def __len__(self) -> int:
        return len(self.keys)

    def ranks(self, _: Settings) -> Rows:
        """Place of each row in the canonical order of the settings that it was made with."""
        return self._ranks

    def learn(self, settings: Settings) -> Statistics:
        """See ``Corpus.learn``."""
        return learn_out_of_core(self, settings, self.folder, self.most)

    def batches(self) -> Iterator[tuple[int, FeatureTable]]:
        """Features of all rows in order, some at a time, each with the number of its first row."""
        for first in range(0, len(self), ROWS):
            rows = np.arange(first, min(first + ROWS, len(self)))
            yield first, self.features(rows)

    def features(self, rows: Rows) -> FeatureTable:
        """Features of these rows, in their order."""
        payloads, offsets = self._payloads.take(rows)
        raw, edges = payloads.tobytes(), offsets.tolist()
        return unpack([raw[start:end] for start, end in pairwise(edges)])

    def of_pairs(self, left: Rows, right: Rows) -> tuple[Pages, Rows, Rows, Rows]:
        """See ``Corpus.of_pairs``; the pages have no ids: the decision rules need none."""
        rows, at = np.unique(np.concatenate((left, right)), return_inverse=True)
        pages = Pages([""] * len(rows), self.features(rows), self.days[rows])
        return pages, at[: len(left)], at[len(left) :], rows

    def keys_of(self, rows: Rows) -> list[PageKey]:
        """Sort keys of the canonical order of these rows."""
        raw, offsets = self._keys.take(rows)
        text, edges = raw.tobytes(), offsets.tolist()
        return [PageKey(*json.loads(text[start:end])) for start, end in pairwise(edges)]

    def row_of(self, page_id: str) -> int | None:
        """The row of a page; None when it is not stored."""
        if self._by_key is None:
            self._by_key = np.argsort(self.keys, kind="stable")
        key = np.uint64(hash64(page_id))
        start = int(np.searchsorted(self.keys, key, side="left", sorter=self._by_key))
        end = int(np.searchsorted(self.keys, key, side="right", sorter=self._by_key))
        rows = self._by_key[start:end]
        found = (
            row
            for row, each in zip(rows.tolist(), self.keys_of(rows), strict=True)
            if each.page_id == page_id
        )
        return next(found, None)

    def close(self) -> None:
        """Close the files."""
        self._payloads.close()
        self._keys.close()

    def _add(self, records: list[FeatureRecord], keys: list[PageKey]) -> None:
        for column, parts in (
            (self._payloads, [record.payload for record in records]),
            (
                self._keys,
                [
                    json.dumps((key.page_id, key.published, key.site, key.url, key.length)).encode()
                    for key in keys
                ],
            ),
        ):
            column.add(np.frombuffer(b"".join(parts), dtype=np.uint8), [len(part) for part in parts])


def _ranks(order: Rows) -> Rows:
    """Place of each row, whose first sort keys these are; the last one, the page id, is the order of the rows."""
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[np.lexsort((order[:, 2], order[:, 1], order[:, 0]))] = np.arange(len(order))
    return ranks
