"""Each bound that few pages meet: measures on both sides of it."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

import numpy as np
import pytest

from es_dedup.decision.pair_facts import PairContext
from es_dedup.decision.rules import ACCEPTED, REASONS, apply_rules
from es_dedup.detectors.coverage_pairs import PairMeasures, Side


@dataclass(frozen=True)
class Pair:
    """A titled pair with the same measures on both sides, but for ``right_cover``."""

    cover: float = 0.8
    right_cover: float | None = None
    titles: int = 10
    title_terms: int = 10
    shared_terms: int = 5
    lost_terms: int = 5
    foreign_terms: int = 10
    foreign_lost: int = 0
    numbers: int = 10
    lost_numbers: int = 0
    tokens: int = 500
    shared_tokens: float = 300
    shared_clauses: int = 20
    discounted_clauses: int = 0
    title_overlap: float = 0.6
    same_numbers: int = 3
    other_numbers: int = 0
    titled: bool = True
    days: int = 0
    exact: bool = False
    in_words: bool = False
    menus: bool = False

    @property
    def reason(self) -> str:
        """What the decision rules say of it."""
        known = {name: np.array([value]) for name, value in asdict(self).items()}

        def made(kind: Any, **given: Any) -> Any:
            return kind(**{each.name: given.get(each.name, known.get(each.name)) for each in fields(kind)})

        left, right = (
            made(Side, **dict.fromkeys(("gram_cover", "clause_cover", "raw_cover"), np.array([cover])))
            for cover in (self.cover, self.cover if self.right_cover is None else self.right_cover)
        )
        titles = np.array([self.titles])
        context = made(PairContext, left_titles=titles, right_titles=titles)
        (rule,) = apply_rules(made(PairMeasures, left=left, right=right), context).rule
        return REASONS[int(rule)]


SAME_AGAIN: Final = "much the same again on another day"
OTHER_ISSUE: Final = "same title on another day with other numbers"
NOT_ABOUT: Final = "shared text is not what the titles are about"
DISTINGUISHED: Final = "title-distinguishing terms occur only in unshared text"
NOTE: Final = Pair(cover=0.95, right_cover=0.4, shared_tokens=200)


@pytest.mark.parametrize(
    ("rule", "pair", "rejected", "accepted"),
    [
        (SAME_AGAIN, Pair(days=1, shared_tokens=99), {"cover": 0.8499}, {"cover": 0.85}),
        (DISTINGUISHED, Pair(), {"foreign_lost": 10}, {"foreign_lost": 9}),
        (DISTINGUISHED, Pair(foreign_lost=5, lost_numbers=3), {"cover": 0.9499}, {"cover": 0.95}),
        (DISTINGUISHED, Pair(lost_numbers=3), {"foreign_lost": 5}, {"foreign_lost": 4}),
        (DISTINGUISHED, NOTE, {"foreign_lost": 10}, {"foreign_lost": 9}),
        (
            OTHER_ISSUE,
            Pair(days=1, title_overlap=0.8, lost_numbers=2, same_numbers=12),
            {"other_numbers": 1},
            {"other_numbers": 0},
        ),
        (
            NOT_ABOUT,
            Pair(titles=30),
            {"shared_terms": 0, "lost_terms": 10},
            {"shared_terms": 1, "lost_terms": 9},
        ),
    ],
)
def test_a_rule_rejects_on_one_side_of_its_bound_only(
    rule: str, pair: Pair, rejected: dict[str, Any], accepted: dict[str, Any]
) -> None:
    assert [replace(pair, **each).reason for each in (rejected, accepted)] == [rule, ACCEPTED]
