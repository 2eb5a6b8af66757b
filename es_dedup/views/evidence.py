"""Evidence for the terminal and reports: each measure beside its threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.model.explanation import RuleResult, format_number, percent
from es_dedup.model.translations import ENGLISH, translate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.model import Cluster, Number

_SIGNS: Final = {"min_": "≥", "max_": "≤"}
_STRICT_SIGNS: Final = {"min_": ">", "max_": "<"}
STRICT: Final = "strict_thresholds"
"""Key of evidence: whether a measure equal to its threshold fails."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of a verdict.

    Attributes:
        name: as the method names it.
        value: ready to print.
        threshold: ``≥ 0.60``, ``≤ 3`` or, of a method with strict thresholds, ``> 0.9``; empty where there is none.
        met: whether the value satisfies the threshold; None without one.
    """

    name: str
    value: str
    threshold: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.value}" + (f" ({self.threshold})" if self.threshold else "")


def measures(evidence: Mapping[str, Number]) -> list[Measure]:
    """The measures in their order, each with its ``min_…`` or ``max_…``; a threshold without a measure is listed by itself."""
    strict = bool(evidence.get(STRICT))
    signs = _STRICT_SIGNS if strict else _SIGNS
    used = {STRICT}
    found = []
    for name, value in evidence.items():
        thresholds = [(prefix, evidence[prefix + name]) for prefix in signs if prefix + name in evidence]
        used |= {prefix + name for prefix, _ in thresholds}
        text = " ".join(f"{signs[prefix]} {format_number(threshold)}" for prefix, threshold in thresholds)
        found.append(Measure(name, format_number(value), text, _met(value, thresholds, strict=strict)))
    return [measure for measure in found if measure.name not in used]


def rule_rows(rules: Iterable[RuleResult], language: str = ENGLISH) -> list[tuple[str, str, str]]:
    """For each rule its name, its outcome, and what this follows from, in a language."""
    return [
        (translate(language, each.name), translate(language, str(each.outcome)), each.because(language))
        for each in rules
    ]


def shares_in_words(shares: tuple[float, float] | None, left: str, right: str, score: float) -> str:
    """How much of each page stands in the other: ``73 % of a, 100 % of b``; the score where that was not measured."""
    if shares is None:
        return f"score {score:.2f}"
    return f"{percent(shares[0])} of {left}, {percent(shares[1])} of {right}"


def share_spans(cluster: Cluster) -> tuple[str, str]:
    """Least and most shared of the canonical document, and of the other pages; empty where nothing was measured."""
    shares = [member.shares for member in cluster.members if member.shares is not None]
    spans = [
        " – ".join(dict.fromkeys((percent(min(side)), percent(max(side)))))
        for side in zip(*shares, strict=True)
    ]
    return (spans[0], spans[1]) if spans else ("", "")


def _met(value: Number, thresholds: list[tuple[str, Number]], *, strict: bool) -> bool | None:
    if not thresholds or isinstance(value, str) or value is None:
        return None
    numbers = [(prefix, bound) for prefix, bound in thresholds if isinstance(bound, (int, float))]
    if strict and any(value == bound for _, bound in numbers):
        return False
    return all(value >= bound if prefix == "min_" else value <= bound for prefix, bound in numbers)
