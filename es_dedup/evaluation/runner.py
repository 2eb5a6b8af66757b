"""Evaluates an index on labelled pairs: decisions of each method, candidates, clusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.evaluation.labels import LabelledPair, Pair, digest
from es_dedup.evaluation.metrics import bcubed, candidate_recall, label_groups, pair_scores, right_relations
from es_dedup.model.annotations import Label
from es_dedup.model.plain import plain_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.evaluation.metrics import BCubed, PairScores, Share
    from es_dedup.model import Number, PairDecision, Relation

BY_RULES: Final = "rules"
INDEX: Final = "index"
"""Source of candidates: the candidate queries of all detectors together."""


@dataclass(frozen=True, slots=True)
class MethodReport:
    """Figures of one method, or of the decision rules: merged pairs, and right relations."""

    pairs: PairScores
    relations: Share


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
        return plain_fields(self)


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
        name: MethodReport(pair_scores(labels, decided), right_relations(labels, decided))
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


@dataclass(frozen=True, slots=True)
class Threshold:
    """The threshold of a measure.

    Attributes:
        key: the setting's name within the method's section, such as ``min_ccs``.
        value: current value of the setting.
        at_least: True where it is a minimum of the measure, False where it is a maximum.
    """

    key: str
    value: float
    at_least: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of an index on labelled pairs.

    Attributes:
        decisions: method (also ``rules``) to pair to its decision; pairs with a missing page are absent.
        candidates: source to the labelled pairs of which either page has the other as a candidate.
        clusters: labelled page to its cluster.
        measures: pair to ``method.measure`` to value; the score of a method is ``method.score``.
        thresholds: ``method.measure`` to its threshold, for measures that have one.
        missing: labelled pages that are not stored, in order.
    """

    decisions: dict[str, dict[Pair, Relation]]
    candidates: dict[str, frozenset[Pair]]
    clusters: Mapping[str, str]
    measures: dict[Pair, dict[str, float]]
    thresholds: dict[str, Threshold]
    missing: tuple[str, ...]

    def add(self, pair: PairDecision) -> None:
        """Take over decisions and measures of a labelled pair; ``left`` is the smaller id."""
        key = pair.left, pair.right
        self.decisions.setdefault(BY_RULES, {})[key] = pair.relation
        self.measures[key] = {f"{BY_RULES}.score": pair.score} | _numbers_of(BY_RULES, pair.evidence)
        self.thresholds.update(_thresholds_of(BY_RULES, pair.evidence))
        for verdict in pair.verdicts:
            name = verdict.detector
            self.decisions.setdefault(name, {})[key] = verdict.relation
            self.measures[key] |= {f"{name}.score": verdict.score} | _numbers_of(name, verdict.evidence)
            self.thresholds.update(_thresholds_of(name, verdict.evidence))


def report(
    measured: Measured, labels: Sequence[LabelledPair], methods: Iterable[str] | None = None
) -> EvaluationReport:
    """Every figure of the evaluation from measurements.

    Args:
        measured: results of an index.
        labels: labelled pairs; a pair with a page that is not stored counts as different.
        methods: methods to report beside the decision rules; all that gave verdicts when None.
    """
    wanted = None if methods is None else {BY_RULES, *methods}
    decisions = {
        name: pairs for name, pairs in measured.decisions.items() if wanted is None or name in wanted
    }
    return evaluate(labels, decisions, measured.candidates, measured.clusters)


def measure(
    dedup: IndexReader, labels: Sequence[LabelledPair], progress: Callable[[int, int], None] | None = None
) -> Measured:
    """Results of the index on every labelled pair.

    Args:
        dedup: an index whose pages are clustered (after ``scan``).
        labels: labelled pairs.
        progress: called with pairs done and all pairs, after each pair.
    """
    pages = dict.fromkeys(page for each in labels for page in each.pair)
    clusters = dedup.cluster_ids(pages)
    measured = Measured(
        decisions={BY_RULES: {}},
        candidates={},
        clusters=clusters,
        measures={},
        thresholds={},
        missing=tuple(page for page in pages if page not in clusters),
    )
    for done, each in enumerate(labels, 1):
        if each.left in clusters and each.right in clusters:
            measured.add(dedup.explain(each.left, each.right))
        if progress is not None:
            progress(done, len(labels))
    candidates_of = {page: set(dedup.candidates(page)) for page in clusters}
    measured.candidates[INDEX] = frozenset(
        each.pair
        for each in labels
        if each.right in candidates_of.get(each.left, ()) or each.left in candidates_of.get(each.right, ())
    )
    return measured


def _numbers_of(method: str, evidence: Mapping[str, Number]) -> dict[str, float]:
    """The measures in a method's evidence by ``method.measure``, without thresholds."""
    numbers = {
        name: _number(value) for name, value in evidence.items() if not name.startswith(("min_", "max_"))
    }
    return {f"{method}.{name}": number for name, number in numbers.items() if number is not None}


def _thresholds_of(method: str, evidence: Mapping[str, Number]) -> dict[str, Threshold]:
    """The thresholds in a method's evidence by ``method.measure``."""
    thresholds = {}
    for name in evidence:
        for key, at_least in ((f"min_{name}", True), (f"max_{name}", False)):
            bound = _number(evidence.get(key))
            if bound is not None and _number(evidence[name]) is not None:
                thresholds[f"{method}.{name}"] = Threshold(key, bound, at_least)
    return thresholds


def _number(value: Number) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
