"""Candidate pairs of a whole corpus: the joins of all enabled methods, at once in memory or a range of terms at a time in files.

Terms of a pair may lie in several ranges, so the counts of a range are written to files by query row, added up for some thousand query rows at a
time, and only then filtered by the rules of the join.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch import join as rules
from es_dedup.batch.columns import Column, column, offsets_from, value_ranges
from es_dedup.batch.join import Hits, PostingLists, TermJoin
from es_dedup.batch.join_methods import join_methods
from es_dedup.batch.memory import release_memory
from es_dedup.decision.term_use import TermUse
from es_dedup.detectors.others import other_detectors, queried_by_others, stored_by_others
from es_dedup.text.hashing import TERM_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from es_dedup.batch.corpus import Corpus, Weighing
    from es_dedup.batch.join_methods import JoinMethod
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.model import TermGroup
    from es_dedup.settings import Settings

    Keys = NDArray[np.uint64]
    Rows = NDArray[np.int64]

THREADS: Final = 2  # of a corpus in memory: grams take as long as all else, and each holds what it joins
QUERY_ROWS: Final = 10_000  # rows whose pairs are added up at a time
HITS: Final = 250_000  # joined rows held at a time
COUNTED: Final = np.dtype([("pair", "<u8"), ("shared", "<u4")])
LOW: Final = np.uint64(0xFFFFFFFF)
HIGH: Final = np.uint64(32)
NOTHING: Final = (np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))  # no terms of no rows


class PairBlocks:
    """Pairs, or counted pairs, in files by blocks of their first row, or kept in memory as one block."""

    def __init__(self, folder: Path | None, name: str, rows: int, kind: np.dtype[Any]) -> None:
        """Empty; ``rows`` is the number of all rows."""
        self._folder, self._name, self._kind = folder, name, kind
        self._kept: list[NDArray[Any]] = []
        self._blocks = range(-(-rows // QUERY_ROWS))

    def add(self, pairs: NDArray[Any], first: Rows) -> None:
        """Lay some down; ``first`` is the first row of each."""
        if self._folder is None:
            self._kept.append(pairs)
            return
        block = first // QUERY_ROWS
        order = np.argsort(block, kind="stable")
        pairs, block = pairs[order], block[order]
        for each in np.unique(block).tolist():
            start, end = np.searchsorted(block, [each, each + 1])
            with self._path(each).open("ab") as file:
                file.write(pairs[start:end].tobytes())

    def take(self) -> Iterator[NDArray[Any]]:
        """Block after block; each is gone afterwards."""
        if self._folder is None:
            if self._kept:
                yield np.concatenate(self._kept)
            self._kept = []
            return
        for each in self._blocks:
            path = self._path(each)
            if path.exists():
                yield np.fromfile(path, dtype=self._kind)
                path.unlink()

    def _path(self, block: int) -> Path:
        return (self._folder or Path()) / f"{self._name}-{block}"


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the default methods with the terms and facts of all rows."""

    method: JoinMethod
    queried: Column
    stored: Column
    facts: list[NDArray[np.uint64]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Terms:
    """Terms of all rows to be joined; see ``TermJoin`` and its ``run``."""

    queried: Column
    stored: Column
    bits: int
    least: int = 2
    facts: NDArray[np.uint64] | None = None
    max_df: int | None = None


class CorpusJoin:
    """All joins of a corpus.

    Args:
        corpus: its pages.
        ranks: place of each row in canonical order; shape (rows,).
        settings: which detectors query.
        weigh: what grams and clauses count; those that are template bring no pages together.

    Attributes:
        capped_terms: candidate terms of which only the first postings were joined, or none.
        use: terms queried by methods with limits of their own, and terms left out.
    """

    def __init__(self, corpus: Corpus, ranks: Rows, settings: Settings, weigh: Weighing) -> None:
        self._capped: list[int] = []  # several threads append
        self._left_out = 0
        self.use = TermUse()
        self._corpus, self._settings, self._weigh = corpus, settings, weigh
        self._rows = PostingLists(ranks, rules.answering(corpus.hashes, ranks))
        self._found = PairBlocks(corpus.folder, "pairs", len(corpus), np.dtype("<u8"))

    @property
    def capped_terms(self) -> int:
        """See the class."""
        return sum(self._capped)

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Candidate pairs (left row < right row), each once, ascending, some at a time."""
        self._default()
        self._further()
        self._keep(rules.equal_pairs(self._corpus.hashes, self._rows.ranks))
        for keys in self._found.take():
            every = np.unique(keys)
            yield (every >> HIGH).astype(np.int64), (every & LOW).astype(np.int64)

    def _keep(self, keys: Keys) -> None:
        self._found.add(keys, (keys >> HIGH).astype(np.int64))

    def _column(self, stack: ExitStack, name: str, kind: type[np.unsignedinteger[Any]]) -> Column:
        made = column(self._corpus.folder, name, kind)
        stack.callback(made.close)
        return made

    def _default(self) -> None:
        """Pairs by the default methods: in memory beside each other, of files in one pass over the features."""
        with ExitStack() as stack:
            parts: list[_Part] = []
            for method in join_methods(self._settings):
                queried = self._column(stack, f"queried-{method.name}", method.kind)
                stored = queried if method.own else self._column(stack, f"stored-{method.name}", method.kind)
                parts.append(_Part(method, queried, stored))
            if self._corpus.folder is None:
                # one thread has the first, which takes as long as all others; the other begins with those that need no statistics
                with ThreadPoolExecutor(THREADS) as pool:
                    list(pool.map(self._collect_and_join, parts[:1] + parts[:0:-1]))
                return
            for _, table in self._corpus.batches() if parts else ():
                for part in parts:
                    self._collect(table, part)
            for part in parts:
                self._join(part)

    def _collect_and_join(self, part: _Part) -> None:
        for _, table in self._corpus.batches():
            self._collect(table, part)
        self._join(part)

    def _collect(self, table: FeatureTable, part: _Part) -> None:
        """The terms of the next rows for one method."""
        terms = part.method.terms(table, self._weigh)
        part.queried.add(terms.queried, terms.query_counts)
        if not part.method.own:
            part.stored.add(terms.stored, terms.stored_counts)
        part.facts.append(terms.facts)

    def _join(self, part: _Part) -> None:
        """The pairs of one method."""
        method = part.method
        if part.facts:
            facts = np.concatenate(part.facts)
            sampled = facts if method.sampled else None
            terms = _Terms(part.queried, part.stored, method.bits, method.least, sampled)
            self._counted(method.name, terms, method.rule(facts, part.stored))
        part.queried.close()
        part.stored.close()

    def _further(self) -> None:
        """Pairs by the candidate queries of methods beyond the default ones: each group of terms as one join.

        A group with a limit of its own on the pages of a term is answered as an index answers it: such terms are left out, and all
        pages of the others are found.
        """
        with ExitStack() as stack:
            methods: dict[str, tuple[Column, list[_Group]]] = {
                name: (self._column(stack, f"stored-{name}", np.uint64), [])
                for name in other_detectors(self._settings)
            }
            for first, table in self._corpus.batches() if methods else ():
                kept = dict(stored_by_others(table.others, self._settings))
                queried = [queried_by_others(table.others, row, self._settings) for row in range(len(table))]
                for name, (stored, groups) in methods.items():
                    terms, owners = kept.get(name, NOTHING)
                    stored.add(terms, np.bincount(owners, minlength=len(table)))
                    own = [[group for group in page if group.method == name] for page in queried]
                    while len(groups) < max(map(len, own), default=0):
                        made = self._column(stack, f"queried-{name}-{len(groups)}", np.uint64)
                        groups.append(_Group(made, first))
                    for place, group in enumerate(groups):
                        group.add([page[place] if place < len(page) else None for page in own])
            for name, (stored, groups) in methods.items():
                for place, group in enumerate(groups):
                    before = self._left_out
                    joined = _Terms(group.queried, stored, TERM_BITS, max_df=group.max_df)
                    self._counted(f"{name}-{place}", joined, group.rule())
                    left_out = self._left_out - before
                    self.use += TermUse.of(name, int(group.queried.offsets[-1]), left_out)
                    self._capped.append(left_out)

    def _counted(self, name: str, terms: _Terms, rule: Callable[[Hits], Keys]) -> None:
        """Keep the pairs of which, with all terms counted, the rule approves."""
        counted = PairBlocks(self._corpus.folder, f"counted-{name}", len(self._corpus), COUNTED)
        for only, hits in self._hits(terms):
            if only:  # all terms are in one range
                self._keep(rule(hits))
                continue
            made = np.empty(len(hits.query), dtype=COUNTED)
            made["pair"] = (hits.query.astype(np.uint64) << HIGH) | hits.stored.astype(np.uint64)
            made["shared"] = hits.shared
            counted.add(made, hits.query)
        for some in counted.take():
            self._keep(rule(_added(some)))

    def _hits(self, terms: _Terms) -> Iterator[tuple[bool, Hits]]:
        """Counted pairs of each range of terms, and whether there is no other range."""
        queried, stored = terms.queried, terms.stored
        columns = [queried] if queried is stored else [queried, stored]
        corpus = self._corpus
        ranges = list(value_ranges(columns, corpus.most, terms.bits))
        facts = terms.facts if len(ranges) == 1 else None  # else more terms of a pair may come
        most = HITS if corpus.folder else rules.CHUNK_HITS
        for low, high in ranges:
            values, owners = stored.between(low, high)
            join = TermJoin(values, owners, self._rows, terms.bits, least=terms.least, facts=facts)
            values, owners = queried.between(low, high)
            offsets = offsets_from(owners, len(corpus))
            for hits in join.run(values, offsets, most, max_df=terms.max_df):
                yield len(ranges) == 1, hits
            self._capped.append(join.capped)
            self._left_out += join.left_out  # of further methods, which are joined one after the other
            release_memory()


class _Group:
    """Query terms of one method in one group of each page's candidate query, row after row."""

    def __init__(self, queried: Column, rows: int) -> None:
        """No terms of the first ``rows`` rows."""
        self.queried = queried
        self.queried.add(np.zeros(0, dtype=np.uint64), np.zeros(rows, dtype=np.int64))
        self.max_df: int | None = None
        self._least = [np.ones(rows, dtype=np.int64)]
        self._any = False

    def add(self, groups: list[TermGroup | None]) -> None:
        """Those of the next rows."""
        terms = [term for group in groups if group for term in group.terms]
        self.queried.add(
            np.array(terms, dtype=np.uint64), [len(group.terms) if group else 0 for group in groups]
        )
        self._least.append(np.array([group.min_shared if group else 1 for group in groups], dtype=np.int64))
        if not self._any and (first := next(filter(None, groups), None)) is not None:
            self.max_df, self._any = first.max_df, True

    def rule(self) -> Callable[[Hits], Keys]:
        """Pairs with as many shared terms as the query row's group needs."""
        least = np.concatenate(self._least)

        def keys(hits: Hits) -> Keys:
            keep = hits.shared >= least[hits.query]
            return rules.pair_keys(hits.query[keep], hits.stored[keep])

        return keys


def _added(some: NDArray[Any]) -> Hits:
    some = some[np.argsort(some["pair"], kind="stable")]
    starts = np.flatnonzero(np.concatenate(([True], some["pair"][1:] != some["pair"][:-1])))
    pairs = some["pair"][starts]
    shared = np.add.reduceat(some["shared"].astype(np.int64), starts)
    return Hits((pairs >> HIGH).astype(np.int64), (pairs & LOW).astype(np.int64), shared)
