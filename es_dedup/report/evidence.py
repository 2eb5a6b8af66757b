"""Evidence as people read it: each number beside the limit it was held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.model import Number

_LIMITS: Final = {"min_": "≥", "max_": "≤"}


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a verdict.

    Attributes:
        name: as the method names it.
        value: ready to print.
        limit: ``≥ 0.60`` or ``≤ 3``; empty when the number was held against none.
        met: whether the limit is kept; None without a limit.
    """

    name: str
    value: str
    limit: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.value}" + (f" ({self.limit})" if self.limit else "")


def measures(evidence: Mapping[str, Number]) -> list[Measure]:
    """The numbers in their order, each with its ``min_…`` or ``max_…``; limits without a number come as they are."""
    used: set[str] = set()
    found = []
    for name, value in evidence.items():
        limits = [(prefix, evidence[prefix + name]) for prefix in _LIMITS if prefix + name in evidence]
        used |= {prefix + name for prefix, _ in limits}
        text = " ".join(f"{_LIMITS[prefix]} {format_number(limit)}" for prefix, limit in limits)
        found.append(Measure(name, format_number(value), text, _met(value, limits)))
    return [measure for measure in found if measure.name not in used]


def format_number(value: Number) -> str:
    """A value in at most five significant places: ``0.913``, ``12,345``, ``yes``, ``–`` for None."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and value else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value


def _met(value: Number, limits: list[tuple[str, Number]]) -> bool | None:
    if not limits or isinstance(value, str) or value is None:
        return None
    numbers = [(prefix, limit) for prefix, limit in limits if isinstance(limit, (int, float))]
    return all(value >= limit if prefix == "min_" else value <= limit for prefix, limit in numbers)
