"""Why a pair was decided as it was: the result of each rule, and the decision in three lines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from es_dedup.model.shares import WithShares
from es_dedup.model.translations import ENGLISH, translate, translate_filled

if TYPE_CHECKING:
    from collections.abc import Mapping

Value: TypeAlias = float | int | str | bool | None
ROUNDING: Final = 1e-9
"""Tolerance for binary fractions: 0.29 times 100 is a little less than 29."""
TITLES_AGREE: Final = 0.80  # overlap of the titles; below, they agree in part
TITLES_DIFFER: Final = 0.20  # below, they differ


class RuleOutcome(StrEnum):
    """What a rule says of a pair."""

    REJECTS = "rejects"
    PASSES = "passes"
    NOT_APPLICABLE = "not applicable"
    LEFT_OUT = "left out"
    """The preset, or the caller, leaves the rule out."""


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """One fact about a pair against its threshold.

    Attributes:
        fact: its name.
        words: what it is; of a yes-or-no fact, the sentence that is true of the pair.
        value: None when it is unknown.
        sign: ``≥``, ``<`` or ``=``.
        threshold: what the value is held against.
        holds: whether the condition holds.
    """

    fact: str
    words: str
    value: Value
    sign: str
    threshold: Value
    holds: bool

    def __str__(self) -> str:
        if isinstance(self.threshold, bool):
            return self.words
        return f"{self.fact} {format_number(self.value)} ({self.sign} {format_number(self.threshold)})"

    def said(self, language: str) -> str:
        """The condition for readers, in a language: the fact, its value and the threshold."""
        fact = translate(language, self.words)
        if isinstance(self.threshold, bool):
            return fact
        value, threshold = format_number(self.value), format_number(self.threshold)
        template = "{fact} {value} ({sign} {threshold})"
        return translate(language, template, fact=fact, value=value, sign=self.sign, threshold=threshold)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {name: getattr(self, name) for name in ("fact", "value", "sign", "threshold", "holds")}


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule says of a pair.

    Attributes:
        name: of the rule.
        outcome: whether it rejects the pair. Of several rules that reject, the first is the reason.
        applies_if: conditions under which the rule applies; it is not applicable where one does not hold.
        rejects_if: it rejects where all conditions of one of these alternatives hold.
    """

    name: str
    outcome: RuleOutcome
    applies_if: tuple[ConditionResult, ...]
    rejects_if: tuple[tuple[ConditionResult, ...], ...]

    @property
    def deciding(self) -> tuple[tuple[ConditionResult, ...], ...]:
        """The conditions that the outcome follows from, by alternative.

        Of a rule that rejects, the first alternative that holds; of one that passes, what does not hold of each alternative; of one
        that is not applicable, what does not hold of the conditions for applying; of one that is left out, nothing.
        """
        if self.outcome is RuleOutcome.LEFT_OUT:
            return ()
        if self.outcome is RuleOutcome.REJECTS:
            return (next(each for each in self.rejects_if if all(one.holds for one in each)),)
        alternatives = (self.applies_if,) if self.outcome is RuleOutcome.NOT_APPLICABLE else self.rejects_if
        return tuple(dict.fromkeys(tuple(one for one in each if not one.holds) for each in alternatives))

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "rule": self.name,
            "outcome": str(self.outcome),
            "applies_if": [each.as_dict() for each in self.applies_if],
            "rejects_if": [[each.as_dict() for each in alternative] for alternative in self.rejects_if],
        }


class WithExplanation(WithShares):
    """A decided pair that can be explained in words."""

    __slots__ = ()
    left: str
    right: str
    relation: Any
    score: float
    reason: str
    rules: tuple[RuleResult, ...]
    decided_by: str
    overrides: tuple[Any, ...]
    otherwise: Any

    @property
    def explanation(self) -> tuple[str, str, str]:
        """The decision in three lines for readers.

        The outcome with the coverage of both pages; what titles, times and numbers say; the rule that rejected or why the pair was
        accepted, with value and threshold, after the overrides that hold in place of that.
        """
        return self.explained(ENGLISH)

    def explained(self, language: str) -> tuple[str, str, str]:
        """``explanation`` in a language."""
        return _outcome(self, language), _looked_at(self.evidence, language), _decided(self, language)


def percent(share: float) -> str:
    """A share in whole percents, rounded down, so that only all of a page is 100 %."""
    return f"{math.floor(share * 100 + ROUNDING)} %"


