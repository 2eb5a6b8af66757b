"""What the experiments of the source documents share: the sets with their contents, runs of methods, and figures of a run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from harness import Row, data_file, page_of, rows_of
from labelled import GROUPED, pair_sets

from es_dedup import load_settings
from es_dedup.batch.featurise import content_of
from es_dedup.detectors.registry import create_detectors
from es_dedup.evaluation import Label, labelled
from es_dedup.model import Relation
from experiments.alone import coupled
from experiments.methods import run_method
from experiments.settings import settings_of as settings_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from es_dedup import Settings
    from es_dedup.detectors.port import Detector
    from es_dedup.evaluation import LabelledPair
    from es_dedup.model import Content
    from experiments.methods import MethodRun

MILLISECONDS: Final = 1_000


class Given(Protocol):
    """Options of an experiment: the data folder, the sets, the pages where times are measured, and the rounds."""

    data: Path | None
    sets: Sequence[str]
    pages: int | None
    rounds: int


@dataclass(frozen=True, slots=True)
class Table:
    """The outcome of an experiment.

    Attributes:
        title: what it asks.
        published: what the document reports.
        rows: figures.
        notes: what else has to be said.
    """

    title: str
    published: str
    rows: list[Row]
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Set:
    """A labelled set: its pages' ids and contents, and the labelled pairs."""

    name: str
    ids: list[str]
    contents: list[Content]
    labels: list[LabelledPair]


@cache
def read(folder: Path | None, name: str) -> Set:
    """A labelled set; groups in place of labels count as in ``experiments.alone``."""
    (pairs,) = pair_sets(folder, [name])
    labels = [labelled(*pair, Label.DUP) for pair in pairs.same]
    labels += [
        labelled(*pair, Label.DIFF) for pair in (coupled(pairs.same) if name in GROUPED else pairs.other)
    ]
    config = load_settings(environ={}).extraction
    contents = [content_of(page, config)[0] for page in pairs.pages]
    return Set(name, [page.id for page in pairs.pages], contents, labels)


def contents_of(folder: Path | None, name: str, most: int) -> list[Content]:
    """Contents of the first pages of a set."""
    config = load_settings(environ={}).extraction
    rows = rows_of(data_file(folder, f"{name}.jsonl.xz"), most)
    return [content_of(page_of(row), config)[0] for row in rows]


def settings_of(method: str, changes: Mapping[str, Any]) -> Settings:
    """Settings with one method enabled and some values changed, by dotted key."""
    return settings_with({"detectors": [method], "decision.method": method, **changes})


def detector_of(method: str, changes: Mapping[str, Any]) -> Detector[Any]:
    """One method with some settings changed."""
    return create_detectors(settings_of(method, changes))[method]


def run(given: Set, method: str, changes: Mapping[str, Any]) -> MethodRun:
    """One method on one set."""
    return run_method(detector_of(method, changes), given.ids, given.contents, given.labels)


def scores(labels: Sequence[LabelledPair], accepted: Callable[[LabelledPair], bool]) -> Row:
    """Precision, recall and F1 of accepted pairs."""
    right = sum(accepted(each) for each in labels if each.label.positive)
    wrong = sum(accepted(each) for each in labels if not each.label.positive)
    positive = sum(each.label.positive for each in labels)
    precision = right / (right + wrong) if right + wrong else None
    return {
        "precision": None if precision is None else round(precision, 3),
        "recall": round(right / positive, 3) if positive else None,
        "F1": round(2 * right / (positive + right + wrong), 3) if positive + right + wrong else None,
        "different accepted": f"{wrong}/{len(labels) - positive}",
    }


def own_scores(given: Set, found: MethodRun) -> Row:
    """Figures at the method's own thresholds."""
    return scores(
        given.labels,
        lambda each: (
            each.pair in found.candidates and found.verdicts[each.pair].relation is not Relation.DIFFERENT
        ),
    )


def scores_above(given: Set, found: MethodRun, least: float) -> Row:
    """Figures at a threshold on the score."""

    def accepted(each: LabelledPair) -> bool:
        score = found.score(each.pair)
        return score is not None and score >= least

    return scores(given.labels, accepted)


def best_above(given: Set, found: MethodRun, thresholds: Iterable[float]) -> tuple[float, Row]:
    """The threshold with the best F1, the lowest of equals, and its figures."""
    tried = [(least, scores_above(given, found, least)) for least in thresholds]
    return max(tried, key=lambda each: (each[1]["F1"] or 0.0, -each[0]))


def spent_ms(call: Callable[[], Any]) -> tuple[float, Any]:
    """Processor milliseconds of a call, and its result."""
    begun = time.process_time()
    found = call()
    return MILLISECONDS * (time.process_time() - begun), found
