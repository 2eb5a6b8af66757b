"""Labelled pairs, metrics, threshold sweeps.

``read_labels`` reads what people labelled, ``evaluate`` measures methods, candidates and clusters against it,
``tune`` chooses a threshold with cross-validation.

Traps:

- Precision and F1 depend on the share of ``diff`` pairs in the labels, which is chosen by whoever drew the
  pairs: compare recall and the share of merged diff pairs, each with its interval.
- ``partial`` pairs count neither for nor against a method's recall and precision; they are reported apart.
- A pair that a method has not decided counts as different.
- B-cubed knows only the labelled pages and takes unlabelled pairs of a group's different pages as different.
"""

from es_dedup.evaluation.labels import LabelledPair, labelled, parse_labels, read_labels
from es_dedup.evaluation.metrics import BCubed, PairScores, Share, wilson
from es_dedup.evaluation.runner import EvaluationReport, MethodReport, evaluate
from es_dedup.evaluation.tune import Axis, Fold, TuneReport, tune
from es_dedup.model.annotations import Label

__all__ = [
    "Axis",
    "BCubed",
    "EvaluationReport",
    "Fold",
    "Label",
    "LabelledPair",
    "MethodReport",
    "PairScores",
    "Share",
    "TuneReport",
    "evaluate",
    "labelled",
    "parse_labels",
    "read_labels",
    "tune",
    "wilson",
]
