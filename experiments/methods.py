"""One method alone on a corpus: its cost, its candidates and its verdicts on labelled pairs."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import numpy as np

from es_dedup.decision.candidate_search import MOST_COMPARED
from es_dedup.evaluation.runner import BY_RULES
from es_dedup.model import Relation, Skipped, Verdict
from es_dedup.model.batches import chunked
from experiments.self_join import self_join

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.detectors.port import Detector
    from es_dedup.evaluation.labels import LabelledPair, Pair
    from es_dedup.model import Content, Page
    from es_dedup.settings.loading import IndexConfig
    from experiments.self_join import SelfJoin

BATCH: Final = 256  # pages featurised together
VERIFIED: Final = 5_000  # candidate pairs timed, drawn evenly; all where there are fewer
_MS: Final = 1e3
_US: Final = 1e6
_HALF: Final = np.uint64(32)


@runtime_checkable
class Learner(Protocol):
    """A method that weighs or drops features by their document frequency in a corpus."""

    def learned(self, contents: Sequence[Content]) -> Detector[Any]:
        """The same method, knowing these pages; this detector stays as it is."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a method costs; times are processor time of one core.

    Attributes:
        features_ms: a page, from its main text to features, what is learned from the corpus included.
        bytes: stored features of a page that has any.
        terms: stored terms of such a page; None where they are not counted.
        candidates: of a query page, before verification.
        join_ms: a page, for the candidates of all pages; None where it is not measured apart.
        verify_us: a pair; None where no pair was timed, or not apart.
    """

    features_ms: float
    bytes: float
    terms: float | None
    candidates: float
    join_ms: float | None
    verify_us: float | None

    @property
    def total_ms(self) -> float:
        """A page, from main text to verified pairs of the whole corpus (each candidate pair counted once)."""
        pairs_ms = (self.verify_us or 0.0) * self.candidates / 2 / _MS
        return self.features_ms + (self.join_ms or 0.0) + pairs_ms

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "features_ms": round(self.features_ms, 4),
            "bytes": round(self.bytes, 1),
            "terms": None if self.terms is None else round(self.terms, 1),
            "candidates": round(self.candidates, 2),
            "join_ms": None if self.join_ms is None else round(self.join_ms, 4),
            "verify_us": None if self.verify_us is None else round(self.verify_us, 2),
            "total_ms": round(self.total_ms, 4),
        }


@dataclass(frozen=True, slots=True)
class MethodRun:
    """One method on one corpus.

    Attributes:
        name: of the method.
        verdicts: labelled pair to verdict, for pairs of which both pages have features.
        candidates: labelled pairs of which the method retrieves one page as a candidate of the other.
        skipped: reason to number of pages without features.
        cost: see ``Cost``.
        chance: from a verdict's score to the probability that such a pair becomes a candidate, for methods that state it.
        rules: the relation depends on more than a threshold of the score, so a pair decided different has no score.
    """

    name: str
    verdicts: Mapping[Pair, Verdict]
    candidates: frozenset[Pair]
    skipped: Mapping[str, int]
    cost: Cost
    chance: Callable[[float], float] | None = field(default=None, compare=False)
    rules: bool = False

    def score(self, pair: Pair) -> float | None:
        """Score of a candidate pair; None when it is no candidate or has no verdict."""
        verdict = self.verdicts.get(pair)
        if verdict is None or pair not in self.candidates:
            return None
        return None if self.rules and verdict.relation is Relation.DIFFERENT else verdict.score


def run_method(
    detector: Detector[Any],
    ids: Sequence[str],
    contents: Sequence[Content],
    labels: Sequence[LabelledPair],
    bounds: IndexConfig | None = None,
) -> MethodRun:
    """Run one method alone: learn, featurise, join the corpus with itself, verify the labelled pairs.

    Args:
        detector: the method; one that learns is taught the corpus first.
        ids: page ids, in the order of the contents.
        contents: the corpus.
        labels: labelled pairs; those of pages that are not in the corpus are passed over.
        bounds: ``limit`` and ``max_df`` of candidate retrieval; None: only those of the method's own candidate queries.
    """
    few = {"limit": MOST_COMPARED * bounds.limit, "max_df": bounds.max_df} if bounds else {}
    if contents:
        detector.featurise(contents[0])  # word lists and tables are loaded outside the measured time
    start = time.process_time()
    if isinstance(detector, Learner):
        detector = detector.learned(contents)
    found: list[Any] = []
    for some in chunked(contents, BATCH):
        found += detector.featurise_many(some)
    featurised = time.process_time() - start
    features = [None if isinstance(each, Skipped) else each for each in found]
    start = time.process_time()
    join = self_join(detector, features, ids, **few)
    joined = time.process_time() - start
    row = {page: at for at, page in enumerate(ids)}
    having = [each for each in features if each is not None]
    pages, sized = max(len(contents), 1), max(len(having), 1)
    return MethodRun(
        name=detector.name,
        verdicts=_verdicts(detector, features, row, labels),
        candidates=_candidate_pairs(join, row, labels),
        skipped=Counter(each.reason for each in found if isinstance(each, Skipped)),
        cost=Cost(
            features_ms=featurised * _MS / pages,
            bytes=sum(len(detector.pack(each)) for each in having) / sized,
            terms=join.terms / sized,
            candidates=join.found / max(join.queried, 1),
            join_ms=joined * _MS / pages,
            verify_us=_verify_time(detector, features, join),
        ),
        chance=getattr(detector, "candidate_chance", None),
    )


def run_rules(dedup: Deduplicator, pages: Sequence[Page], labels: Sequence[LabelledPair]) -> MethodRun:
    """Run the whole path with the decision rules: scan the corpus, then explain each labelled pair.

    Its ``features_ms`` is the whole scan, worker processes and clustering included.
    """
    start = _all_processes()
    dedup.scan(pages)
    spent = _all_processes() - start
    stored = {page for each in labels for page in each.pair} & {page.id for page in pages}
    verdicts: dict[Pair, Verdict] = {}
    for each in labels:
        if stored.issuperset(each.pair):
            decision = dedup.explain(each.left, each.right)
            verdicts[each.pair] = Verdict(
                BY_RULES, decision.relation, decision.score, {"reason": decision.reason, **decision.evidence}
            )
    records = {page: dedup.record(page) for page in sorted(stored)}
    candidates = {page: frozenset(dedup.candidates(page)) for page in records}
    count = max(len(records), 1)
    return MethodRun(
        name=BY_RULES,
        verdicts=verdicts,
        candidates=frozenset(
            pair for pair in verdicts if pair[1] in candidates[pair[0]] or pair[0] in candidates[pair[1]]
        ),
        skipped=Counter(record.skipped for record in records.values() if record.skipped),
        cost=Cost(
            features_ms=spent * _MS / max(len(pages), 1),
            bytes=sum(len(record.payload) for record in records.values()) / count,
            terms=sum(len(record.terms) for record in records.values()) / count,
            candidates=sum(map(len, candidates.values())) / count,
            join_ms=None,
            verify_us=None,
        ),
        rules=True,
    )


def _all_processes() -> float:
    """Processor seconds of this process and of the worker processes that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _verdicts(
    detector: Detector[Any], features: Sequence[Any], row: Mapping[str, int], labels: Sequence[LabelledPair]
) -> dict[Pair, Verdict]:
    verdicts = {}
    for each in labels:
        sides = [features[row[page]] if page in row else None for page in each.pair]
        if sides[0] is not None and sides[1] is not None:
            verdicts[each.pair] = detector.verify(sides[0], sides[1])
    return verdicts


