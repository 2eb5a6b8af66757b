"""Measures of pairs on random tables, against the slow reference and against plain sets."""

from typing import Final, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.detectors.coverage_features import build
from es_dedup.detectors.coverage_pairs import (
    PairMeasures,
    Side,
    Weights,
    measure,
    run_shares,
    uniform_weights,
)
from tests.coverage_tables import Row, below, clause_length, rows_lists, table_of
from tests.reference import coverage as slow

WEIGHTS: Final = st.dictionaries(st.integers(0, 30), st.sampled_from((0.0, 0.0625, 0.25, 0.5, 0.75, 1.0)))


class Case(NamedTuple):
    """Two tables, pairs of their rows, and what a gram or clause of a hash counts."""

    left: list[Row]
    right: list[Row]
    pairs: list[tuple[int, int]]
    grams: dict[int, float]
    clauses: dict[int, float]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Random tables and pairs; a pair may come twice."""
    left, right = draw(rows_lists), draw(rows_lists)
    places = st.tuples(st.integers(0, len(left) - 1), st.integers(0, len(right) - 1))
    return Case(left, right, draw(st.lists(places, max_size=6)), draw(WEIGHTS), draw(WEIGHTS))


def weights_of(case: Case, rows: list[Row]) -> Weights:
    """Weights of a table's columns."""
    return Weights(
        np.array(
            [case.grams.get(value, 1.0) for row in rows for value in sorted(row.grams)], dtype=np.float32
        ),
        np.array(
            [case.clauses.get(value, 1.0) for row in rows for value in sorted(row.clauses)], dtype=np.float32
        ),
    )


def measured(case: Case, *, discounted: bool = True) -> PairMeasures:
    """What the kernels give."""
    tables = [table_of(rows) for rows in (case.left, case.right)]
    places = [np.array([pair[side] for pair in case.pairs], dtype=np.int64) for side in (0, 1)]
    weights = [
        weights_of(case, rows) if discounted else uniform_weights(table)
        for rows, table in zip((case.left, case.right), tables, strict=True)
    ]
    return measure(tables[0], places[0], tables[1], places[1], weights[0], weights[1])


def sketch(row: Row) -> slow.Sketch:
    """The gram sample as the reference has it."""
    return slow.Sketch(tuple(sorted(row.grams)), row.gram_threshold)


def clauses(values: set[int]) -> dict[slow.Clause, int]:
    """Clauses of the right length, and their hashes."""
    return {(chr(0x4E00 + value), *("x" * (clause_length(value) - 1))): value for value in values}


def slow_covers(case: Case, left: Row, right: Row) -> tuple[tuple[float, float], tuple[float, float]]:
    """Gram covers and clause covers of both sides by the reference."""
    bounds = (left.clause_threshold, right.clause_threshold)
    mine, other = clauses(below(left.clauses, *bounds)), clauses(below(right.clauses, *bounds))
    weights = {
        clause: case.clauses[value] for clause, value in (mine | other).items() if value in case.clauses
    }
    grams = slow.sketch_cover(sketch(left), sketch(right), case.grams)
    return grams, (
        slow.clause_cover([*mine], [*other], weights),
        slow.clause_cover([*other], [*mine], weights),
    )


@settings(max_examples=300)
@given(cases())
def test_measures_equal_the_reference_and_plain_sets(case: Case) -> None:
    found = measured(case)
    for at, (left_row, right_row) in enumerate(case.pairs):
        left, right = case.left[left_row], case.right[right_row]
        check_covers(case, found, at, left, right)
        check_shared(case, found, at, left, right)
        same, other = slow_number_clauses(left, right)
        assert (found.same_numbers[at], found.other_numbers[at]) == (same, other)
        for side, mine, theirs in ((found.left, left, right), (found.right, right, left)):
            check_side(case, side, at, mine, theirs)
    check_raw_covers(case, found)
    check_other_direction(case, found)


def check_covers(case: Case, found: PairMeasures, at: int, left: Row, right: Row) -> None:
    """Gram covers and clause covers, and the better of them."""
    grams, whole = slow_covers(case, left, right)
    assert (found.left.gram_cover[at], found.right.gram_cover[at]) == pytest.approx(grams)
    assert (found.left.clause_cover[at], found.right.clause_cover[at]) == pytest.approx(whole)
    assert found.left.cover[at] == pytest.approx(max(grams[0], whole[0]))


def check_raw_covers(case: Case, found: PairMeasures) -> None:
    """Raw covers are those without weights."""
    plain = measured(case, discounted=False)
    for side, other in ((found.left, plain.left), (found.right, plain.right)):
        assert side.raw_cover.tolist() == other.raw_cover.tolist() == pytest.approx(other.cover.tolist())


