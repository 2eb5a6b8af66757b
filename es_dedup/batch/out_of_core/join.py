"""Candidate pairs of a corpus in files: the joins of ``batch.join``, a range of terms at a time.

Terms of a pair may lie in several ranges, so what a range has counted is laid down by asker, added up for some thousand askers at a
time, and only then judged by the rules of the join.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch import join as whole
from es_dedup.batch.join import Carriers, Hits, TermJoin
from es_dedup.batch.out_of_core.column import Column, offsets_from, value_ranges
from es_dedup.batch.out_of_core.memory import give_back
from es_dedup.detectors import coverage, fingerprint
from es_dedup.detectors.coverage_pairs import CONTENT
from es_dedup.text.hashing import HASH_BITS_IN_TERM, TERM_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from es_dedup.batch.out_of_core.pages import StoredPages
    from es_dedup.decision.statistics import Statistics
    from es_dedup.settings import Settings

    Keys = NDArray[np.uint64]
    Rows = NDArray[np.int64]

ASKERS: Final = 10_000  # rows whose pairs are added up at a time
HITS: Final = 250_000  # joined rows held at a time
GRAM_BITS: Final = 32
COUNTED: Final = np.dtype([("pair", "<u8"), ("shared", "<u4")])
LOW: Final = np.uint64(0xFFFFFFFF)
HIGH: Final = np.uint64(32)


class Piles:
    """Pairs, or counted pairs, laid down by blocks of their first row."""

    def __init__(self, folder: Path, name: str, rows: int, kind: np.dtype[Any]) -> None:
        """Nothing laid down yet; ``rows`` is the number of all rows."""
        self._folder, self._name, self._kind = folder, name, kind
        self._blocks = range(-(-rows // ASKERS))

    def add(self, pairs: NDArray[Any], first: Rows) -> None:
        """Lay some down; ``first`` is the first row of each."""
        block = first // ASKERS
        order = np.argsort(block, kind="stable")
        pairs, block = pairs[order], block[order]
        for each in np.unique(block).tolist():
            start, end = np.searchsorted(block, [each, each + 1])
            with self._path(each).open("ab") as file:
                file.write(pairs[start:end].tobytes())

    def take(self) -> Iterator[NDArray[Any]]:
        """Block after block; each is gone afterwards."""
        for each in self._blocks:
            path = self._path(each)
            if path.exists():
                yield np.fromfile(path, dtype=self._kind)
                path.unlink()

    def _path(self, block: int) -> Path:
        return self._folder / f"{self._name}-{block}"


class StoredJoin:
    """All joins of a corpus; ``pairs`` gives what ``candidate_pairs`` gives.

    Args:
        pages: the corpus.
        settings: which detectors ask; only the default ones.
        statistics: what grams and clauses count.
        folder: for temporary files.
        most: terms held at a time, about.
    """

    def __init__(
        self, pages: StoredPages, settings: Settings, statistics: Statistics, folder: Path, most: int
    ) -> None:
        self.capped = 0
        self._pages, self._settings, self._statistics = pages, settings, statistics
        self._folder, self._most = folder, most
        self._rows = Carriers(pages.ranks, whole.answering(pages.hashes, pages.ranks))
        self._found = Piles(folder, "pairs", len(pages), np.dtype("<u8"))

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Candidate pairs (left row < right row), each once, ascending, some at a time."""
        enabled = self._settings.detectors
        if coverage.Coverage.name in enabled:
            self._sampled()
        if "ccdet" in enabled:
            self._periods()
        if "simhash" in enabled:
            self._fingerprints()
        self._keep(whole.equal_pairs(self._pages.hashes, self._pages.ranks))
        for found in self._found.take():
            every = np.unique(found)
            yield (every >> HIGH).astype(np.int64), (every & LOW).astype(np.int64)

    def _keep(self, keys: Keys) -> None:
        self._found.add(keys, (keys >> HIGH).astype(np.int64))

    def _sampled(self) -> None:
        with ExitStack() as stack:

            def column(name: str) -> Column:
                made = Column(self._folder, name, np.uint32)
                stack.callback(made.close)
                return made

            sides: dict[str, tuple[Column, Column, list[tuple[NDArray[np.uint32], Keys]]]] = {
                name: (column(f"asked-{name}"), column(f"stored-{name}"), []) for name in ("grams", "clauses")
            }
            for _, table in self._pages.batches():
                cover = table.coverage
                weights = self._statistics.weights(cover)
                for name, asked, stored, weight in (
                    ("grams", coverage.probed_grams, coverage.stored_grams, weights.grams),
                    ("clauses", coverage.probed_clauses, coverage.stored_clauses, weights.clauses),
                ):
                    useful = weight >= CONTENT
                    asks, keeps = asked(cover).only(useful), stored(cover).only(useful)
                    for side, column_ in ((asks, sides[name][0]), (keeps, sides[name][1])):
                        column_.add(side.values, np.diff(side.offsets))
                    sides[name][2].append((asks.bound, whole.third_value(keeps.values, keeps.offsets)))
            for name, share in (("grams", whole.GRAM_SHARE), ("clauses", whole.CLAUSE_SHARE)):
                asked_, stored_, about = sides[name]
                bound = np.concatenate([each for each, _ in about] or [np.zeros(0, dtype=np.uint32)])
                third = np.concatenate([each for _, each in about] or [np.zeros(0, dtype=np.uint64)])
                rule = partial(
                    whole.sampled_keys, third=third, bound=bound, share=share, below=partial(_below, stored_)
                )
                self._counted(name, asked_, stored_, GRAM_BITS, rule, least=1)

    def _periods(self) -> None:
        column = Column(self._folder, "signatures", np.uint64)
        sizes = [np.zeros(0, dtype=np.int64)]
        try:
            for _, table in self._pages.batches():
                column.add(table.periods.signatures, np.diff(table.periods.offsets))
                sizes.append(table.periods.comparable)
            rule = partial(whole.period_keys, size=np.concatenate(sizes), config=self._settings.ccdet)
            self._counted("periods", column, column, HASH_BITS_IN_TERM, rule)
        finally:
            column.close()

    def _fingerprints(self) -> None:
        limit = self._settings.simhash.max_hamming_distance
        asked, stored = Column(self._folder, "bands", np.uint64), Column(self._folder, "kept", np.uint64)
        try:
            for first in range(0, len(self._pages), ASKERS):
                having = self._pages.has_words[first : first + ASKERS]
                kept, near = whole.bands_of(self._pages.fingerprints[first : first + ASKERS][having], limit)
                asked.add(near.ravel(), having * near.shape[1])
                stored.add(kept.ravel(), having * fingerprint.BANDS)
            for _, hits in self._hits(asked, stored, TERM_BITS, least=2):
                self._keep(whole.fingerprint_keys(hits, self._pages.fingerprints, limit))
        finally:
            asked.close()
            stored.close()

    def _counted(
        self,
        name: str,
        asked: Column,
        stored: Column,
        bits: int,
        rule: Callable[[Hits], Keys],
        *,
        least: int = 2,
    ) -> None:
        """Keep the pairs of which, with all terms counted, the rule approves."""
        counted = Piles(self._folder, f"counted-{name}", len(self._pages), COUNTED)
        for only, hits in self._hits(asked, stored, bits, least=least):
            if only:  # all terms are in one range
                self._keep(rule(hits))
                continue
            made = np.empty(len(hits.asker), dtype=COUNTED)
            made["pair"] = (hits.asker.astype(np.uint64) << HIGH) | hits.stored.astype(np.uint64)
            made["shared"] = hits.shared
            counted.add(made, hits.asker)
        for some in counted.take():
            self._keep(rule(_added(some)))

    def _hits(self, asked: Column, stored: Column, bits: int, *, least: int) -> Iterator[tuple[bool, Hits]]:
        """Counted pairs of each range of terms, and whether there is no other range."""
        columns = [asked] if asked is stored else [asked, stored]
        ranges = list(value_ranges(columns, self._most, bits))
        for low, high in ranges:
            values, owners = stored.between(low, high)
            join = TermJoin(values, owners, self._rows, bits, least=least)
            values, owners = asked.between(low, high)
            for hits in join.run(values, offsets_from(owners, len(self._pages)), HITS):
                yield len(ranges) == 1, hits
            self.capped += join.capped
            give_back()


def _added(some: NDArray[Any]) -> Hits:
    some = some[np.argsort(some["pair"], kind="stable")]
    starts = np.flatnonzero(np.concatenate(([True], some["pair"][1:] != some["pair"][:-1])))
    pairs = some["pair"][starts]
    shared = np.add.reduceat(some["shared"].astype(np.int64), starts)
    return Hits((pairs >> HIGH).astype(np.int64), (pairs & LOW).astype(np.int64), shared)


def _below(stored: Column, rows: Rows, bound: NDArray[np.uint32]) -> Rows:
    """How many of each row's values are at most the bound."""
    distinct, at = np.unique(rows, return_inverse=True)
    values, offsets = stored.take(distinct)
    owner = np.repeat(np.arange(len(distinct), dtype=np.uint64), np.diff(offsets))
    ordered = (owner << HIGH) | values
    return np.searchsorted(ordered, (at.astype(np.uint64) << HIGH) | bound, side="right") - offsets[at]
