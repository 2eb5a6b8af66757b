"""Which pairs are asked about first."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from es_dedup.evaluation.uncertain import PAGES, POOL, doubt_of, uncertain_pairs
from es_dedup.model import PairDecision, Relation, Verdict

YES, NO = Relation.DUPLICATE, Relation.DIFFERENT


def decision(
    left: str, right: str, score: float, *relations: Relation, relation: Relation = NO
) -> PairDecision:
    """A pair of this score on which methods say these relations."""
    verdicts = tuple(Verdict(f"m{at}", each, score, {}) for at, each in enumerate(relations))
    return PairDecision(left, right, relation, score, "by hand", {}, verdicts)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (decision("a", "b", 0.5, YES, NO), 1.0),
        (decision("a", "b", 0.5, YES, YES), 0.5),
        (decision("a", "b", 1.0, NO, YES), 0.5),
        (decision("a", "b", 0.0, NO, NO), 0.0),
        (decision("a", "b", 1.0, YES, YES), 0.0),
        (decision("a", "b", 0.75, YES, NO, NO, NO), (0.5 + 0.5) / 2),
        (decision("a", "b", 1.0), 0.0),
    ],
)
def test_doubt_is_disagreement_and_nearness(pair: PairDecision, expected: float) -> None:
    assert doubt_of(pair) == pytest.approx(expected)


class Index:
    """Pages in a row, each found by its neighbours; the score falls with the number of the page."""

    def __init__(self, count: int) -> None:
        self.ids = [f"p{at:03}" for at in range(count)]
        self.asked = 0

    def candidate_decisions(self, page_ids: Sequence[str]) -> Iterator[PairDecision]:
        for page_id in page_ids:
            place = self.ids.index(page_id)
            for at in {max(place - 1, 0), min(place, len(self.ids) - 2)}:
                self.asked += 1
                relation = Relation.EXACT if at == 0 else NO
                left, right = self.ids[at : at + 2]
                yield decision(left, right, at / len(self.ids), YES, NO, relation=relation)


def test_the_most_doubtful_come_first_and_each_pair_once() -> None:
    index = Index(10)
    found = uncertain_pairs(cast("Any", index), index.ids, count=4, known=set(), seed=1)
    assert found[0] == ("p005", "p006")
    assert len(set(found)) == 4
    distances = [abs(int(left[1:]) - 5) for left, _ in found]
    assert distances == sorted(distances)


def test_the_draw_is_bounded_and_the_same_for_one_seed() -> None:
    draws = []
    for seed in (1, 1, 2):
        index = Index(500)
        draws.append(uncertain_pairs(cast("Any", index), index.ids, count=3, known=set(), seed=seed))
        assert index.asked <= 3 * POOL + 2 * PAGES
    assert draws[0] == draws[1] != draws[2]
