"""The self-join against a slow reference written from its documentation, on random feature tables."""

import math
import random
from collections import Counter
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from es_dedup.batch.candidate_pairs import CorpusJoin
from es_dedup.batch.columns import Column
from es_dedup.batch.corpus import Weighing, corpus_of
from es_dedup.batch.join import (
    CLAUSE_SHARE,
    COPIES,
    FEW_TERMS,
    GRAM_SHARE,
    MAX_POSTINGS,
    Hits,
    join_methods,
    third_value,
)
from es_dedup.clustering.order import PageKey
from es_dedup.decision.statistics import Statistics
from es_dedup.detectors import coverage, fingerprint
from es_dedup.detectors.features import FeatureTable, featurise
from es_dedup.settings import Settings
from es_dedup.text.ragged import offsets_of
from tests.texts import article

Pairs = set[tuple[int, int]]
SETTINGS: Final = Settings(workers=1)
pytestmark = pytest.mark.usefixtures("both_paths")


def corpus(seed: int, pages: int = 60) -> FeatureTable:
    """Pages that are cut, joined and edited from few articles, so that many pairs are near the limits."""
    source = random.Random(seed)
    stories = [article(seed * 100 + n, sentences=source.choice((3, 10, 30))).split("。") for n in range(12)]
    texts = []
    for _ in range(pages):
        parts = source.choice(stories)
        start = source.randrange(len(parts))
        picked = parts[start : start + source.randint(1, len(parts))]
        if source.random() < 0.5:
            picked = picked + source.choice(stories)[: source.randint(1, 10)]
        texts.append("。".join(picked) + "。")
    texts += ["", "……", texts[0], "短文", "短文"]
    return featurise(texts, [""] * len(texts), SETTINGS)


def sampled_pairs(queried: coverage.Sampled, stored: coverage.Sampled, share: float) -> Pairs:
    """The asker holds that share of the other's stored terms that it can know of, and two of them or most of few."""
    found: Pairs = set()
    rows = len(stored.offsets) - 1
    held = [
        set(queried.values[queried.offsets[row] : queried.offsets[row + 1]].tolist()) for row in range(rows)
    ]
    kept = [stored.values[stored.offsets[row] : stored.offsets[row + 1]].tolist() for row in range(rows)]
    for query in range(rows):
        for other in range(rows):
            shared = len(held[query].intersection(kept[other]))
            known = sum(value <= int(queried.bound[query]) for value in kept[other])
            few = known <= FEW_TERMS and 2 * shared >= known
            if query != other and shared and (few or shared >= max(2, math.ceil(share * known))):
                found.add((min(query, other), max(query, other)))
    return found


def coverage_pairs(table: FeatureTable) -> Pairs:
    """Pairs by grams or by clauses."""
    cover = table.coverage
    grams = sampled_pairs(coverage.query_grams(cover), coverage.stored_grams(cover), GRAM_SHARE)
    clauses = sampled_pairs(coverage.query_clauses(cover), coverage.stored_clauses(cover), CLAUSE_SHARE)
    return grams | clauses


def period_pairs(table: FeatureTable) -> Pairs:
    """Pairs that share enough signatures of the page that has fewer."""
    offsets, values = table.periods.offsets, table.periods.signatures.tolist()
    held = [values[offsets[row] : offsets[row + 1]] for row in range(len(table))]
    config = SETTINGS.ccdet
    return {
        (left, right)
        for left in range(len(table))
        for right in range(left + 1, len(table))
        for shared in (len(set(held[left]).intersection(held[right])),)
        if shared >= config.min_common and shared >= config.min_ccs * min(len(held[left]), len(held[right]))
    }


def fingerprint_pairs(table: FeatureTable) -> Pairs:
    """Pairs of pages with words whose fingerprints differ in few bits, and share a band."""
    limit = SETTINGS.simhash.max_hamming_distance
    values = table.fingerprints.tolist()
    rows = np.flatnonzero(table.has_words).tolist()
    assert limit <= fingerprint.BANDS - 1, "else bands one bit apart are asked for too"
    return {
        (left, right)
        for left in rows
        for right in rows
        if left < right and (values[left] ^ values[right]).bit_count() <= limit
    }


def equal_pairs(table: FeatureTable, ranks: list[int]) -> Pairs:
    """Each page with the first of equal text."""
    first: dict[int, int] = {}
    found: Pairs = set()
    for row in sorted(range(len(table)), key=ranks.__getitem__):
        digest = int(table.hashes[row])
        leader = first.setdefault(digest, row)
        if digest and leader != row:
            found.add((min(leader, row), max(leader, row)))
    return found


def joined(table: FeatureTable, ranks: list[int], *detectors: str, **sections: object) -> tuple[Pairs, int]:
    """What the join finds for some detectors, and how many terms it capped."""
    settings = Settings.model_validate({"detectors": detectors, **sections})
    names = [str(row) for row in range(len(table))]
    join = CorpusJoin(
        corpus_of([*map(PageKey, names)], table),
        np.array(ranks, dtype=np.int64),
        settings,
        Weighing(Statistics.empty),
    )
    pairs = [pair for left, right in join.pairs() for pair in zip(left.tolist(), right.tolist(), strict=True)]
    assert pairs == sorted(set(pairs)), "each pair once, ascending"
    assert all(left < right for left, right in pairs)
    return set(pairs), join.capped_terms