def format_number(value: Value) -> str:
    """A value in at most five significant places: ``0.913``, ``12,345``, ``yes``, ``–`` for None."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and value else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value


def _outcome(pair: WithExplanation, language: str) -> str:
    relation = str(pair.relation)
    sides = {"left": pair.left, "right": pair.right}
    if relation in ("exact", "duplicate"):
        outcome = translate(language, "merged ({relation})", relation=translate(language, relation))
    elif relation == "different":
        outcome = translate(language, "not merged")
    else:
        verb = "contains" if relation == "contains" else "is contained in"
        outcome = translate(language, f"not merged, {{left}} {verb} {{right}}", **sides)
    if pair.shares is None:
        template = "{outcome}: score {score} for {left} and {right}"
        return translate(language, template, outcome=outcome, score=f"{pair.score:.2f}", **sides)
    share, other = map(percent, pair.shares)
    template = "{outcome}: {share} of {left} stands in {right}, {other} of {right} in {left}"
    return translate(language, template, outcome=outcome, share=share, other=other, **sides)


def _looked_at(evidence: Mapping[str, Any], language: str) -> str:
    """What titles, times and numbers say, in words."""
    overlap, days = evidence.get("title_overlap"), evidence.get("days_apart")
    if overlap is None:
        titles = translate(language, "titles not compared (one is missing)")
    elif overlap >= 1:
        titles = translate(language, "titles are equal")
    else:
        verb = (
            "agree" if overlap >= TITLES_AGREE else "differ" if overlap < TITLES_DIFFER else "agree in part"
        )
        titles = translate(language, f"titles {verb} (overlap {{overlap}})", overlap=format_number(overlap))
    if days is None:
        times = translate(language, "times not compared (one is unknown)")
    elif days == 1:
        times = translate(language, "published 1 day apart")
    elif days:
        times = translate(language, "published {days} days apart", days=f"{days:,}")
    else:
        times = translate(language, "published on the same day")
    numbers = _numbers(evidence, language)
    return translate(language, "{titles}; {times}; {numbers}", titles=titles, times=times, numbers=numbers)


def _numbers(evidence: Mapping[str, Any], language: str) -> str:
    left, right = (evidence.get(f"{side}_other_numbers") or 0 for side in ("left", "right"))
    replaced = evidence.get("clauses_with_other_numbers") or 0
    if not (left and right):
        return translate(language, "no conflicting numbers")
    if replaced == 1:
        return translate(language, "conflicting numbers in 1 equal clause")
    if replaced:
        return translate(language, "conflicting numbers in {count} equal clauses", count=f"{replaced:,}")
    template = "numbers that the other page lacks: {left} and {right}, none in an equal clause"
    return translate(language, template, left=f"{left:,}", right=f"{right:,}")


def _decided(pair: WithExplanation, language: str) -> str:
    if pair.otherwise is not None:
        given = {"reason": _of_people(pair, language), "decision": _decided(pair.otherwise, language)}
        return translate(language, "{reason}; without this {decision}", **given)
    if pair.decided_by != "rules":
        template, reason = (
            "decided by {who}, not by the rules: {reason}",
            translate_filled(language, pair.reason),
        )
        return translate(language, template, who=pair.decided_by, reason=reason)
    if pair.relation != "different":
        accepted, needed = translate(language, "accepted: no rule rejects"), pair.evidence.get("min_cover")
        if pair.shares is None or needed is None:
            return accepted
        template = "{accepted}; coverage of the better covered page {better} (≥ {needed})"
        better = format_number(max(pair.shares))
        return translate(language, template, accepted=accepted, better=better, needed=format_number(needed))
    rejected = next((each for each in pair.rules if each.name == pair.reason), None)
    rule = translate(language, pair.reason)
    if rejected is None:
        return translate(language, "rejected by the rule “{rule}”", rule=rule)
    causes = translate(language, ", ").join(one.said(language) for each in rejected.deciding for one in each)
    return translate(language, "rejected by the rule “{rule}”: {causes}", rule=rule, causes=causes)


def _of_people(pair: WithExplanation, language: str) -> str:
    """The overrides of a pair; what people wrote stays as it is."""
    if language == ENGLISH:
        return pair.reason
    return translate(language, "; ").join(each.said(language) for each in pair.overrides)
