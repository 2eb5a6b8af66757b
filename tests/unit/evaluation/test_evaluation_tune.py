"""Threshold sweeps: what is chosen, what is held out, and what would change."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.evaluation import Axis, Label, LabelledPair, tune
from es_dedup.evaluation.metrics import connected, pair_scores
from es_dedup.evaluation.tune import fold_of
from es_dedup.model import Relation

DUP, CONTAIN, PARTIAL, DIFF = Label
TENTHS = tuple(value / 10 for value in range(11))


def world(*rows: tuple[Label, float]) -> tuple[list[LabelledPair], dict[tuple[str, str], dict[str, float]]]:
    """Pairs of pages of their own, with one measure."""
    labels = [LabelledPair(f"{at:02}a", f"{at:02}b", label) for at, (label, _) in enumerate(rows)]
    return labels, {each.pair: {"share": value} for each, (_, value) in zip(labels, rows, strict=True)}


def test_the_middle_of_equally_good_thresholds_is_chosen() -> None:
    labels, measures = world((DUP, 0.9), (CONTAIN, 0.8), (DIFF, 0.3), (DIFF, 0.2))
    found = tune(labels, measures, Axis("share", TENTHS), folds=2)
    assert found.chosen == 0.6  # 0.4 to 0.8 are equally good
    assert found.in_sample.f1 == 1.0
    assert found.current is None


def test_a_distance_has_to_stay_below_its_threshold() -> None:
    labels, measures = world((DUP, 1), (DUP, 3), (DIFF, 6), (DIFF, 9))
    found = tune(labels, measures, Axis("share", (0, 2, 4, 8), at_least=False), folds=4)
    assert found.chosen == 4


def test_recall_at_a_bound_on_merged_diff_pairs() -> None:
    labels, measures = world((DUP, 0.9), (DUP, 0.5), (DUP, 0.1), (DIFF, 0.6), (DIFF, 0.2), (DIFF, 0.2))
    axis = Axis("share", TENTHS)
    assert tune(labels, measures, axis, max_merged_diff=0.0).in_sample.positive.hits == 1
    assert tune(labels, measures, axis, max_merged_diff=0.34).in_sample.positive.hits == 2
    assert tune(labels, measures, axis, max_merged_diff=1.0).in_sample.positive.hits == 3


def test_figures_are_those_of_pairs_the_thresholds_were_not_chosen_on() -> None:
    # Each fold holds one pair of a kind that the other fold knows nothing of.
    labels, measures = world((DUP, 0.9), (DUP, 0.4), (DIFF, 0.3), (DIFF, 0.8))
    found = tune(labels, measures, Axis("share", (0.4, 0.9)), folds=4)
    for fold in found.folds:
        assert sum(share.total for share in (fold.held_out.positive, fold.held_out.diff)) == 1
    total = sum(fold.held_out.positive.hits for fold in found.folds)
    assert found.out_of_fold.positive.hits == total
    assert (found.out_of_fold.positive.total, found.out_of_fold.diff.total) == (2, 2)


def test_what_would_change_against_the_current_thresholds() -> None:
    labels, measures = world((DUP, 0.9), (CONTAIN, 0.4), (DIFF, 0.2), (DIFF, 0.3))
    found = tune(labels, measures, Axis("share", TENTHS), current=0.5)
    assert found.chosen == 0.4
    assert found.current is not None
    assert found.current.positive.hits == 1
    assert [each.pair for each in found.gained] == [("01a", "01b")]
    assert found.lost == ()
    stricter = tune(labels, measures, Axis("share", TENTHS), current=0.0)
    assert [each.label for each in stricter.lost] == [DIFF, DIFF]
    value = json.loads(json.dumps(stricter.as_dict()))
    assert value["lost"] == [["02a", "02b", "diff"], ["03a", "03b", "diff"]]
    assert value["chosen"] == 0.4
    assert json.loads(json.dumps(tune(labels, measures, Axis("share", TENTHS)).as_dict()))["current"] is None


def test_a_missing_measure_keeps_no_limit() -> None:
    labels, measures = world((DUP, 0.9), (DUP, 0.9), (DIFF, 0.1))
    del measures[labels[0].pair]
    found = tune(labels, measures, Axis("share", (0.0, 0.5)))
    assert found.in_sample.positive.hits == 1
    assert tune(labels, measures, Axis("other", (0.0,))).in_sample.positive.hits == 0


@given(st.lists(st.tuples(st.sampled_from(Label), st.integers(0, 4)), min_size=2, max_size=12), st.booleans())
def test_the_choice_is_the_best_of_all_values(rows: list[tuple[Label, int]], falling: bool) -> None:
    labels, measures = world(*rows)
    found = tune(labels, measures, Axis("share", (0, 1, 2, 3), at_least=not falling))

    def score(threshold: float) -> float:
        kept = {
            pair: Relation.DUPLICATE
            for pair, each in measures.items()
            if (each["share"] <= threshold if falling else each["share"] >= threshold)
        }
        return pair_scores(labels, kept).f1 or 0.0

    assert (found.in_sample.f1 or 0.0) == pytest.approx(max(map(score, (0, 1, 2, 3))))
    assert (found.in_sample.f1 or 0.0) == pytest.approx(score(found.chosen))


@given(
    st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=25), st.integers(2, 6)
)
def test_no_page_is_in_two_folds(numbers: list[tuple[int, int]], folds: int) -> None:
    pairs = sorted({(f"{min(pair):02}", f"{max(pair):02}") for pair in numbers if len(set(pair)) == 2})
    labels = [LabelledPair(*pair, DUP) for pair in pairs]
    try:
        where = fold_of(labels, folds)
    except ValueError:
        return
    groups = len(set(connected((), (each.pair for each in labels)).values()))
    assert set(where) == set(range(min(folds, groups)))
    placed: dict[str, int] = {}
    for each, fold in zip(labels, where, strict=True):
        assert placed.setdefault(each.left, fold) == placed.setdefault(each.right, fold) == fold


def test_what_cannot_be_swept_is_refused() -> None:
    labels, measures = world((DUP, 0.9), (DIFF, 0.1))
    axis = Axis("share", TENTHS)
    with pytest.raises(ValueError, match="no value of share"):
        tune(labels, measures, Axis("share", ()))
    with pytest.raises(ValueError, match="two groups"):
        tune(labels[:1], measures, axis)
    with pytest.raises(ValueError, match="two folds"):
        tune(labels, measures, axis, folds=1)


def test_of_thresholds_that_break_the_bound_equally_the_one_that_finds_most_is_taken() -> None:
    labels, measures = world((DUP, 0.9), (DUP, 0.5), (DUP, 0.3), (DIFF, 0.95), (DIFF, 0.1))
    found = tune(labels, measures, Axis("share", (0.2, 0.4, 0.6, 0.8)), max_merged_diff=0.0, folds=2)
    assert (found.chosen, found.bound_kept) == (0.2, False)
    assert tune(labels, measures, Axis("share", (0.2, 0.4)), max_merged_diff=0.5, folds=2).bound_kept
