"""Features and keys of a whole corpus, in memory or in temporary files; corpus statistics, and the decision settings in force.

A corpus in files is bounded: of every page some numbers are in memory (``Corpus``), all else is read some rows or some values at a time.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup import native
from es_dedup.batch.columns import Column, value_ranges
from es_dedup.batch.featurise import day_of
from es_dedup.batch.memory import release_memory
from es_dedup.clustering import PageKey, sort_key
from es_dedup.decision.comparison import Pages
from es_dedup.decision.statistics import LEARN_PAGES, MASK_BITS, PostingSample, Statistics, weigh
from es_dedup.detectors.ccdet import PeriodTable, learn_noise
from es_dedup.detectors.features import FeatureTable, unpack
from es_dedup.model import Progress
from es_dedup.settings.recorded import (
    STATISTICS,
    clustered_with,
    decision_differences,
    decisions_in,
    with_recorded,
)
from es_dedup.text.hashing import hash64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from es_dedup.detectors.coverage_pairs import Weights
    from es_dedup.errors import Difference
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings
    from es_dedup.settings.loading import ClusterConfig
    from es_dedup.settings.sections import CcdetConfig

    Rows = NDArray[np.int64]

SCANNED: Final = 1_000  # records read at a time
ROWS: Final = 2_000  # rows of a corpus in files whose features are in memory at a time
_KEY_VALUES: Final = attrgetter(*PageKey.__dataclass_fields__)
MOST_IN_MEMORY: Final = (
    1_000_000  # features that the Python form weighs at a time, about 150 bytes each; the native core takes 8
)


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
                _add_bytes(self._stored_keys, [json.dumps(_KEY_VALUES(key)).encode() for key in keys])
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
            for rows in self._pieces()
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
        for rows in self._pieces():
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

    def _pieces(self) -> Iterator[Rows]:
        for first in range(0, len(self), ROWS):
            yield np.arange(first, min(first + ROWS, len(self)))


def _numbers(keys: Sequence[PageKey], table: FeatureTable) -> tuple[NDArray[Any], ...]:
    """The columns of numbers of some pages."""
    place_keys = np.array([hash64(key.page_id) for key in keys], dtype=np.uint64)
    days = np.array([day_of(key.published) for key in keys], dtype=np.int64)
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
) -> Corpus:
    """All stored pages, those too that other processes have stored a moment ago; ``folder`` and ``most`` are those of ``Corpus``."""
    index.refresh()
    total = index.count()

    def parts() -> Iterator[tuple[list[PageKey], FeatureTable, list[bytes]]]:
        read = 0
        for records in index.scan(batch=SCANNED):
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


def learn(corpus: Corpus, config: CcdetConfig, *, most_pages: int = LEARN_PAGES) -> Statistics:
    """The statistics of a corpus; the same pages in any order give the same.

    Args:
        corpus: its pages; features of those that are learned from are read a range of values at a time where it is in files.
        config: pruning of period signatures.
        most_pages: of more pages those with the smallest place keys are learned from.
    """
    learned_from = np.zeros(len(corpus), dtype=np.bool_)
    learned_from[np.argsort(corpus.place_keys, kind="stable")[:most_pages]] = True
    samples = [PostingSample.of(unpack([]), corpus.place_keys[:0], corpus.days[:0])]
    with ExitStack() as stack:
        grams, clauses, periods = (
            stack.enter_context(closing(Column(corpus.folder, name, np.uint64)))
            for name in ("grams", "clauses", "periods")
        )
        for first, whole in corpus.batches():
            rows = np.flatnonzero(learned_from[first : first + len(whole)])
            table = whole if len(rows) == len(whole) else whole.take(rows)
            cover = table.coverage
            grams.add(_with_masks(cover.grams, cover.gram_masks), np.diff(cover.gram_offsets))
            clauses.add(_with_masks(cover.clauses, cover.clause_masks), np.diff(cover.clause_offsets))
            periods.add(table.periods.signatures, np.diff(table.periods.offsets))
            samples.append(
                PostingSample.of(table, corpus.place_keys[first + rows], corpus.days[first + rows])
            )
        sample = PostingSample.joined(samples)
        sites = [corpus.sites[row] for row in np.flatnonzero(learned_from).tolist()]
        # Arrays are worked on outside the interpreter's lock; of a corpus in files one column at a time is in memory.
        pool = stack.enter_context(ThreadPoolExecutor(1 if corpus.folder else 2))
        most = corpus.most or (None if native.core else MOST_IN_MEMORY)
        of_grams = pool.submit(_weights, grams, sample, most)
        of_clauses = pool.submit(_weights, clauses, sample, most)
        noise = pool.submit(_noise, periods, sites, config, most)
        return Statistics(*of_grams.result(), *of_clauses.result(), noise.result(), len(corpus))


def store_statistics(index: Index, statistics: Statistics, packed: bytes, settings: Settings) -> None:
    """Put statistics in force, with the decision settings of those who decide by them.

    Args:
        index: to write to; the caller keeps other writers out.
        statistics: as learned.
        packed: the same as bytes.
        settings: the index records those that decide.
    """
    note = clustered_with(statistics.version, statistics.pages, settings)
    index.save_statistics(packed, {STATISTICS: note})


def _with_masks(values: NDArray[np.uint32], masks: NDArray[np.uint32]) -> NDArray[np.uint64]:
    packed: NDArray[np.uint64] = (values.astype(np.uint64) << np.uint64(MASK_BITS)) | masks
    return packed


def _weights(
    column: Column, sample: PostingSample, most: int | None
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Grams or clauses that recur, ascending, and what each counts."""
    values, weights = [np.zeros(0, dtype=np.uint32)], [np.zeros(0, dtype=np.float32)]
    for low, high in value_ranges([column], most, 1 << MASK_BITS):
        known, counted = weigh(*column.between(low, high), sample)
        values.append(known)
        weights.append(counted)
        if most is not None:
            release_memory()
    return np.concatenate(values), np.concatenate(weights)


def _noise(column: Column, sites: Sequence[str], config: CcdetConfig, most: int | None) -> NDArray[np.uint64]:
    """Period signatures that are the template of one site, ascending."""
    signatures = [np.zeros(0, dtype=np.uint64)]
    for low, high in value_ranges([column], most):
        values, offsets = column.between(low, high)
        periods = PeriodTable.whole(offsets, values)
        signatures.append(learn_noise(periods, sites, config))
    return np.concatenate(signatures)


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """Statistics and settings that the clusters of an index were made with, so that new pages are decided on alike.

    Attributes:
        note: text of the note ``STATISTICS`` that they were read by.
        settings: those of the caller, with the decision settings that the index records.
        differences: the decision settings of the caller that are not in force.
        statistics: as stored.
    """

    note: str | None
    settings: Settings
    differences: tuple[Difference, ...]
    statistics: Statistics

    @classmethod
    def read(
        cls, index: Index, given: Settings, note: str | None, known: EffectiveSettings | None = None
    ) -> EffectiveSettings:
        """What is stored; ``known`` while the note still is what it was.

        Raises:
            ValueError: the statistics are damaged.
        """
        if known is not None and known.note == note:
            return known
        recorded = decisions_in(note)
        stored = index.load_statistics()
        return cls(
            note,
            with_recorded(given, recorded),
            decision_differences(recorded, given),
            Statistics.from_bytes(stored) if stored else Statistics.empty(),
        )
