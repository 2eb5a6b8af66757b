"""All figures of one run over one set of labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from es_dedup.evaluation.groups import bcubed, label_groups
from es_dedup.evaluation.labels import digest
from es_dedup.evaluation.metrics import (
    candidate_recall,
    pair_scores,
    relation_scores,
)
from es_dedup.model.annotations import Label
from es_dedup.model.plain import plain

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from es_dedup.evaluation.groups import BCubed
    from es_dedup.evaluation.labels import LabelledPair, Pair
    from es_dedup.evaluation.metrics import PairScores, RelationScores, Share
    from es_dedup.model import Relation


@dataclass(frozen=True, slots=True)
class MethodReport:
    """Figures of one method, or of the decision rules: merged pairs and relations."""

    pairs: PairScores
    relations: RelationScores


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Figures of one run over one set of labels.

    Attributes:
        labels_sha256: digest of the labels.
        pairs: number of labelled pairs.
        labels: label to number of pairs, all four.
        candidates: source of candidates to the share of positive pairs among them.
        methods: method to its figures; the decision rules are one of them.
        clusters: agreement of the clusters with the groups that ``dup`` labels make; None when not given.
    """

    labels_sha256: str
    pairs: int
    labels: Mapping[Label, int]
    candidates: Mapping[str, Share]
    methods: Mapping[str, MethodReport]
    clusters: BCubed | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}


def evaluate(
    labels: Iterable[LabelledPair],
    decisions: Mapping[str, Mapping[Pair, Relation]],
    candidates: Mapping[str, AbstractSet[Pair]] | None = None,
    clusters: Mapping[str, Hashable] | None = None,
) -> EvaluationReport:
    """Every figure of this package over one set of labels.

    Args:
        labels: labelled pairs, each once.
        decisions: method to pair, ids in order, to its relation, seen from the smaller id; a missing pair counts as different.
        candidates: source (a method, or the whole index) to its candidate pairs, ids in order.
        clusters: page to its cluster; a labelled page that is missing stands alone.
    """
    labels = tuple(labels)
    counts = Counter(each.label for each in labels)
    methods = {
        name: MethodReport(pair_scores(labels, decided), relation_scores(labels, decided))
        for name, decided in decisions.items()
    }
    return EvaluationReport(
        labels_sha256=digest(labels),
        pairs=len(labels),
        labels={label: counts[label] for label in Label},
        candidates={name: candidate_recall(labels, pairs) for name, pairs in (candidates or {}).items()},
        methods=methods,
        clusters=None if clusters is None else bcubed(clusters, label_groups(labels)),
    )
