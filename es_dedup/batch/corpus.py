"""A whole corpus as a run over it needs it: features and keys, row after row, in memory or in temporary files.

A corpus in files is bounded: of every page some numbers are in memory (``Corpus``), all else is read some rows or some values at a time.
"""

from __future__ import annotations

import json
import threading
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch.columns import Column
from es_dedup.batch.memory import release_memory
from es_dedup.clustering.order import PageKey, sort_key
from es_dedup.decision.comparison import Pages, days_of
from es_dedup.detectors.features import FeatureTable, unpack
from es_dedup.model import Progress
from es_dedup.text.hashing import hash64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from es_dedup.decision.statistics import Statistics
    from es_dedup.detectors.coverage_pairs import Weights
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings.loading import ClusterConfig

    Rows = NDArray[np.int64]

SCANNED: Final = 1_000  # records read at a time
ROWS: Final = 2_000  # rows of a corpus in files whose features are in memory at a time


class Corpus:
    """Pages with their features and the keys of the canonical order; row after row as they were given.

    Args:
        parts: keys of some pages, their features, and these as an index stores them, which a corpus in memory does without. Pages of a
            corpus in files come by page id.
        folder: for temporary files, removed by its owner; None: everything is kept in memory.
        most: terms or features of a corpus in files that are in memory at a time, about.
        named: named fields of the pages of a corpus in memory, for an index that is queried by them.

    Attributes:
        folder, most: as given.
        keys, pages: of a corpus in memory: sort keys of the canonical order, and features of all pages.
        place_keys: hash of each page id.
        days: of publication, 0 when unknown.
        sites: site mark of each page; equal ones are one object.
        hashes, fingerprints, has_words: as in ``FeatureTable``.
    """

    def __init__(
        self,
        parts: Iterable[tuple[Sequence[PageKey], FeatureTable, Sequence[bytes]]],
        folder: Path | None = None,
        most: int | None = None,
        named: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.folder, self.most = folder, most
        self.sites: list[str] = []
        self.keys: list[PageKey] = []
        self._stored_keys, self._payloads = (Column(folder, name, np.uint8) for name in ("keys", "payloads"))
        nothing = unpack([])
        numbers = [_numbers([], nothing)]
        tables: list[FeatureTable] = []
        sites: dict[str, str] = {}
        for keys, table, payloads in parts:
            numbers.append(_numbers(keys, table))
            self.sites += [sites.setdefault(key.site, key.site) for key in keys]
            if folder is None:
                self.keys += keys
                tables.append(table)
            else:
                _add_bytes(self._stored_keys, [json.dumps(key).encode() for key in keys])
                _add_bytes(self._payloads, payloads)
        self.place_keys, self.days, self.hashes, self.fingerprints, self.has_words = map(
            np.concatenate, zip(*numbers, strict=True)
        )
        whole = FeatureTable.concatenate(tables) if tables else nothing
        self.pages = Pages([key.page_id for key in self.keys], whole, self.days, named)

    def __len__(self) -> int:
        return len(self.place_keys)

    @cached_property
    def _by_place_key(self) -> Rows:
        return np.argsort(self.place_keys, kind="stable")

    def ranks(self, config: ClusterConfig) -> Rows:
        """Place of each row in canonical order."""
        place = sort_key(config)
        parts = [
            np.array([place(key)[:3] for key in self.keys_of(rows)], dtype=np.int64)
            for rows in pieces(len(self), ROWS)
        ]
        by_id = np.arange(len(self))  # the last sort key
        if self.folder is None:
            by_id = np.array(sorted(by_id.tolist(), key=self.pages.ids.__getitem__), dtype=np.int64)
        order = np.concatenate([np.zeros((0, 3), dtype=np.int64), *parts])[by_id]
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[by_id[np.lexsort((order[:, 2], order[:, 1], order[:, 0]))]] = np.arange(len(self))
        return ranks

    def batches(self) -> Iterator[tuple[int, FeatureTable]]:
        """Features of all rows in order, some at a time, or all at once in memory; each with the number of its first row."""
        if self.folder is None:
            yield 0, self.pages.table
            return
        for rows in pieces(len(self), ROWS):
            yield int(rows[0]), self.features(rows)

    def features(self, rows: Rows) -> FeatureTable:
        """Features of these rows of a corpus in files, in their order."""
        return unpack(_bytes_of(self._payloads, rows))

    def of_pairs(self, left: Rows, right: Rows) -> tuple[Pages, Rows, Rows, Rows | None]:
        """Both sides of some pairs; pages of a corpus in files have no ids, which decision rules do not need.

        Returns:
            Pages with the features of all these rows; the left and the right rows of these; and the row of the corpus of each, None
            where it is the same.
        """
        if self.folder is None:
            return self.pages, left, right, None
        rows, at = np.unique(np.concatenate((left, right)), return_inverse=True)
        pages = Pages([""] * len(rows), self.features(rows), self.days[rows])
        return pages, at[: len(left)], at[len(left) :], rows

    def keys_of(self, rows: Rows) -> list[PageKey]:
        """Sort keys of the canonical order of these rows."""
        if self.folder is None:
            return [self.keys[row] for row in rows.tolist()]
        return [PageKey(*json.loads(stored)) for stored in _bytes_of(self._stored_keys, rows)]

    def row_of(self, page_id: str) -> int | None:
        """The row of a page; None when it is not there."""
        key, known = np.uint64(hash64(page_id)), self.place_keys
        start, end = (np.searchsorted(known, key, side, self._by_place_key) for side in ("left", "right"))
        rows = self._by_place_key[start:end]
        found = zip(rows.tolist(), self.keys_of(rows), strict=True)
        return next((row for row, each in found if each.page_id == page_id), None)

    def close(self) -> None:
        """Close the files."""
        self._payloads.close()
        self._stored_keys.close()


def pieces(rows: int, size: int) -> Iterator[Rows]:
    """So many rows in order, ``size`` at a time."""
    for first in range(0, rows, size):
        yield np.arange(first, min(first + size, rows))


def _numbers(keys: Sequence[PageKey], table: FeatureTable) -> tuple[NDArray[Any], ...]:
    """The columns of numbers of some pages."""
    place_keys = np.array([hash64(key.page_id) for key in keys], dtype=np.uint64)
    days = days_of(key.published for key in keys)
    return place_keys, days, table.hashes, table.fingerprints, table.has_words


def _add_bytes(column: Column, rows: Sequence[bytes]) -> None:
    column.add(np.frombuffer(b"".join(rows), dtype=np.uint8), [len(row) for row in rows])


def _bytes_of(column: Column, rows: Rows) -> list[bytes]:
    values, offsets = column.take(rows)
    raw = values.tobytes()
    return [raw[start:end] for start, end in pairwise(offsets.tolist())]


class Weighing:
    """What grams and clauses of tables count; the weights of the last table are kept. Threads may share it.

    Args:
        statistics: gives those to weigh by, and may wait until they are learned.
    """

    def __init__(self, statistics: Callable[[], Statistics]) -> None:
        self._statistics, self._lock = statistics, threading.Lock()
        self._last: tuple[FeatureTable, Weights] | None = None

    def __call__(self, table: FeatureTable) -> Weights:
        """The weights of a table; a thread that asks for the same table as another one waits for it."""
        with self._lock:
            if self._last is None or self._last[0] is not table:
                self._last = table, self._statistics().weights(table.coverage)
            return self._last[1]


def load_corpus(
    index: Index,
    folder: Path | None = None,
    most: int | None = None,
    report_progress: Callable[[Progress], None] = lambda _: None,
    look: Callable[[Sequence[FeatureRecord]], None] = lambda _: None,
) -> Corpus:
    """All stored pages, those too that other processes have stored a moment ago; ``folder`` and ``most`` are those of ``Corpus``, and ``look`` gets the records."""
    index.refresh()
    total = index.count()

    def parts() -> Iterator[tuple[list[PageKey], FeatureTable, list[bytes]]]:
        read = 0
        for records in index.scan(batch=SCANNED):
            look(records)
            payloads = [record.payload for record in records]
            yield list(map(PageKey.of, records)), unpack(payloads), payloads
            read += len(records)
            report_progress(Progress("read", read, total))

    corpus = Corpus(parts(), folder, most)
    release_memory()
    return corpus


def corpus_of(
    keys: Sequence[PageKey], table: FeatureTable, named: Sequence[Mapping[str, Any]] = ()
) -> Corpus:
    """A corpus in memory of rows at hand."""
    return Corpus([(keys, table, ())], named=named)