def _candidate_pairs(
    join: SelfJoin, row: Mapping[str, int], labels: Sequence[LabelledPair]
) -> frozenset[Pair]:
    """Labelled pairs among the candidates."""
    known = (join.left.astype(np.uint64) << _HALF) | join.right.astype(np.uint64)
    there = [each.pair for each in labels if each.left in row and each.right in row]
    places = np.array([sorted((row[left], row[right])) for left, right in there], dtype=np.uint64).reshape(
        -1, 2
    )
    found = np.isin((places[:, 0] << _HALF) | places[:, 1], known)
    return frozenset(pair for pair, is_candidate in zip(there, found.tolist(), strict=True) if is_candidate)


def _verify_time(detector: Detector[Any], features: Sequence[Any], join: SelfJoin) -> float | None:
    """Microseconds a candidate pair takes."""
    if not len(join.left):
        return None
    chosen = np.unique(np.linspace(0, len(join.left) - 1, min(VERIFIED, len(join.left))).astype(np.int64))
    pairs = [
        (features[a], features[b])
        for a, b in zip(join.left[chosen].tolist(), join.right[chosen].tolist(), strict=True)
    ]
    start = time.process_time()
    for one, other in pairs:
        detector.verify(one, other)
    return (time.process_time() - start) * _US / len(pairs)
