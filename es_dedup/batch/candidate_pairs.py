"""Candidate pairs of a whole corpus: the joins of all enabled methods, at once in memory or a range of terms at a time in files.

Terms of a pair may lie in several ranges, so the counts of a range are written to files by query row, added up for some thousand query rows at a
time, and only then filtered by the rules of the join.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch import join as rules
from es_dedup.batch.columns import Column, value_ranges
from es_dedup.batch.join import Hits, JoinMethod, PostingLists, TermJoin, join_methods
from es_dedup.batch.memory import release_memory
from es_dedup.decision.term_use import TermUse
from es_dedup.detectors.packed_features import packed_detectors, packed_query_terms, packed_stored_terms
from es_dedup.text.hashing import TERM_BITS
from es_dedup.text.ragged import owners_of, sorted_distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

    from es_dedup.batch.corpus import Corpus, Weighing
    from es_dedup.model import TermGroup
    from es_dedup.settings import Settings

    Keys = NDArray[np.uint64]
    Rows = NDArray[np.int64]

THREADS: Final = 2
"""Of a corpus in memory: grams take as long as all else, and each thread needs memory for what it joins."""
QUERY_ROWS: Final = 10_000  # rows whose pairs are added up at a time
HITS: Final = 250_000  # joined rows of a corpus in files that are in memory at a time
COUNTED: Final = np.dtype([("pair", "<u8"), ("shared", "<u4")])
HIGH: Final = np.uint64(32)
NO_TERMS: Final = (np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))  # and the rows of none


class PairBlocks:
    """Pairs, or counted pairs, in files by blocks of their first row; in memory they are one block."""

    def __init__(self, folder: Path | None, name: str, kind: np.dtype[Any]) -> None:
        """No pairs; ``name`` is that of the files."""
        self._folder, self._name, self._kind = folder, name, kind
        self._in_memory: list[NDArray[Any]] = []
        self._blocks: set[int] = set()

    def add(self, pairs: NDArray[Any], first: Rows) -> None:
        """Add some; ``first`` is the first row of each."""
        if self._folder is None:
            self._in_memory.append(pairs)
            return
        block = first // QUERY_ROWS
        order = np.argsort(block, kind="stable")
        pairs, block = pairs[order], block[order]
        for each in sorted_distinct(block).tolist():
            start, end = np.searchsorted(block, [each, each + 1])
            with (self._folder / f"{self._name}-{each}").open("ab") as file:
                file.write(pairs[start:end].tobytes())
            self._blocks.add(each)

    def take(self) -> Iterator[NDArray[Any]]:
        """Block after block; each is gone afterwards."""
        if self._in_memory:
            yield np.concatenate(self._in_memory)
            self._in_memory = []
        for each in sorted(self._blocks):
            path = (self._folder or Path()) / f"{self._name}-{each}"
            yield np.fromfile(path, dtype=self._kind)
            path.unlink()
        self._blocks.clear()


@dataclass(slots=True)
class _Join:
    """One join: terms of all rows, and what decides which counted pairs are candidates.

    Attributes:
        name: names its files.
        bits: width of the terms.
        queried, stored: terms; one column where pages query what they store.
        keys, least, sampled: as of ``JoinMethod``.
        max_df: as of ``TermJoin.run``.
        facts: what ``keys`` has to know of each row, part by part.
    """

    name: str
    bits: int
    queried: Column
    stored: Column
    keys: Callable[[Hits, NDArray[np.uint64], Column], Keys]
    least: int = 2
    sampled: bool = False
    max_df: int | None = None
    facts: list[NDArray[np.uint64]] = field(default_factory=list)


class CorpusJoin:
    """All joins of a corpus.

    Args:
        corpus: its pages.
        ranks: place of each row in canonical order; shape (rows,).
        settings: which detectors query.
        weigh: what grams and clauses count; those that are template bring no pages together.

    Attributes:
        use: terms queried by methods with limits of their own, and terms left out.
    """

    def __init__(self, corpus: Corpus, ranks: Rows, settings: Settings, weigh: Weighing) -> None:
        self.use = TermUse()
        self._capped: list[int] = []  # several threads append
        self._corpus, self._settings, self._weigh = corpus, settings, weigh
        self._rows = PostingLists(ranks, rules.answering(corpus.hashes, ranks))
        self._candidates = PairBlocks(corpus.folder, "pairs", np.dtype("<u8"))

    @property
    def capped_terms(self) -> int:
        """Candidate terms of which only the first postings were joined, or none."""
        return sum(self._capped)

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Candidate pairs (left row < right row), each once, ascending, some at a time."""
        if not len(self._corpus):
            return
        methods = join_methods(self._settings)
        if self._corpus.folder is None:
            # one thread has the first, which takes as long as all others; the other begins with those that need no statistics
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(self._join_by, [[each] for each in methods[:1] + methods[:0:-1]]))
        elif methods:
            self._join_by(methods)
        if detectors := packed_detectors(self._settings):
            self._join_by_queries(detectors)
        self._keep(rules.equal_pairs(self._corpus.hashes, self._rows.ranks))
        for keys in self._candidates.take():
            yield rules.rows_of(sorted_distinct(keys))

    def _keep(self, keys: Keys) -> None:
        self._candidates.add(keys, rules.rows_of(keys)[0])

    def _column(self, stack: ExitStack, name: str, kind: DTypeLike) -> Column:
        return stack.enter_context(closing(Column(self._corpus.folder, name, kind)))

    def _join_by(self, methods: Sequence[JoinMethod]) -> None:
        """Pairs by some of the default methods, in one pass over the features."""
        with ExitStack() as stack:
            joins: list[_Join] = []
            for method in methods:
                queried = self._column(stack, f"queried-{method.name}", method.kind)
                stored = queried if method.own else self._column(stack, f"stored-{method.name}", method.kind)
                of_method = method.name, method.bits, queried, stored, method.keys
                joins.append(_Join(*of_method, least=method.least, sampled=method.sampled))
            for _, table in self._corpus.batches():
                for method, join in zip(methods, joins, strict=True):
                    terms = method.terms(table, self._weigh)
                    join.queried.add(terms.queried, terms.query_counts)
                    if not method.own:
                        join.stored.add(terms.stored, terms.stored_counts)
                    join.facts.append(terms.facts)
            for join in joins:
                self._join(join)
                join.queried.close()
                join.stored.close()

    def _join_by_queries(self, names: Iterable[str]) -> None:
        """Pairs by the candidate queries of methods beyond the default ones: each group of terms as one join.

        A group with a limit of its own on the pages of a term is answered as an index answers it: such terms are left out, and all
        pages of the others are found.
        """
        with ExitStack() as stack:
            stored = {name: self._column(stack, f"stored-{name}", np.uint64) for name in names}
            joins: dict[tuple[str, int], _Join] = {}
            for first, table in self._corpus.batches():
                terms_of = dict(packed_stored_terms(table.packed, self._settings))
                for name, column in stored.items():
                    terms, owners = terms_of.get(name, NO_TERMS)
                    column.add(terms, np.bincount(owners, minlength=len(table)))
                groups: dict[tuple[str, int], dict[int, TermGroup]] = {}
                for row in range(len(table)):
                    places = Counter[str]()
                    for group in packed_query_terms(table.packed, row, self._settings):
                        groups.setdefault((group.method, places[group.method]), {})[row] = group
                        places[group.method] += 1
                for name, place in groups.keys() - joins.keys():
                    queried = self._column(stack, f"queried-{name}-{place}", np.uint64)
                    max_df = next(iter(groups[name, place].values())).max_df
                    of_group = f"{name}-{place}", TERM_BITS, queried, stored[name], _at_least
                    join = _Join(*of_group, max_df=max_df)
                    _add_groups(join, {}, first)  # no page before has so many groups
                    joins[name, place] = join
                for key, join in joins.items():
                    _add_groups(join, groups.get(key, {}), len(table))
            for (name, _), join in sorted(joins.items()):
                left_out = self._join(join)
                self.use += TermUse.of(name, int(join.queried.offsets[-1]), left_out)
                self._capped.append(left_out)

    def _join(self, terms: _Join) -> int:
        """Keep the pairs of which, with all terms counted, the rule approves; how many terms had more postings than their limit allows."""
        corpus, queried, stored = self._corpus, terms.queried, terms.stored
        facts = np.concatenate(terms.facts)
        ranges = list(value_ranges([queried] if queried is stored else [queried, stored], corpus.most))
        whole = len(ranges) == 1  # else more terms of a pair may come
        counted = PairBlocks(corpus.folder, f"counted-{terms.name}", COUNTED)
        left_out = 0
        for low, high in ranges:
            values, offsets = stored.between(low, high)
            sampled = facts if terms.sampled and whole else None
            join = TermJoin(
                values, owners_of(offsets), self._rows, terms.bits, least=terms.least, facts=sampled
            )
            values, offsets = queried.between(low, high)
            most = HITS if corpus.folder else rules.CHUNK_HITS
            for hits in join.run(values, offsets, most, max_df=terms.max_df):
                if whole:
                    self._keep(terms.keys(hits, facts, stored))
                    continue
                pairs = np.empty(len(hits.query), dtype=COUNTED)
                pairs["pair"] = (hits.query.astype(np.uint64) << HIGH) | hits.stored.astype(np.uint64)
                pairs["shared"] = hits.shared
                counted.add(pairs, hits.query)
            self._capped.append(join.capped)
            left_out += join.left_out
            release_memory()
        for some in counted.take():
            self._keep(terms.keys(_added(some), facts, stored))
        return left_out


def _add_groups(join: _Join, groups: Mapping[int, TermGroup], rows: int) -> None:
    """Add the query terms of the next rows: those in one group of each page's candidate query, and how many of them pairs must share."""
    counts, least = np.zeros(rows, dtype=np.int64), np.ones((rows, 1), dtype=np.uint64)
    for row, group in groups.items():
        counts[row], least[row] = len(group.terms), group.min_shared
    terms = [term for group in groups.values() for term in group.terms]
    join.queried.add(np.array(terms, dtype=np.uint64), counts)
    join.facts.append(least)


def _at_least(hits: Hits, least: NDArray[np.uint64], _: Column) -> Keys:
    """Pairs with as many shared terms as the query row's group needs."""
    enough = hits.shared >= least[hits.query, 0].astype(np.int64)
    return rules.pair_keys(hits.query[enough], hits.stored[enough])


def _added(some: NDArray[Any]) -> Hits:
    """The counts of each pair added up."""
    pairs, at = np.unique(some["pair"], return_inverse=True)
    shared = np.bincount(at, weights=some["shared"], minlength=len(pairs)).astype(np.int64)
    return Hits(*rules.rows_of(pairs), shared)
