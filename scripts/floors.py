"""The quality gate: floors pinned together with a digest of the labels they were measured on.

A figure passes when it would reach its floor if one pair more were decided right: the reader of one pair may
err, a change that loses two pairs is a change of the method. Pinning again never lowers a floor unless it is
told to.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import DedupError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.evaluation.metrics import PairScores, Share
    from es_dedup.evaluation.runner import EvaluationReport, MethodReport

CEILINGS: Final = frozenset({"max_merged_diff"})
"""Figures that are bounded from above; all others are bounded from below."""

PLACES: Final = 4
"""Decimals of a pinned figure; rounded in favour of the figure, so that what was measured passes."""


@dataclass(frozen=True, slots=True)
class Floors:
    """Pinned bounds.

    Attributes:
        labels_sha256: digest of the labels they hold for.
        pairs: number of these labels.
        floors: section (a method, ``candidates:`` and its source, or ``clusters``) to figure to bound in [0,
            1].
    """

    labels_sha256: str
    pairs: int
    floors: Mapping[str, Mapping[str, float]]

    def as_json(self) -> str:
        """The text of a file of floors: sorted, one figure a line."""
        value = {"labels_sha256": self.labels_sha256, "pairs": self.pairs, "floors": self.floors}
        return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value, and what it would be with one pair more decided right; both in [0, 1]."""

    value: float
    one_better: float


class FloorLowered(DedupError):
    """Pinning would lower floors or drop them; nothing was pinned."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        return f"floors would be lowered, nothing was pinned; if that is meant, allow it explicitly:\n{lines}"


def figures(report: EvaluationReport) -> dict[str, dict[str, Figure]]:
    """All figures of a report that can be pinned; those that are undefined (of no pairs) are absent."""
    found = {name: _method(method) for name, method in report.methods.items()}
    found |= {
        f"candidates:{name}": {"recall": _share(share)}
        for name, share in report.candidates.items()
        if share.total
    }
    if report.clusters is not None and report.clusters.pages:
        # One page in a wrong place moves the mean over pages by about its share.
        step, value = 1 / report.clusters.pages, report.clusters
        means = {"bcubed_precision": value.precision, "bcubed_recall": value.recall, "bcubed_f1": value.f1}
        found["clusters"] = {name: Figure(mean, min(1.0, mean + step)) for name, mean in means.items()}
    return found


def check(report: EvaluationReport, floors: Floors) -> list[str]:
    """What breaks the gate, in plain words; empty when it holds.

    Other labels than the pinned ones are one problem, and then no figure is compared: it would mean nothing.
    """
    if (report.labels_sha256, report.pairs) != (floors.labels_sha256, floors.pairs):
        changed = (
            f"the labels have changed ({report.pairs} pairs, digest {report.labels_sha256[:12]}; "
            f"pinned: {floors.pairs} pairs, {floors.labels_sha256[:12]}): check the change, then pin again"
        )
        return [changed]
    problems = []
    measured = figures(report)
    for section, bounds in sorted(floors.floors.items()):
        for name, bound in sorted(bounds.items()):
            figure = measured.get(section, {}).get(name)
            if figure is None:
                problems.append(f"{section}: {name} was not measured, pinned is {bound:.{PLACES}f}")
            elif _breaks(name, figure.one_better, bound):
                word = "above its ceiling" if name in CEILINGS else "below its floor"
                problems.append(
                    f"{section}: {name} {figure.value:.{PLACES}f} is {word} {bound:.{PLACES}f} "
                    "by more than one pair"
                )
    return problems


def pin(report: EvaluationReport, old: Floors | None = None, *, allow_lower: bool = False) -> Floors:
    """Bounds at what a report measured: all that were pinned before, and every figure of the report.

    Args:
        report: the measured figures.
        old: the present floors; None when there are none.
        allow_lower: take bounds that are worse than the present ones, and drop those that were not measured.

    Raises:
        FloorLowered: a bound would get worse or vanish, and ``allow_lower`` is False. All are named.
    """
    measured = figures(report)
    fresh = {
        section: {name: _rounded(name, figure.value) for name, figure in sorted(found.items())}
        for section, found in sorted(measured.items())
    }
    problems = []
    for section, bounds in sorted(old.floors.items()) if old else ():
        for name, bound in sorted(bounds.items()):
            value = fresh.get(section, {}).get(name)
            if value is None:
                problems.append(f"{section}: {name} {bound:.{PLACES}f} is no longer measured")
            elif _breaks(name, value, bound):
                problems.append(f"{section}: {name} {bound:.{PLACES}f} would become {value:.{PLACES}f}")
    if problems and not allow_lower:
        raise FloorLowered(tuple(problems))
    return Floors(report.labels_sha256, report.pairs, fresh)


def read_floors(path: str | Path) -> Floors:
    """Pinned bounds from a file.

    Raises:
        InputError: the file cannot be read or does not hold floors; all its problems are named.
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), None, f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(str(path), None, f"no JSON: {error}") from error
    problems = _problems(value)
    if problems:
        raise InputError(str(path), None, "; ".join(problems))
    return Floors(value["labels_sha256"], value["pairs"], value["floors"])