def check_shared(case: Case, found: PairMeasures, at: int, left: Row, right: Row) -> None:
    """Shared grams, clauses and terms of titles."""
    grams = [below(row.grams, left.gram_threshold, right.gram_threshold) for row in (left, right)]
    bounds = (left.clause_threshold, right.clause_threshold)
    shared = below(left.clauses, *bounds) & below(right.clauses, *bounds)
    counted = sum(case.grams.get(value, 1.0) for value in grams[0] & grams[1])
    assert found.shared_tokens[at] == pytest.approx(
        min(counted / max(len(own), 1) * row.tokens for own, row in zip(grams, (left, right), strict=True))
    )
    assert found.shared_clauses[at] == len(shared)
    assert found.discounted_clauses[at] == sum(case.clauses.get(value, 1.0) < 0.5 for value in shared)
    shorter = min(len(left.titles), len(right.titles))
    overlap = len(set(left.titles) & set(right.titles)) / max(shorter, 1)
    assert found.title_overlap[at] == (pytest.approx(overlap) if left.titled and right.titled else -1.0)


def slow_number_clauses(left: Row, right: Row) -> tuple[int, int]:
    """Clauses with numbers that both have, and those that agree with one of the other side but for numbers: the fewer."""
    bounds = (left.clause_threshold, right.clause_threshold)
    mine, theirs = below(left.clauses, *bounds), below(right.clauses, *bounds)
    same = sum(left.clauses[value][1] != 0 for value in mine & theirs)
    ours = [left.clauses[value][1] for value in mine - theirs]
    others = [right.clauses[value][1] for value in theirs - mine]
    return same, min(
        sum(value != 0 and value in others for value in ours),
        sum(value != 0 and value in ours for value in others),
    )


def check_side(case: Case, side: Side, at: int, mine: Row, theirs: Row) -> None:
    """Terms and numbers of one side of a pair."""
    numbers = [below(row.numbers, mine.number_threshold, theirs.number_threshold) for row in (mine, theirs)]
    assert side.numbers[at] == len(numbers[0])
    assert side.lost_numbers[at] == len(numbers[0] - numbers[1])
    shared = apart = 0
    for value in below(mine.grams, mine.gram_threshold, theirs.gram_threshold):
        if value not in theirs.grams:
            apart |= mine.grams[value]
        elif case.grams.get(value, 1.0) >= 0.5:
            shared |= mine.grams[value]
    for value in below(mine.clauses, mine.clause_threshold, theirs.clause_threshold):
        if value not in theirs.clauses:
            apart |= mine.clauses[value][0]
        elif case.clauses.get(value, 1.0) >= 0.5:
            shared |= mine.clauses[value][0]
    new = sum(1 << bit for bit, term in enumerate(mine.titles) if term not in theirs.titles)
    lost = apart & ~shared & mine.body_mask
    assert side.title_terms[at] == mine.body_mask.bit_count()
    assert side.shared_terms[at] == (shared & mine.body_mask).bit_count()
    assert side.lost_terms[at] == lost.bit_count()
    assert side.foreign_terms[at] == (new & mine.body_mask & (shared | apart)).bit_count()
    assert side.foreign_lost[at] == (new & lost).bit_count()


def check_other_direction(case: Case, found: PairMeasures) -> None:
    """Asked the other way round, the sides are swapped and all else is equal."""
    pairs = [(right, left) for left, right in case.pairs]
    back = measured(Case(case.right, case.left, pairs, case.grams, case.clauses))
    for name in Side.__slots__:
        assert getattr(found.left, name).tolist() == getattr(back.right, name).tolist()
        assert getattr(found.right, name).tolist() == getattr(back.left, name).tolist()
    assert found.shared_tokens.tolist() == back.shared_tokens.tolist()
    assert found.title_overlap.tolist() == back.title_overlap.tolist()


def test_template_is_no_missing_content() -> None:
    page = Row(10, {1: 0, 2: 0, 3: 0}, None, {5: (0, 0)})
    other = Row(10, {1: 0, 2: 0, 4: 0}, None, {6: (0, 0)})
    template = Case([page], [other], [(0, 0)], {3: 0.0, 4: 0.0}, {5: 0.0, 6: 0.0})
    found = measured(template)
    assert found.left.cover.tolist() == found.right.cover.tolist() == [1.0]
    assert found.left.raw_cover.tolist() == pytest.approx([2 / 3])


def test_menus_stand_in_runs_without_a_clause_mark() -> None:
    run, scrap, prose = "word " * 60, "Home\nNews\n", "This is a sentence of an ordinary length. "
    table = build([prose * 3, run, scrap, scrap + run, ""], [""] * 5)
    shares = run_shares(table, np.array([0, 1, 2, 3, 4, 1]))
    assert shares.tolist() == [0.0, 1.0, 0.0, pytest.approx(240 / 248), 0.0, 1.0]
