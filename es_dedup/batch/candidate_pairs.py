"""Candidate pairs of a whole corpus: the joins of all enabled methods, at once in memory or a range of terms at a time in files.

Terms of a pair may lie in several ranges, so the counts of a range are written to files by query row, added up for some thousand query rows at a
time, and only then filtered by the rules of the join.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch import join as rules
from es_dedup.batch.columns import Column, column, offsets_from, value_ranges
from es_dedup.batch.join import Hits, PostingLists, TermJoin
from es_dedup.batch.memory import give_back
from es_dedup.decision.term_use import TermUse
from es_dedup.detectors import coverage, fingerprint
from es_dedup.detectors.coverage_pairs import CONTENT
from es_dedup.detectors.others import other_detectors, queried_by_others, stored_by_others
from es_dedup.text.hashing import HASH_BITS_IN_TERM, TERM_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from es_dedup.batch.corpus import Corpus, Weighing
    from es_dedup.model import TermGroup
    from es_dedup.settings import Settings

    Keys = NDArray[np.uint64]
    Rows = NDArray[np.int64]

QUERY_ROWS: Final = 10_000  # rows whose pairs are added up at a time
HITS: Final = 250_000  # joined rows held at a time
GRAM_BITS: Final = 32
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
        self.capped_terms = self._left_out = 0
        self.use = TermUse()
        self._corpus, self._settings, self._weigh = corpus, settings, weigh
        self._rows = PostingLists(ranks, rules.answering(corpus.hashes, ranks))
        self._found = PairBlocks(corpus.folder, "pairs", len(corpus), np.dtype("<u8"))

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Candidate pairs (left row < right row), each once, ascending, some at a time."""
        enabled = self._settings.detectors
        if coverage.Coverage.name in enabled:
            self._sampled()
        if "ccdet" in enabled:
            self._periods()
        if "simhash" in enabled:
            self._fingerprints()
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

    def _sampled(self) -> None:
        """Pairs in which the query page holds a share of the other's stored grams or clauses that it can know of.

        Both pages are query pages, so a short page inside a long one is found by the long one, which has all the short one's terms.
        """
        with ExitStack() as stack:
            sides: dict[str, tuple[Column, Column, list[tuple[NDArray[np.uint32], Keys]]]] = {
                name: (
                    self._column(stack, f"queried-{name}", np.uint32),
                    self._column(stack, f"stored-{name}", np.uint32),
                    [],
                )
                for name in ("grams", "clauses")
            }
            for _, table in self._corpus.batches():
                cover, weights = table.coverage, self._weigh(table)
                for name, queried, stored, weight in (
                    ("grams", coverage.query_grams, coverage.stored_grams, weights.grams),
                    ("clauses", coverage.query_clauses, coverage.stored_clauses, weights.clauses),
                ):
                    useful = weight >= CONTENT
                    terms, kept = queried(cover).only(useful), stored(cover).only(useful)
                    for side, column_ in ((terms, sides[name][0]), (kept, sides[name][1])):
                        column_.add(side.values, np.diff(side.offsets))
                    sides[name][2].append((terms.bound, rules.third_value(kept.values, kept.offsets)))
            for name, share in (("grams", rules.GRAM_SHARE), ("clauses", rules.CLAUSE_SHARE)):
                queried_, stored_, about = sides[name]
                bound = np.concatenate([each for each, _ in about] or [np.zeros(0, dtype=np.uint32)])
                third = np.concatenate([each for _, each in about] or [np.zeros(0, dtype=np.uint64)])
                rule = partial(rules.sampled_keys, third=third, bound=bound, share=share, below=stored_.below)
                # pages query more terms than they store, so a term that one page stores may join it
                self._counted(name, queried_, stored_, GRAM_BITS, rule, least=1)

    def _periods(self) -> None:
        sizes = [np.zeros(0, dtype=np.int64)]
        with ExitStack() as stack:
            signatures = self._column(stack, "signatures", np.uint64)
            for _, table in self._corpus.batches():
                signatures.add(table.periods.signatures, np.diff(table.periods.offsets))
                sizes.append(table.periods.comparable)
            rule = partial(rules.period_keys, size=np.concatenate(sizes), config=self._settings.ccdet)
            self._counted("periods", signatures, signatures, HASH_BITS_IN_TERM, rule)

    def _fingerprints(self) -> None:
        """Pairs with an equal band (or a band one bit apart, beyond three bits) and few differing bits."""
        limit = self._settings.simhash.max_hamming_distance
        corpus = self._corpus
        with ExitStack() as stack:
            queried, stored = (self._column(stack, name, np.uint64) for name in ("bands", "kept"))
            for first in range(0, len(corpus), QUERY_ROWS):
                having = corpus.has_words[first : first + QUERY_ROWS]
                kept, near = rules.bands_of(corpus.fingerprints[first : first + QUERY_ROWS][having], limit)
                queried.add(near.ravel(), having * near.shape[1])
                stored.add(kept.ravel(), having * fingerprint.BANDS)
            for _, hits in self._hits(queried, stored, TERM_BITS):
                self._keep(rules.fingerprint_keys(hits, corpus.fingerprints, limit))

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
                    rule = group.rule()
                    self._counted(
                        f"{name}-{place}", group.queried, stored, TERM_BITS, rule, max_df=group.max_df
                    )
                    left_out = self._left_out - before
                    self.use += TermUse.of(name, int(group.queried.offsets[-1]), left_out)
                    self.capped_terms += left_out

    def _counted(
        self,
        name: str,
        queried: Column,
        stored: Column,
        bits: int,
        rule: Callable[[Hits], Keys],
        *,
        least: int = 2,
        max_df: int | None = None,
    ) -> None:
        """Keep the pairs of which, with all terms counted, the rule approves."""
        counted = PairBlocks(self._corpus.folder, f"counted-{name}", len(self._corpus), COUNTED)
        for only, hits in self._hits(queried, stored, bits, least=least, max_df=max_df):
            if only:  # all terms are in one range
                self._keep(rule(hits))
                continue
            made = np.empty(len(hits.query), dtype=COUNTED)
            made["pair"] = (hits.query.astype(np.uint64) << HIGH) | hits.stored.astype(np.uint64)
            made["shared"] = hits.shared
            counted.add(made, hits.query)
        for some in counted.take():
            self._keep(rule(_added(some)))

    def _hits(
        self, queried: Column, stored: Column, bits: int, *, least: int = 2, max_df: int | None = None
    ) -> Iterator[tuple[bool, Hits]]:
        """Counted pairs of each range of terms, and whether there is no other range."""
        columns = [queried] if queried is stored else [queried, stored]
        corpus = self._corpus
        ranges = list(value_ranges(columns, corpus.most, bits))
        for low, high in ranges:
            values, owners = stored.between(low, high)
            join = TermJoin(values, owners, self._rows, bits, least=least)
            values, owners = queried.between(low, high)
            offsets = offsets_from(owners, len(corpus))
            for hits in join.run(values, offsets, HITS if corpus.folder else rules.CHUNK_HITS, max_df=max_df):
                yield len(ranges) == 1, hits
            self.capped_terms += join.capped
            self._left_out += join.left_out
            if corpus.folder:
                give_back()


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