def _problems(value: Any) -> list[str]:
    if not isinstance(value, dict):
        return ["no JSON object"]
    problems = [f"unknown key {key!r}" for key in sorted(value.keys() - {"labels_sha256", "pairs", "floors"})]
    if not isinstance(value.get("labels_sha256"), str):
        problems.append("labels_sha256 must be a text")
    if not isinstance(value.get("pairs"), int) or isinstance(value["pairs"], bool):
        problems.append("pairs must be a whole number")
    floors = value.get("floors")
    if not isinstance(floors, dict) or not all(isinstance(bounds, dict) for bounds in floors.values()):
        return [*problems, "floors must map a section to its bounds"]
    for section, bounds in floors.items():
        for name, bound in bounds.items():
            if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound <= 1:
                problems.append(f"floors.{section}.{name} must be a number from 0 to 1, got {bound!r}")
    return problems


def _method(method: MethodReport) -> dict[str, Figure]:
    pairs = method.pairs
    found: dict[str, Figure] = {}
    if pairs.recall is not None:
        found["recall"] = _share(pairs.positive)
    if pairs.diff.value is not None:
        found["max_merged_diff"] = Figure(pairs.diff.value, max(0, pairs.diff.hits - 1) / pairs.diff.total)
    if pairs.precision is not None:
        found["precision"] = Figure(pairs.precision, _flipped("precision", pairs))
    if pairs.f1 is not None:
        found["f1"] = Figure(pairs.f1, _flipped("f1", pairs))
    if method.relations.value is not None:
        found["relation_accuracy"] = _share(method.relations)
    return found


def _share(share: Share) -> Figure:
    return Figure(share.hits / share.total, min(share.total, share.hits + 1) / share.total)


def _flipped(name: str, pairs: PairScores) -> float:
    """The best value that one pair more decided right can give: one found, or one wrong merge undone."""
    hits, wrong, total = pairs.positive.hits, pairs.diff.hits, pairs.positive.total
    options = [(hits, wrong), (min(total, hits + 1), wrong), (hits, max(0, wrong - 1))]
    if name == "precision":
        return max(hit / (hit + miss) if hit + miss else 1.0 for hit, miss in options)
    return max(2 * hit / (total + hit + miss) if total + hit + miss else 1.0 for hit, miss in options)


def _breaks(name: str, value: float, bound: float) -> bool:
    return value > bound if name in CEILINGS else value < bound


def _rounded(name: str, value: float) -> float:
    scaled = round(value * 10**PLACES, 6)
    return (math.ceil(scaled) if name in CEILINGS else math.floor(scaled)) / 10**PLACES
