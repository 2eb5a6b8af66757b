"""Votes of remainders: what the arrays give is what plain sets of grams and clauses say."""

from itertools import permutations
from typing import Any, Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.decision.remainders import (
    COMMON_LARGE,
    COMMON_SMALL,
    EDITS_SHARED,
    FILLED_IN,
    LARGE,
    MISSING_HIGH,
    MISSING_LOW,
    SHARED_HIGH,
    SHARED_LOW,
    SKETCH_SIZE,
    SMALL,
    Sketches,
    content_votes,
    sketches_of,
)
from es_dedup.detectors.coverage_features import COMPLETE
from es_dedup.detectors.coverage_pairs import RUN_CHARS
from tests.unit.decision.decision_cases import Small, lines, table_of

Sketch = tuple[set[int], int]
"""Hashes, and up to which one they are complete."""
HASHES: Final = st.sampled_from([*range(40), int(COMPLETE) - 1])
"""Few enough that pages share some."""
SKETCH: Final = st.tuples(st.sets(HASHES, max_size=40), st.sampled_from([0, 20, 39, int(COMPLETE)]))
PAGES: Final = st.lists(st.tuples(SKETCH, SKETCH), min_size=3, max_size=5)


def clause_size(hashed: int) -> int:
    """Characters of the clause with this hash."""
    return hashed % 11


def sketches(pages: list[tuple[Sketch, Sketch]]) -> tuple[Sketches, Sketches]:
    """Sketches that hold these grams, and these clauses, and are complete up to these hashes."""
    made = []
    for kind, size in enumerate((lambda _: 1, clause_size)):
        hashes = np.full((len(pages), SKETCH_SIZE), COMPLETE, dtype=np.uint32)
        sizes = np.zeros((len(pages), SKETCH_SIZE), dtype=np.uint8)
        for row, page in enumerate(pages):
            known = sorted(page[kind][0])
            hashes[row, : len(known)] = known
            sizes[row, : len(known)] = [size(each) for each in known]
        made.append(Sketches(hashes, sizes, np.array([page[kind][1] for page in pages], dtype=np.uint32)))
    return made[0], made[1]


def share(value: float, low: float, high: float) -> float:
    """Where the value lies from ``low`` to ``high``, in [0, 1]."""
    return min(max((value - low) / (high - low), 0.0), 1.0)


def remainders(three: list[Sketch], size: Any) -> tuple[list[float], list[float]]:
    """Of each page, what share of it remains, and what share of that another page has, by sets."""
    bound = min(bound for _, bound in three)
    pages = [{each for each in page if each <= bound} for page, _ in three]
    common = pages[0] & pages[1] & pages[2]
    left = [page - common for page in pages]
    shared, remaining = [], []
    for row, (page, rest) in enumerate(zip(pages, left, strict=True)):
        others = {each for other in left[:row] + left[row + 1 :] for each in other}
        total, kept, twice = (sum(map(size, part)) for part in (page, rest, rest & others))
        remaining.append(kept / max(total, 1))
        shared.append(twice / max(kept, 1))
    return remaining, shared


def plain_vote(three: list[tuple[Sketch, Sketch]], *, common: bool) -> float:
    """The vote on three pages, by sets."""
    remaining, shared = remainders([grams for grams, _ in three], lambda _: 1)
    clauses, in_clauses = remainders([clauses for _, clauses in three], clause_size)
    longer = [
        min(pair) if left else pair[0]
        for left, pair in zip(clauses, zip(shared, in_clauses, strict=True), strict=True)
    ]
    size, clause_share = sum(remaining) / 3, sum(clauses) / 3
    small, large = (COMMON_SMALL, COMMON_LARGE) if common else (SMALL, LARGE)
    content = max(share(max(longer), SHARED_LOW, SHARED_HIGH), 1 - share(size, small, large))
    if max(remaining) >= FILLED_IN:
        return content
    edited = min(max((clause_share - size) / (1 - size), 0), size)
    missing = share(EDITS_SHARED * edited - sum(shared) / 3 * size, MISSING_LOW, MISSING_HIGH)
    return content * (1 - missing * share(size, 0, SMALL))


@settings(max_examples=50)
@given(PAGES)
def test_votes_are_those_of_plain_sets(pages: list[tuple[Sketch, Sketch]]) -> None:
    triples = [*permutations(range(len(pages)), 3)] * 2
    common = np.arange(len(triples)) >= len(triples) // 2
    expected = [
        plain_vote([pages[row] for row in triple], common=each)
        for triple, each in zip(triples, common.tolist(), strict=True)
    ]
    assert np.allclose(content_votes(np.array(triples), common, *sketches(pages)), expected)


def test_more_triples_than_are_handled_at_a_time() -> None:
    source: Any = np.random.default_rng(4)

    def sketch(row: int, common: int) -> Sketch:
        """What all pages have, up to a dozen that this page shares with its neighbours, and a dozen of its own."""
        own = set(range(1_000 + 20 * row, 1_000 + 20 * row + int(source.integers(0, 12))))
        return {*range(common), *range(500 + row, 500 + row + int(source.integers(0, 12))), *own}, 2_000

    pages = [(sketch(row, 40), sketch(row, 12)) for row in range(20)]
    triples = np.array(list(permutations(range(20), 3)))
    expected = [plain_vote([pages[row] for row in triple], common=False) for triple in triples.tolist()]
    assert any(0 < vote < 1 for vote in expected)
    common = np.zeros(len(triples), dtype=np.bool_)
    assert np.allclose(content_votes(triples, common, *sketches(pages)), expected)


def test_a_sketch_holds_the_smallest_hashes_and_tells_how_far_it_is_complete() -> None:
    menu = "长" * RUN_CHARS
    table = table_of([Small(lines(1, 130)), Small((*lines(2, 2), menu)), Small(())]).coverage
    for kind, made in (
        (kind, sketches_of(table, kind, np.arange(len(table)))) for kind in ("gram", "clause")
    ):
        values, threshold = getattr(table, f"{kind}s"), getattr(table, f"{kind}_threshold")
        offsets = getattr(table, f"{kind}_offsets")
        for row in range(3):
            own = np.arange(offsets[row], offsets[row + 1])[:SKETCH_SIZE]
            count = len(own)
            lengths = table.clause_lengths[own] if kind == "clause" else np.ones(count)
            assert made.hashes[row, :count].tolist() == np.sort(values[own]).tolist()
            assert made.sizes[row, :count].tolist() == np.where(lengths < RUN_CHARS, lengths, 0).tolist()
            assert set(made.hashes[row, count:].tolist()) <= {int(COMPLETE)}
            assert made.thresholds[row] == min(made.hashes[row, -1], threshold[row])
