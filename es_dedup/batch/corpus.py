"""What a run over a whole corpus needs of it, whether its features lie in memory or in files."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from es_dedup.batch.featurise import day_of
from es_dedup.clustering import PageKey, canonical_order
from es_dedup.decision.comparison import Pages
from es_dedup.decision.statistics import Statistics, learn
from es_dedup.detectors.coverage_pairs import Weights
from es_dedup.detectors.features import FeatureTable, unpack
from es_dedup.text.hashing import hash64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings import Settings

    Rows = NDArray[np.int64]


class Corpus(Protocol):
    """Feature rows of all pages."""

    @property
    def folder(self) -> Path | None:
        """Where temporary files are put; None: what a join needs is kept in memory."""

    @property
    def most(self) -> int | None:
        """Terms held at a time, about; None: all."""

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """See ``FeatureTable``."""

    @property
    def fingerprints(self) -> NDArray[np.uint64]:
        """See ``FeatureTable``."""

    @property
    def has_words(self) -> NDArray[np.bool_]:
        """See ``FeatureTable``."""

    def __len__(self) -> int: ...

    def ranks(self, settings: Settings) -> Rows:
        """Place of each row in canonical order."""

    def learn(self, settings: Settings) -> Statistics:
        """The statistics of these pages."""

    def batches(self) -> Iterator[tuple[int, FeatureTable]]:
        """Features of all rows in order, some at a time, each with the number of its first row."""

    def of_pairs(self, left: Rows, right: Rows) -> tuple[Pages, Rows, Rows, Rows | None]:
        """Pages that hold both sides of some pairs, the rows of either side in them, and their rows here; None: the same."""


@dataclass(frozen=True, slots=True)
class MemoryCorpus:
    """A corpus in memory, with what clustering and statistics need beside the features."""

    pages: Pages
    keys: list[PageKey]
    sites: list[str]
    folder: None = None
    most: None = None

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """See ``Corpus``."""
        return self.pages.table.hashes

    @property
    def fingerprints(self) -> NDArray[np.uint64]:
        """See ``Corpus``."""
        return self.pages.table.fingerprints

    @property
    def has_words(self) -> NDArray[np.bool_]:
        """See ``Corpus``."""
        return self.pages.table.has_words

    def __len__(self) -> int:
        return len(self.pages.ids)

    def ranks(self, settings: Settings) -> Rows:
        """See ``Corpus.ranks``."""
        place = {key.page_id: at for at, key in enumerate(canonical_order(self.keys, settings.cluster))}
        return np.array([place[page_id] for page_id in self.pages.ids], dtype=np.int64)

    def learn(self, settings: Settings) -> Statistics:
        """See ``Corpus.learn``."""
        ids = np.array([hash64(page_id) for page_id in self.pages.ids], dtype=np.uint64)
        return learn(self.pages.table, ids, self.pages.days, self.sites, settings.ccdet)

    def batches(self) -> Iterator[tuple[int, FeatureTable]]:
        """See ``Corpus.batches``: all in one."""
        yield 0, self.pages.table

    def of_pairs(self, left: Rows, right: Rows) -> tuple[Pages, Rows, Rows, None]:
        """See ``Corpus.of_pairs``."""
        return self.pages, left, right, None


class Weighing:
    """What grams and clauses of tables count; those of the last table are kept. Threads may share it.

    Args:
        statistics: gives those to weigh by, and may wait until they are learned.
    """

    def __init__(self, statistics: Callable[[], Statistics]) -> None:
        self._grams = _OfLastTable(lambda table: statistics().gram_weights_of(table.coverage.grams))
        self._clauses = _OfLastTable(lambda table: statistics().clause_weights_of(table.coverage.clauses))

    def __call__(self, table: FeatureTable) -> Weights:
        """The weights of a table."""
        return Weights(self.grams(table), self.clauses(table))

    def grams(self, table: FeatureTable) -> NDArray[np.float32]:
        """Those of its grams."""
        return self._grams(table)

    def clauses(self, table: FeatureTable) -> NDArray[np.float32]:
        """Those of its clauses."""
        return self._clauses(table)


class _OfLastTable:
    """A function of tables that keeps its last result; a thread that asks for the same table waits for it."""

    def __init__(self, function: Callable[[FeatureTable], NDArray[np.float32]]) -> None:
        self._function, self._lock = function, threading.Lock()
        self._last: tuple[FeatureTable, NDArray[np.float32]] | None = None

    def __call__(self, table: FeatureTable) -> NDArray[np.float32]:
        with self._lock:
            last = self._last
            if last is None or last[0] is not table:
                last = self._last = table, self._function(table)
            return last[1]


def key_of(record: FeatureRecord) -> PageKey:
    """Sort key of the canonical order of a stored page."""
    return PageKey(record.page_id, record.published, record.site, record.url, record.length)


def load_corpus(index: Index) -> MemoryCorpus:
    """All stored pages, those too that other processes have stored a moment ago."""
    index.refresh()
    keys: list[PageKey] = []
    tables: list[FeatureTable] = []
    for records in index.scan(batch=2_000):
        keys += map(key_of, records)
        tables.append(unpack([record.payload for record in records]))
    table = FeatureTable.concatenate(tables) if tables else unpack([])
    return corpus_of(keys, table)


def corpus_of(
    keys: list[PageKey], table: FeatureTable, named: Sequence[Mapping[str, Any]] = ()
) -> MemoryCorpus:
    """A corpus of rows at hand."""
    days = np.array([day_of(key.published) for key in keys], dtype=np.int64)
    return MemoryCorpus(
        Pages([key.page_id for key in keys], table, days, named), keys, [key.site for key in keys]
    )
