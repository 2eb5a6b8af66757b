"""Labelled pairs measured once and decided with any thresholds, for the benchmarks of the decision rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from unittest import mock

import numpy as np
from labelled import scan

from es_dedup.batch.learning import learn
from es_dedup.decision import comparison, statistics
from es_dedup.decision.remainders import sketches_of
from es_dedup.decision.rules import RELATIONS, apply_rules
from es_dedup.decision.statistics import Statistics
from es_dedup.evaluation import Label
from es_dedup.model import Relation
from es_dedup.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from labelled import PairSet, Scanned
    from numpy.typing import NDArray

    from es_dedup.decision.comparison import Pages
    from es_dedup.decision.pair_facts import PairContext
    from es_dedup.decision.rules import PairDecisions
    from es_dedup.decision.thresholds import Thresholds
    from es_dedup.detectors.coverage_pairs import PairMeasures

LABEL_OF: Final = {
    Relation.EXACT: Label.DUP,
    Relation.DUPLICATE: Label.DUP,
    Relation.CONTAINS: Label.CONTAIN,
    Relation.CONTAINED: Label.CONTAIN,
    Relation.DIFFERENT: Label.DIFF,
}

POSITIVE: Final = (Label.DUP, Label.CONTAIN)
"""Labels of pairs that should be accepted."""


@dataclass(frozen=True, slots=True)
class Score:
    """How well the pairs of a set are decided; shares in [0, 1], None of no pairs.

    Attributes:
        recall: duplicate and containing pairs that are accepted.
        merged, merged_of: different pairs that are accepted, and how many there are.
        partial, partial_of: the same of pairs that share only a passage.
        relation: share of pairs whose relation is the reader's, where partial pairs should be different.
        table: reader's label and the decision rules' to the number of pairs.
    """

    recall: float | None
    merged: int
    merged_of: int
    partial: int
    partial_of: int
    relation: float | None
    table: dict[tuple[Label, Label], int]

    @property
    def f1(self) -> float | None:
        """F1 of acceptance on duplicate and containing against different pairs; None without any of the former."""
        accepted, refused = self._positive(Label.DUP, Label.CONTAIN), self._positive(Label.DIFF)
        return 2 * accepted / (2 * accepted + refused + self.merged) if accepted + refused else None

    @property
    def precision(self) -> float | None:
        """Duplicate and containing pairs among these and different ones that are accepted; None if none is."""
        accepted = self._positive(Label.DUP, Label.CONTAIN)
        return accepted / (accepted + self.merged) if accepted + self.merged else None

    def _positive(self, *said: Label) -> int:
        """Number of duplicate and containing pairs that were decided so."""
        return sum(self.table[label, each] for label in POSITIVE for each in said)


@dataclass(frozen=True, slots=True)
class Measured:
    """A set of labelled pairs with their measures."""

    name: str
    labels: NDArray[np.object_]
    pages: Pages
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    known: tuple[PairMeasures, PairContext]
    by_nothing: tuple[PairMeasures, PairContext]
    without_forms: tuple[PairMeasures, PairContext]
    groups: NDArray[np.object_]

    def decided(
        self, thresholds: Thresholds, known: tuple[PairMeasures, PairContext] | None = None
    ) -> PairDecisions:
        """The decisions of the rules under these thresholds, by what is known with the corpus's statistics or others."""
        return apply_rules(*(known or self.known), thresholds)

    def score(
        self,
        thresholds: Thresholds,
        *,
        known: tuple[PairMeasures, PairContext] | None = None,
        chosen: NDArray[np.bool_] | None = None,
    ) -> Score:
        """The decision rules' answers under these thresholds, by what is known with the corpus's statistics or others; of chosen pairs only."""
        decided = self.decided(thresholds, known)
        said = np.array([LABEL_OF[RELATIONS[each]] for each in decided.relation.tolist()], dtype=object)
        labels, accepted = self.labels, decided.rule == 0
        if chosen is not None:
            labels, accepted, said = labels[chosen], accepted[chosen], said[chosen]
        positive, partial = np.isin(labels, POSITIVE), labels == Label.PARTIAL
        wanted = np.where(partial, Label.DIFF, labels)
        table = {
            (label, other): int(((labels == label) & (said == other)).sum())
            for label in Label
            for other in (Label.DUP, Label.CONTAIN, Label.DIFF)
        }
        return Score(
            float(accepted[positive].mean()) if positive.any() else None,
            int(accepted[labels == Label.DIFF].sum()),
            int((labels == Label.DIFF).sum()),
            int(accepted[partial].sum()),
            int(partial.sum()),
            float((said == wanted).mean()) if len(labels) else None,
            table,
        )


def measured(sets: Iterable[PairSet]) -> list[Measured]:
    """Each set scanned and its pairs measured; sets over the same pages share one scan."""
    scans = {}
    found = []
    for pairs in sets:
        key = pairs.name.partition(",")[0]
        if key not in scans:
            with (scanned := scan(pairs.pages)).dedup:
                scans[key] = scanned
        left, right = scans[key].rows(pairs.labels)
        group = {page.id: pairs.groups.get(page.id, "") for page in pairs.pages}
        groups = [group[pair[0]] for pair in pairs.labels]
        found.append(measured_rows(pairs.name, scans[key], left, right, [*pairs.labels.values()], groups))
    return found


def measured_rows(
    name: str,
    scanned: Scanned,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    labels: Sequence[Label],
    groups: Sequence[str] = (),
) -> Measured:
    """Labelled pairs of rows of one corpus, measured with its statistics, without any, and with those that know no forms."""
    pages = scanned.corpus.pages
    # an edit is told from what a form is filled in with by clauses; grams in their place tell nothing
    with mock.patch.object(
        statistics, "sketches_of", lambda table, _, rows: sketches_of(table, "gram", rows)
    ):
        without_forms = learn(scanned.corpus, Settings().ccdet)
    known, by_nothing, formless = (
        comparison.measured(comparison.PagePairs(pages, left, pages, right), each)
        for each in (scanned.statistics, Statistics.empty(), without_forms)
    )
    return Measured(
        name,
        np.array(labels, dtype=object),
        pages,
        left,
        right,
        known,
        by_nothing,
        formless,
        np.array(groups or [""] * len(labels), dtype=object),
    )


def shown(score: Score) -> str:
    """One cell: recall, different pairs accepted of all, relation accuracy."""
    recall = "–" if score.recall is None else f"{score.recall:.3f}"
    relation = "–" if score.relation is None else f"{score.relation:.3f}"
    return f"{recall} / {score.merged} of {score.merged_of} / {relation}"
