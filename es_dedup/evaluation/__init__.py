"""Labelled pairs, metrics, threshold sweeps.

``read_labels`` reads what people labelled, ``evaluate`` measures methods, candidates and clusters against it,
``tune`` chooses thresholds with cross-validation.

Traps:

- Precision and F1 depend on the share of ``diff`` pairs in the labels, which is chosen by whoever drew the
  pairs: compare recall and the share of merged diff pairs, each with its interval.
- ``partial`` pairs count neither for nor against a method's recall and precision; they are reported apart.
- A pair that a method has not decided counts as different.
- B-cubed knows only the labelled pages and takes unlabelled pairs of a group's different pages as different.
"""

from es_dedup.evaluation.groups import BCubed, bcubed, connected, label_groups
from es_dedup.evaluation.labels import (
    LabelledPair,
    LabelsError,
    Pair,
    digest,
    labelled,
    ordered_pair,
    parse_labels,
    read_labels,
)
from es_dedup.evaluation.metrics import (
    BANDS,
    Band,
    MethodDecisions,
    PairScores,
    RelationScores,
    Share,
    by_band,
    candidate_recall,
    is_merged,
    pair_scores,
    relation_scores,
    wilson,
)
from es_dedup.evaluation.report import EvaluationReport, MethodReport, evaluate, method_decision
from es_dedup.evaluation.tune import Axis, Fold, Goal, TuneReport, fold_of, tune
from es_dedup.model.annotations import Label

__all__ = [
    "BANDS",
    "Axis",
    "BCubed",
    "Band",
    "EvaluationReport",
    "Fold",
    "Goal",
    "Label",
    "LabelledPair",
    "LabelsError",
    "MethodDecisions",
    "MethodReport",
    "Pair",
    "PairScores",
    "RelationScores",
    "Share",
    "TuneReport",
    "bcubed",
    "by_band",
    "candidate_recall",
    "connected",
    "digest",
    "evaluate",
    "fold_of",
    "is_merged",
    "label_groups",
    "labelled",
    "method_decision",
    "ordered_pair",
    "pair_scores",
    "parse_labels",
    "read_labels",
    "relation_scores",
    "tune",
    "wilson",
]
