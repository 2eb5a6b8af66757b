"""Votes of remainders: what the arrays give is what plain sets of grams say."""

from itertools import permutations
from typing import Any, Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.decision.remainders import (
    LARGE,
    SHARED_HIGH,
    SHARED_LOW,
    SKETCH_GRAMS,
    SMALL,
    Sketches,
    content_votes,
    sketches_of,
)
from es_dedup.detectors.coverage_features import COMPLETE
from tests.unit.decision.decision_cases import Small, lines, table_of

GRAMS: Final = st.sampled_from([*range(40), int(COMPLETE) - 1])
"""Few enough that pages share some."""
PAGES: Final = st.lists(
    st.tuples(st.sets(GRAMS, max_size=40), st.sampled_from([0, 20, 39, int(COMPLETE)])),
    min_size=3,
    max_size=5,
)


def sketches(pages: list[tuple[set[int], int]]) -> Sketches:
    """Sketches that hold these grams and are complete up to these hashes."""
    grams = np.full((len(pages), SKETCH_GRAMS), COMPLETE, dtype=np.uint32)
    for row, (page, _) in enumerate(pages):
        grams[row, : len(page)] = sorted(page)
    return Sketches(grams, np.array([bound for _, bound in pages], dtype=np.uint32))


def share(value: float, low: float, high: float) -> float:
    """Where the value lies from ``low`` to ``high``, in [0, 1]."""
    return min(max((value - low) / (high - low), 0.0), 1.0)


def plain_vote(three: list[tuple[set[int], int]]) -> float:
    """The vote on three pages, by sets."""
    bound = min(bound for _, bound in three)
    pages = [{gram for gram in page if gram <= bound} for page, _ in three]
    common = pages[0] & pages[1] & pages[2]
    left = [page - common for page in pages]
    shared, sizes = [], []
    for row, (page, rest) in enumerate(zip(pages, left, strict=True)):
        others = {gram for other in left[:row] + left[row + 1 :] for gram in other}
        shared.append(len(rest & others) / max(len(rest), 1))
        sizes.append(len(rest) / max(len(page), 1))
    return max(share(max(shared), SHARED_LOW, SHARED_HIGH), 1 - share(sum(sizes) / 3, SMALL, LARGE))


@settings(max_examples=50, deadline=None)
@given(PAGES)
def test_votes_are_those_of_plain_sets(pages: list[tuple[set[int], int]]) -> None:
    triples = list(permutations(range(len(pages)), 3))
    expected = [plain_vote([pages[row] for row in triple]) for triple in triples]
    assert np.allclose(content_votes(np.array(triples), sketches(pages)), expected)


def test_more_triples_than_are_handled_at_a_time() -> None:
    source: Any = np.random.default_rng(4)
    pages = [(set(source.choice(60, source.integers(1, 50), replace=False).tolist()), 50) for _ in range(20)]
    triples = np.array(list(permutations(range(20), 3)))
    expected = [plain_vote([pages[row] for row in triple]) for triple in triples.tolist()]
    assert np.allclose(content_votes(triples, sketches(pages)), expected)


def test_a_sketch_holds_the_smallest_grams_and_tells_how_far_it_is_complete() -> None:
    table = table_of([Small(lines(1, 30)), Small(lines(2, 2)), Small(())]).coverage
    made = sketches_of(table)
    for row in range(3):
        grams = table.grams[table.gram_offsets[row] : table.gram_offsets[row + 1]]
        kept = np.sort(grams)[:SKETCH_GRAMS]
        assert made.grams[row, : len(kept)].tolist() == kept.tolist()
        assert set(made.grams[row, len(kept) :].tolist()) <= {int(COMPLETE)}
        whole = len(grams) < SKETCH_GRAMS
        assert made.thresholds[row] == (
            table.gram_threshold[row] if whole else min(kept[-1], table.gram_threshold[row])
        )
