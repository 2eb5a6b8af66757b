"""What is told of a pair follows from the rules that decided on it."""

import re
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from es_dedup.decision.comparison import PagePairs, compare, pair_decisions
from es_dedup.decision.conditions import Fact
from es_dedup.decision.explanation import rule_results
from es_dedup.decision.match_rules import RULES
from es_dedup.decision.rules import without_rules
from es_dedup.decision.statistics import Statistics
from es_dedup.decision.thresholds import BALANCED, PRESETS, SERIES, VERSIONS, Thresholds
from es_dedup.errors import ConfigError
from es_dedup.model import PairDecision, Relation
from es_dedup.model.explanation import RuleOutcome
from es_dedup.views.evidence import rule_rows
from tests.unit.decision.decision_cases import SETTINGS, Small, lines, numbered, rows_of
from tests.unit.decision.test_rules import CASES, Case

STORY = lines(1, 12)
TITLE = STORY[0][:10]
PAGE = Small(STORY, TITLE, 100)


def explained(
    left: Small, right: Small, thresholds: Thresholds = BALANCED, statistics: Statistics | None = None
) -> PairDecision:
    """The pair with the result of each rule."""
    pages, known = rows_of([left, right]), statistics or Statistics.empty()
    comparison = compare(PagePairs(pages, np.array([0]), pages, np.array([1])), known, SETTINGS, thresholds)
    (decision,) = pair_decisions(comparison, [0])
    return replace(decision, left="A", right="B", rules=next(rule_results(comparison)))


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.rule.replace(" ", "-"))
def test_the_first_rule_that_rejects_is_the_reason(each: Case) -> None:
    pair = explained(each.left, each.right, statistics=each.statistics)
    assert [rule.name for rule in pair.rules] == [rule.name for rule in RULES]
    first = next(rule for rule in pair.rules if rule.outcome is RuleOutcome.REJECTS)
    assert first.name == pair.reason == each.rule
    (deciding,) = first.deciding
    assert deciding
    assert all(condition.holds for condition in (*first.applies_if, *deciding))
    assert ": not merged" in pair.explanation[0]
    assert pair.explanation[2].startswith(f"rejected by the rule “{each.rule}”: ")
    assert all(condition.words in pair.explanation[2] for condition in deciding)


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.rule.replace(" ", "-"))
def test_no_rule_rejects_an_accepted_pair(each: Case) -> None:
    pair = explained(each.cured_left, each.cured_right, statistics=each.statistics)
    outcomes = {rule.outcome for rule in pair.rules}
    assert outcomes <= {RuleOutcome.PASSES, RuleOutcome.NOT_APPLICABLE}
    assert all(not one.holds for rule in pair.rules for each in rule.deciding for one in each)
    assert ": merged" in pair.explanation[0]
    assert pair.explanation[2] == "accepted: no rule rejects"


def test_three_lines_tell_coverage_titles_times_and_numbers() -> None:
    copy = Small((*STORY, *lines(3, 4)), TITLE, 101)
    first, second, third = explained(PAGE, copy).explanation
    assert re.fullmatch(
        r"all of A stands in B, 7\d % of B in A: merged, since (6\d % of both pages|6\d % of one page and \d\d % of the other) are enough",
        first,
    )
    assert second == "titles are equal; published 1 day apart; no conflicting numbers"
    assert third == "accepted: no rule rejects"


@pytest.mark.parametrize("preset", PRESETS)
def test_the_evidence_has_the_values_and_thresholds_that_decided(preset: str) -> None:
    part = Small(STORY[:9], TITLE, 100)
    nothing = Statistics.empty()
    pairs = [
        *((each.left, each.right, each.statistics) for each in CASES),
        *((each.cured_left, each.cured_right, each.statistics) for each in CASES),
        *(
            (part, Small((*STORY, *lines(3, more)), TITLE, day), nothing)
            for more in range(9)
            for day in (0, 100, 130)
        ),
        (
            Small(("今天的会议改到下午三点在二楼举行",)),
            Small(("今天的会议改到下午三点在二楼举行吧",)),
            nothing,
        ),
    ]
    shown: dict[str, set[object]] = {}
    for left, right, statistics in pairs:
        pair = explained(left, right, PRESETS[preset], statistics)
        for rule, result in zip(RULES, pair.rules, strict=True):
            of_rule = chain(rule.applies_if, *rule.rejects_if)
            for condition, at in zip(of_rule, chain(result.applies_if, *result.rejects_if), strict=True):
                if condition.fact.name in pair.evidence:
                    assert pair.evidence[condition.fact.name] == pytest.approx(at.value, abs=0.5), at
                if isinstance(condition.bound, Fact) and condition.bound.name in pair.evidence:
                    assert pair.evidence[condition.bound.name] == at.threshold, (pair.reason, at)
                    shown.setdefault(condition.bound.name, set()).add(at.threshold)
        assert pair.shares is not None
        if pair.relation is not Relation.DIFFERENT:
            least = pair.evidence["min_both"]
            assert isinstance(least, float)
            assert pair.relation.same == (min(pair.shares) >= least), pair
    assert shown.keys() == {"min_cover", "min_tokens", "min_about_title"}
    assert len(shown["min_tokens"]) == len({PRESETS[preset].fewest_units, PRESETS[preset].fewest_of_copies})


