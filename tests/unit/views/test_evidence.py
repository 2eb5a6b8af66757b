"""What is said of a pair is what decided on it: sentences, bars and conditions agree with the numbers."""

import re
from collections import Counter

import pytest

from es_dedup import Deduplicator
from es_dedup.model import PairDecision, Relation
from es_dedup.model.explanation import TOO_LITTLE, ConditionResult
from es_dedup.views.compare import _bars
from tests.samples import pages

ENOUGH = re.compile(r"merged, since (\d+) % of (?:both pages|one page and (\d+) % of the other) are enough$")
NEEDED = re.compile(r"not merged, since (\d+) % of one page are needed$")
BOTH = re.compile(r"not merged, \S+ (?:contains|is contained in) \S+; (\d+) % of both would be needed$")


def outcome(pair: PairDecision) -> str:
    """Which of the sentences is said of a pair, which must be true of its numbers."""
    said, shares = pair.explanation[0], [int(share * 100 + 1e-9) for share in pair.shares or ()]
    reached = [threshold is None or share >= threshold for share, threshold in _bars(pair)]
    if pair.overrides:
        assert re.search(r": (not )?merged$", said)
        assert all(threshold is None for _, threshold in _bars(pair))
        return "overridden"
    if pair.relation is Relation.DUPLICATE:
        better, lesser = (ENOUGH.search(said) or pytest.fail(said)).groups()
        assert max(shares) >= int(better)
        assert min(shares) >= int(lesser or better)
        assert reached == [True, True]
        return "merged"
    if pair.relation is Relation.DIFFERENT:
        if pair.reason == TOO_LITTLE:
            assert max(shares) < int((NEEDED.search(said) or pytest.fail(said))[1])
            assert reached.count(False) == 1
            return "too little"
        assert said.endswith(": not merged")
        return "other rule"
    assert min(shares) < int((BOTH.search(said) or pytest.fail(said))[1]) <= 100
    assert sorted(reached) == [False, True]
    return "contained"


def test_sentences_and_bars_say_what_decided() -> None:
    found: Counter[str] = Counter()
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(pages())
        dedup.override_different("enlocal/owl-note.html", "enmag/owl-synonyms.html", reason="r", author="a")
        for pair in dedup.candidate_decisions(sorted(dedup.page_ids())):
            found[outcome(pair)] += 1
            for rule in pair.rules:
                said = rule.because("en")
                assert ("would have been rejected" not in said) or rule.outcome == "passes", said
    assert found.keys() == {"overridden", "merged", "too little", "other rule", "contained"}


@pytest.mark.parametrize(
    ("relation", "reason", "covers", "said"),
    [
        (Relation.DIFFERENT, TOO_LITTLE, (0.6392, 0.2), "not merged, since 64 % of one page are needed"),
        (Relation.DUPLICATE, "accepted", (0.6392, 0.6391), "merged, since 63 % of both pages are enough"),
        (Relation.CONTAINED, "accepted", (1.0, 0.6391), "not merged, a is contained in b; 64 % of both would be needed"),
    ],
)  # fmt: skip
def test_what_was_missed_is_rounded_up_and_what_was_reached_down(
    relation: Relation, reason: str, covers: tuple[float, float], said: str
) -> None:
    missed = relation is not Relation.DUPLICATE
    evidence = {"left_cover": covers[0], "right_cover": covers[1], "min_cover": 0.6395 if missed else 0.6301}
    pair = PairDecision("a", "b", relation, 1.0, reason, evidence | {"min_both": evidence["min_cover"]})
    assert pair.explanation[0].partition(": ")[2] == said


@pytest.mark.parametrize(
    ("value", "sign", "threshold", "holds", "plain", "otherwise"),
    [
        (0.666, "<", 0.602, False, "X 0.67, at least 0.60", "X 0.67: below 0.60 it would have been rejected"),
        (0.5991, "<", 0.6, True, "X 0.599, below 0.600", None),
        (0.7, "≥", 0.65, True, "X 0.70, at least 0.65", None),
        (2, "≥", 3, False, "X 2, below 3", "X 2: from 3 it would have been rejected"),
        (37.2, "<", 20.0, False, "X 37.2, at least 20", "X 37.2: below 20 it would have been rejected"),
        (None, "<", 3, True, "X –, below 3", None),
        (True, "=", True, True, "X", "X"),
    ],
)
def test_a_condition_is_a_sentence_with_its_value(
    value: float | None, sign: str, threshold: float, *, holds: bool, plain: str, otherwise: str | None
) -> None:
    condition = ConditionResult("x", "X", value, sign, threshold, holds)
    assert condition.said("en") == plain
    if otherwise is not None:
        assert condition.said("en", would_reject=True) == otherwise