@pytest.mark.parametrize("seed", range(8))
def test_the_same_pairs_as_the_reference_where_nothing_is_capped(seed: int) -> None:
    table = corpus(seed)
    ranks = list(range(len(table)))
    random.Random(seed).shuffle(ranks)
    equal = equal_pairs(table, ranks)
    assert joined(table, ranks, "coverage") == (coverage_pairs(table) | equal, 0)
    assert joined(table, ranks, "ccdet") == (period_pairs(table) | equal, 0)
    assert joined(table, ranks, "simhash") == (fingerprint_pairs(table) | equal, 0)
    together, _ = joined(table, ranks, *SETTINGS.detectors)
    assert together == coverage_pairs(table) | period_pairs(table) | fingerprint_pairs(table) | equal


def test_fingerprints_without_an_equal_band_are_found_within_four_bits() -> None:
    table = featurise([article(seed, sentences=3) for seed in (1, 2)], ["", ""], SETTINGS)
    one_of_each_band = sum(1 << (fingerprint.BAND_BITS * band) for band in range(fingerprint.BANDS))
    table = replace(table, fingerprints=np.array([0, one_of_each_band], dtype=np.uint64))
    assert joined(table, [0, 1], "simhash", simhash={"max_hamming_distance": 4})[0] == {(0, 1)}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_hardly_any_pages(count: int) -> None:
    table = featurise([article(1, sentences=3)] * count, [""] * count, SETTINGS)
    assert joined(table, list(range(count)), *SETTINGS.detectors)[0] == ({(0, 1)} if count == 2 else set())


def alike(count: int) -> FeatureTable:
    """Pages of the same terms that do not count as equal texts."""
    table = featurise([article(1, sentences=2)] * count, [""] * count, SETTINGS)
    return replace(table, hashes=np.arange(1, count + 1, dtype=np.uint64))


class TestCap:
    def test_of_equal_texts_the_first_in_canonical_order_answer(self) -> None:
        count = COPIES + 20
        table = featurise([article(1, sentences=2)] * count, [""] * count, SETTINGS)
        ranks = list(range(count))
        random.Random(5).shuffle(ranks)
        first = {row for row in range(count) if ranks[row] < COPIES}
        assert joined(table, ranks, *SETTINGS.detectors)[0] == {
            (left, right)
            for left in range(count)
            for right in range(left + 1, count)
            if left in first or right in first
        }

    def test_a_common_term_joins_with_its_first_postings_in_canonical_order(self) -> None:
        count = MAX_POSTINGS + 20
        table = alike(count)
        ranks = list(range(count))
        random.Random(5).shuffle(ranks)
        pairs, capped = joined(table, ranks, "coverage")
        first = {row for row in range(count) if ranks[row] < MAX_POSTINGS}
        assert pairs == {
            (left, right)
            for left in range(count)
            for right in range(left + 1, count)
            if left in first or right in first
        }
        cover = table.coverage
        queried = len(coverage.query_grams(cover).values) + len(coverage.query_clauses(cover).values)
        stored = Counter(coverage.stored_grams(cover).values.tolist())
        stored += Counter(coverage.stored_clauses(cover).values.tolist())
        assert all(postings == count for postings in stored.values())
        assert 0 < capped == count * len(stored) <= queried

    def test_as_many_as_the_cap_are_not_capped(self) -> None:
        pairs, capped = joined(alike(MAX_POSTINGS), list(range(MAX_POSTINGS)), "coverage")
        assert (len(pairs), capped) == (MAX_POSTINGS * (MAX_POSTINGS - 1) // 2, 0)

    def test_pairs_grow_linearly(self) -> None:
        pairs, _ = joined(alike(2_000), list(range(2_000)), *SETTINGS.detectors)
        assert len(pairs) <= 2_000 * MAX_POSTINGS


def test_rules_refuse_what_shares_fewer_terms_than_needed() -> None:
    rng = np.random.default_rng(7)
    rows, pairs = 300, 20_000
    query, stored = rng.integers(rows, size=(2, pairs))
    shared = rng.integers(1, 6, size=pairs)
    for method in join_methods(Settings()):
        counts = rng.integers(0, 9, size=rows)
        owners = np.repeat(np.arange(rows), counts)
        values = rng.integers(1 << 32, size=len(owners)).astype(np.uint32)
        values = values[np.lexsort((values, owners))]
        column = Column(None, "", method.kind)
        column.add(values, counts)
        width = 2 if method.name in ("grams", "clauses") else 1
        facts = rng.integers(1, 1 << 32 if width == 2 else 9, size=(rows, width)).astype(np.uint64)
        if width == 2:
            facts[:, 1] = third_value(values, offsets_of(owners, rows))
        few = shared < method.needed(facts[query, 0], facts[stored, -1])
        assert few.any() != method.by_fact
        assert not len(method.keys(Hits(query[few], stored[few], shared[few]), facts, column))
        assert len(method.keys(Hits(query[~few], stored[~few], shared[~few]), facts, column))