def test_what_a_page_lacks_is_not_compared() -> None:
    _, second, _ = explained(replace(PAGE, title="", day=0), PAGE).explanation
    assert second.startswith("titles not compared (one is missing); times not compared (one is unknown); ")


def test_numbers_conflict_when_each_page_has_its_own() -> None:
    left, right = (
        Small((*STORY, *numbered(seed, 2, start)), TITLE, 100) for seed, start in ((3, 10), (4, 50))
    )
    assert (
        explained(left, right)
        .explanation[1]
        .endswith("numbers that the other page lacks: 2 and 2, none in an equal clause")
    )
    assert explained(left, PAGE).explanation[1].endswith("no conflicting numbers")


def test_containment_is_told_from_either_page() -> None:
    longer = Small((*STORY, *lines(3, 30)), TITLE, 100)
    said = explained(PAGE, longer).explanation[0]
    assert said.startswith("all of A stands in B, ")
    assert re.search(r": not merged, A is contained in B; \d\d % of both would be needed$", said)
    assert ": not merged, A contains B; " in explained(longer, PAGE).explanation[0]


def test_rules_that_a_preset_or_the_caller_leaves_out_are_named() -> None:
    of_preset = {rule.name for rule in explained(PAGE, PAGE, VERSIONS).rules if rule.outcome == "left out"}
    assert of_preset == {rule.name for rule in RULES if rule.group == SERIES}
    thresholds = without_rules(BALANCED, ["too little covered"])
    pair = explained(PAGE, Small(lines(5, 12), TITLE), thresholds)
    (rule,) = (each for each in pair.rules if each.name == "too little covered")
    assert rule.outcome is RuleOutcome.LEFT_OUT
    assert pair.reason != "too little covered"


def test_an_unknown_rule_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(ConfigError, match=r"too little covered.*series.*titles") as raised:
        without_rules(BALANCED, ["titles", "no such rule"])
    assert "no such rule" in str(raised.value)


def test_alternatives_are_told_apart_and_yes_or_no_is_a_sentence() -> None:
    left, right = (Small((*STORY, *lines(seed, 4)), TITLE, 100 + 40 * (seed - 3)) for seed in (3, 4))
    rows = {name: (outcome, why) for name, outcome, why in rule_rows(explained(left, right).rules)}
    next_day = explained(left, replace(right, day=101)).rules
    outcome, why = next(
        (outcome, why) for name, outcome, why in rule_rows(next_day) if name.startswith("much the same")
    )
    assert outcome == "passes"
    short, late = why.split("; or ")
    assert short.startswith("units in common, boilerplate discounted 273: below 100 ")
    assert late.startswith(
        "days between the publications; 0 when one is unknown, or without titles and signs of a series 1: from 30 "
    )
    untitled = explained(Small(STORY), Small((*STORY[:10], *lines(4, 2)))).rules
    assert (
        untitled[0].because("en")
        == "units in common, boilerplate counted in untitled near copies only 226: below 12 it would have been rejected"
    )
    assert rows["too little covered for pages without titles"][1].startswith(
        "both pages have titles, coverage of the better covered page "
    )
    assert rows["much the same again on another day"] == (
        "rejects",
        "units in common, boilerplate discounted 273, below 400, days between the publications; 0 when one is unknown, or without titles and signs of a series 40, at least 30",
    )
    assert all(why == "" for outcome, why in rows.values() if outcome == "left out")


def test_json_has_every_condition() -> None:
    found = explained(PAGE, PAGE).as_dict()
    assert found["explanation"] == list(explained(PAGE, PAGE).explanation)
    covered = found["rules"][1]
    assert covered == {
        "name": "too little covered",
        "outcome": "passes",
        "applies_if": [],
        "rejects_if": [
            [
                {
                    "fact": "better_cover",
                    "words": "coverage of the better covered page",
                    "value": 1.0,
                    "sign": "<",
                    "threshold": pytest.approx(0.61, abs=0.1),
                    "holds": False,
                }
            ]
        ],
    }


def test_a_decision_by_methods_says_so() -> None:
    pair = PairDecision(
        "A", "B", Relation.EXACT, 1.0, "texts are equal", {}, decided_by="any: ccdet, simhash"
    )
    first, _, third = pair.explanation
    assert first == "merged as an exact copy: score 1.00 for A and B"
    assert third == "decided by any: ccdet, simhash, not by the rules: texts are equal"
