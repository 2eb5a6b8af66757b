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
TITLES_DIFFER: Final = 0.20  # overlap of the titles; from here on, they agree in part
TOO_LITTLE: Final = "too little covered"
"""The rule that compares the coverage of the better covered page with what is required."""


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

    def said(self, language: str, *, would_reject: bool = False) -> str:
        """The condition for readers, in a language: the fact with its value, and on which side of the threshold that is.

        Args:
            language: of the words.
            would_reject: say instead on which side of the threshold the pair would have been rejected, as it is not.
        """
        fact = translate(language, self.words)
        if isinstance(self.threshold, bool):
            return fact
        value, threshold = _told_apart(self.value, self.threshold)
        given = {"fact": fact, "value": value, "threshold": threshold}
        if would_reject:
            side = "below" if self.sign == "<" else "from"
            return translate(
                language, f"{{fact}} {{value}}: {side} {{threshold}} it would have been rejected", **given
            )
        is_below = (self.sign == "<") is self.holds
        return translate(
            language, f"{{fact}} {{value}}, {'below' if is_below else 'at least'} {{threshold}}", **given
        )


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

    def because(self, language: str) -> str:
        """What the outcome follows from, for readers: ``…, …; or …, …`` for alternatives."""
        passes = self.outcome is RuleOutcome.PASSES
        alternatives = (
            [each[0].said(language, would_reject=passes)]
            if len(each) == 1
            else [one.said(language) for one in each]
            for each in self.deciding
        )
        comma = translate(language, ", ")
        return translate(language, "; or ").join(comma.join(each) for each in alternatives)


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
    clusters: tuple[str, ...]

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


def _told_apart(value: Value, threshold: Value) -> tuple[str, str]:
    """A value and its threshold with two decimals where they are fractions, with more where they would look equal and are not."""
    if not (isinstance(value, float) and isinstance(threshold, float)) or max(value, threshold) > 1:
        return format_number(value), format_number(threshold)
    digits = next((n for n in (2, 3, 4) if f"{value:.{n}f}" != f"{threshold:.{n}f}"), 2)
    return f"{value:.{digits}f}", f"{threshold:.{digits}f}"


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
    """How much of each page stands in the other, and what follows from that."""
    sides = {"left": pair.left, "right": pair.right}
    outcome = _by_others(pair, language, sides) or _followed(pair, language, sides)
    if pair.shares is None:
        template = "{outcome}: score {score} for {left} and {right}"
        return translate(language, template, outcome=outcome, score=f"{pair.score:.2f}", **sides)
    share, other = (translate(language, "all") if each >= 1 else percent(each) for each in pair.shares)
    template = "{share} of {left} stands in {right}, {other} of {right} in {left}: {outcome}"
    return translate(language, template, outcome=outcome, share=share, other=other, **sides)


def _by_others(pair: WithExplanation, language: str, sides: Mapping[str, str]) -> str:
    """That other pages keep a pair apart or bring it into one cluster, against its own relation; empty where they do not."""
    if not pair.clusters or pair.relation.same is (len(set(pair.clusters)) == 1):
        return ""
    template = "merged, since both are in the cluster of {first}"
    if pair.relation.same:
        template = "not merged, since {left} is in the cluster of {first} and {right} in that of {second}"
    return translate(language, template, first=pair.clusters[0], second=pair.clusters[1], **sides)


def _followed(pair: WithExplanation, language: str, sides: Mapping[str, str]) -> str:
    """Whether a pair is merged and, where the decision rules say so, since how much is enough."""
    relation = str(pair.relation)
    better, lesser = thresholds_of_coverage(pair)
    if relation in ("contains", "contained"):
        verb = "contains" if relation == "contains" else "is contained in"
        outcome = translate(language, f"not merged, {{left}} {verb} {{right}}", **sides)
        if lesser is None:
            return outcome
        template = "{outcome}; {lesser} of both would be needed"
        return translate(language, template, outcome=outcome, lesser=_at_least(lesser))
    if relation == "exact":
        return translate(language, "merged as an exact copy")
    if relation == "different":
        if better is None or pair.reason != TOO_LITTLE:
            return translate(language, "not merged")
        return translate(
            language, "not merged, since {better} of one page are needed", better=_at_least(better)
        )
    template = "merged, since {better} of one page and {lesser} of the other are enough"
    if better is None or lesser is None:
        template = "merged"
    elif better == lesser:
        template = "merged, since {lesser} of both pages are enough"
    return translate(language, template, better=percent(better or 0), lesser=percent(lesser or 0))


def thresholds_of_coverage(pair: WithExplanation) -> tuple[float | None, float | None]:
    """What the better covered page and the other one had to reach to be duplicates; None where that decided nothing."""
    better, lesser = pair.evidence.get("min_cover"), pair.evidence.get("min_both")
    if pair.otherwise is not None or pair.decided_by != "rules" or better is None or lesser is None:
        return None, None
    if str(pair.relation) == "different":
        return better, None
    return max(better, lesser), lesser


def _at_least(share: float) -> str:
    """A share that was not reached in whole percents, rounded up: what was reached is rounded down."""
    return f"{math.ceil(share * 100 - ROUNDING)} %"


def _looked_at(evidence: Mapping[str, Any], language: str) -> str:
    """What titles, times and numbers say, in words."""
    overlap, days = evidence.get("title_overlap"), evidence.get("days_apart")
    if overlap is None:
        titles = translate(language, "titles not compared (one is missing)")
    elif overlap >= 1:
        titles = translate(language, "titles are equal")
    else:
        agree = evidence.get("titles_agree")
        verb = "agree" if agree else "differ" if overlap < TITLES_DIFFER else "agree in part"
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
        template = "decided by {who}, not by the rules: {reason}"
        reason = translate_filled(language, pair.reason)
        return translate(language, template, who=pair.decided_by, reason=reason)
    if pair.relation != "different":
        return translate(language, "accepted: no rule rejects")
    rejected = next((each for each in pair.rules if each.name == pair.reason), None)
    rule = translate(language, pair.reason)
    if rejected is None:
        return translate(language, "rejected by the rule “{rule}”", rule=rule)
    template = "rejected by the rule “{rule}”: {causes}"
    return translate(language, template, rule=rule, causes=rejected.because(language))


def _of_people(pair: WithExplanation, language: str) -> str:
    """The overrides of a pair; what people wrote stays as it is."""
    if language == ENGLISH:
        return pair.reason
    return translate(language, "; ").join(each.said(language) for each in pair.overrides)
