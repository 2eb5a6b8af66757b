"""What cover is demanded of a pair: against a plain implementation, and what the demand is for."""

from typing import Any, Final

import numpy as np
import pytest

from es_dedup.decision.pair_facts import PairContext, required_coverage
from es_dedup.decision.thresholds import BALANCED
from es_dedup.detectors.coverage_pairs import PairMeasures, Side
from es_dedup.model import PairDecision, Relation
from tests.reference.required_coverage import demand
from tests.unit.decision.decision_cases import Small, decide_pair, lines

PAIRS: Final = 4000
LONG: Final = lines(2, 36)
TITLE: Final = LONG[0][:10]


def random_pairs(seed: int) -> tuple[PairMeasures, PairContext]:
    """Measures as no two pages need have them."""
    source = np.random.default_rng(seed)

    def share() -> Any:
        return source.choice([0.0, 0.5, 0.67, 1.0], PAIRS) * source.choice(
            [1.0, source.random()], PAIRS
        ) + source.random(PAIRS) * source.choice([0.0, 0.3], PAIRS)

    def counts(most: int) -> Any:
        return source.integers(0, most, PAIRS)

    def side() -> Side:
        covers = {name: np.minimum(share(), 1.0) for name in ("gram_cover", "clause_cover", "raw_cover")}
        terms = ("title_terms", "shared_terms", "lost_terms", "foreign_terms", "foreign_lost")
        return Side(**covers, **{name: counts(9) for name in (*terms, "numbers", "lost_numbers")})

    measures = PairMeasures(
        left=side(),
        right=side(),
        tokens=counts(9_000),
        shared_tokens=2.0 ** source.uniform(3, 12, PAIRS),
        shared_clauses=counts(50),
        discounted_clauses=counts(3),
        title_overlap=np.minimum(share(), 1.0),
        same_numbers=counts(9),
        other_numbers=counts(9),
    )
    titled = source.random(PAIRS) < 0.7
    days = np.where(source.random(PAIRS) < 0.5, 0, counts(600))
    in_words = ~titled & (source.random(PAIRS) < 0.5)
    menus = in_words & (source.random(PAIRS) < 0.5)
    exact = source.random(PAIRS) < 0.01
    return measures, PairContext(counts(20), counts(20), titled, days, exact, in_words, menus)


@pytest.mark.parametrize("seed", range(3))
def test_as_written_down(seed: int) -> None:
    measures, known = random_pairs(seed)
    found = required_coverage(measures, known, BALANCED)
    covers = [
        list(zip(side.gram_cover.tolist(), side.clause_cover.tolist(), strict=True))
        for side in (measures.left, measures.right)
    ]
    expected = [
        demand(left, right, amount, days, titled=titled, in_words=in_words)
        for left, right, amount, days, titled, in_words in zip(
            *covers,
            measures.shared_tokens.tolist(),
            known.days.tolist(),
            known.titled.tolist(),
            known.in_words.tolist(),
            strict=True,
        )
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def edited(line: str) -> str:
    """A sentence with one character changed in its middle."""
    middle = len(line) // 2
    return f"{line[:middle]}改{line[middle + 1 :]}"


def needed(pair: PairDecision) -> float:
    """The cover that was asked for."""
    return float(pair.evidence["min_cover"] or 0)


class TestScatteredLosses:
    PART: Final = Small(LONG, TITLE, 100)

    def test_edits_all_over_are_asked_less_than_a_missing_block(self) -> None:
        cut = decide_pair(self.PART, Small((*LONG[:26], *lines(3, 60)), TITLE, 100))
        touched = decide_pair(
            self.PART, Small((*map(edited, LONG[:20]), *LONG[20:], *lines(3, 60)), TITLE, 100)
        )
        assert needed(cut) == pytest.approx(0.64, abs=0.005)
        assert 0.59 < needed(touched) < 0.63

    def test_but_not_of_like_pages_of_another_day(self) -> None:
        form = tuple(edited(line) for line in LONG[:20]) + LONG[20:]
        assert needed(decide_pair(self.PART, Small(form, TITLE, 100))) <= 0.63
        assert needed(decide_pair(self.PART, Small(form, TITLE, 101))) > 0.64


def test_like_pages_are_asked_more_the_later_though_neither_has_half_of_the_other() -> None:
    page = Small((*LONG[:10], *lines(3, 14)), TITLE, 100)
    asked = [
        needed(decide_pair(page, Small((*LONG[:10], *lines(4, 12)), TITLE, 100 + days)))
        for days in (0, 1, 30)
    ]
    assert asked[0] < asked[1] < asked[2]


class TestNotes:
    """A note that stands as a whole in a page about other things, under a headline that its own text hardly knows."""

    NOTE: Final = ("海港新船今天到岸，众人前来观看。", *lines(5, 3))

    def note(self, title: str) -> PairDecision:
        page = Small((*self.NOTE, *lines(6, 30)), "山村小学换了校车，海港上众人都在等着下雨")
        return decide_pair(Small(self.NOTE, title), page)

    def test_with_words_of_both_headlines_it_is_contained(self) -> None:
        decided = self.note("雨后田野里麦苗长得很高，大家一起观看新船")
        assert float(decided.evidence["about_title"] or 0) < BALANCED.about_title
        assert decided.relation is Relation.CONTAINED

    def test_without_it_is_furniture(self) -> None:
        decided = self.note("雨后田野里麦苗长得很高，人人都说今年丰收")
        assert decided.reason == "shared text is not what the titles are about"
