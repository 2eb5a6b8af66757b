"""Measures of candidates, decisions and clusters against labelled pairs; pure functions of their arguments."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.model import Relation
from es_dedup.model.annotations import Label
from es_dedup.text.ragged import components

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from es_dedup.evaluation.labels import LabelledPair, Pair

Z_95: Final = 1.959963984540054
"""Standard deviations that hold 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Share:
    """``hits`` of ``total``, with 0 <= hits <= total."""

    hits: int
    total: int

    @property
    def value(self) -> float | None:
        """The share in [0, 1]; None of nothing."""
        return self.hits / self.total if self.total else None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form, with the 95 % interval."""
        low, high = wilson(self.hits, self.total)
        return {"hits": self.hits, "total": self.total, "value": self.value, "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class PairScores:
    """How many labelled pairs a method merges, by label; merged is all that is not decided different.

    Attributes:
        positive: merged among ``dup`` and ``contain``.
        diff: merged among ``diff``.
        partial: merged among ``partial``; in none of precision, recall and F1.
    """

    positive: Share
    diff: Share
    partial: Share

    @property
    def recall(self) -> float | None:
        """In [0, 1]; None without positive pairs."""
        return self.positive.value

    @property
    def precision(self) -> float | None:
        """In [0, 1]; None when nothing was merged. Depends on the share of ``diff`` pairs in the labels."""
        return Share(self.positive.hits, self.positive.hits + self.diff.hits).value

    @property
    def f1(self) -> float | None:
        """In [0, 1]; None when there is no positive pair and none was merged."""
        both = self.positive.total + self.positive.hits + self.diff.hits
        return 2 * self.positive.hits / both if both else None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        figures = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        shares = {"positive": self.positive, "diff": self.diff, "partial": self.partial}
        return figures | {f"merged_{name}": share.as_dict() for name, share in shares.items()}


def wilson(hits: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Interval of a share: the range of true shares under which ``hits`` of ``total`` is no surprise.

    Returns:
        Bounds in [0, 1], low before high; (0.0, 1.0) of nothing.

    Raises:
        ValueError: not 0 <= hits <= total.

    Source:
        E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927),
        209-212.
    """
    if not 0 <= hits <= total:
        raise ValueError(f"a share needs 0 <= hits <= total, got {hits} of {total}")
    if not total:
        return 0.0, 1.0
    share, spread = hits / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    # At the ends the bound is exact; rounding errors would put it next to the share.
    low = max(0.0, middle - half) if hits else 0.0
    high = min(1.0, middle + half) if hits < total else 1.0
    return low, high


def candidate_recall(labels: Iterable[LabelledPair], candidates: AbstractSet[Pair]) -> Share:
    """Share of the ``dup`` and ``contain`` pairs that are among the candidates."""
    wanted = [each.pair for each in labels if each.label.positive]
    return Share(sum(pair in candidates for pair in wanted), len(wanted))


def pair_scores(labels: Iterable[LabelledPair], decisions: Mapping[Pair, Relation]) -> PairScores:
    """Merged pairs by label; a pair that is not in ``decisions`` counts as different."""
    labels = tuple(labels)
    merged = Counter(
        each.label
        for each in labels
        if decisions.get(each.pair, Relation.DIFFERENT) is not Relation.DIFFERENT
    )
    total = Counter(each.label for each in labels)
    positive = [label for label in Label if label.positive]
    return PairScores(
        Share(sum(merged[label] for label in positive), sum(total[label] for label in positive)),
        Share(merged[Label.DIFF], total[Label.DIFF]),
        Share(merged[Label.PARTIAL], total[Label.PARTIAL]),
    )


def right_relations(labels: Iterable[LabelledPair], decisions: Mapping[Pair, Relation]) -> Share:
    """Share of the pairs whose relation is of the right class: ``dup``, ``contain``, or different (``partial`` and ``diff``); a pair that is not in ``decisions`` counts as different."""
    right = [
        _class(decisions.get(each.pair, Relation.DIFFERENT))
        == (each.label if each.label.positive else "different")
        for each in labels
    ]
    return Share(sum(right), len(right))


def _class(relation: Relation) -> str:
    if relation.same:
        return "dup"
    return "contain" if relation in (Relation.CONTAINS, Relation.CONTAINED) else "different"


@dataclass(frozen=True, slots=True)
class BCubed:
    """Agreement of clusters with groups, averaged over pages.

    Attributes:
        precision: mean share of a page's cluster that is in its group, in [0, 1].
        recall: mean share of a page's group that is in its cluster, in [0, 1].
        pages: number of pages averaged over; with none, both are 1.0.
    """

    precision: float
    recall: float
    pages: int

    @property
    def f1(self) -> float:
        """Harmonic mean, in [0, 1]."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, "pages": self.pages}


def connected(pages: Iterable[str], pairs: Iterable[Pair]) -> dict[str, str]:
    """Page to the smallest page id that the pairs connect it with (possibly over others); its own when alone.

    Args:
        pages: ids that shall be in the answer, whether or not a pair names them.
        pairs: connected ids.
    """
    joined = list(pairs)
    names = sorted({*pages, *chain.from_iterable(joined)})
    place = {name: at for at, name in enumerate(names)}
    left, right = (np.array([place[pair[side]] for pair in joined], dtype=np.int64) for side in (0, 1))
    least = components(len(names), left, right).tolist()
    return {name: names[at] for name, at in zip(names, least, strict=True)}


def label_groups(labels: Iterable[LabelledPair]) -> dict[str, str]:
    """Every labelled page to its group: pages joined by ``dup`` pairs, over other pages too."""
    labels = tuple(labels)
    pages = (page for each in labels for page in each.pair)
    return connected(pages, (each.pair for each in labels if each.label == Label.DUP))


def bcubed(clusters: Mapping[str, Hashable], groups: Mapping[str, Hashable]) -> BCubed:
    """Agreement over the pages of ``groups``; other pages are passed over.

    Args:
        clusters: page to its cluster; a page that is missing stands alone.
        groups: page to its true group.

    Source:
        A. Bagga, B. Baldwin, Entity-based cross-document coreferencing using the vector space model, ACL
        1998.
    """
    alone = object()
    places = {page: clusters.get(page, (alone, page)) for page in groups}
    shared = Counter((places[page], group) for page, group in groups.items())
    cluster_sizes, group_sizes = Counter(places.values()), Counter(groups.values())
    total = len(groups)
    if not total:
        return BCubed(1.0, 1.0, 0)
    # Each of the n pages in both a cluster and a group has the same share, n of the whole.
    precision = sum(count * count / cluster_sizes[cluster] for (cluster, _), count in shared.items())
    recall = sum(count * count / group_sizes[group] for (_, group), count in shared.items())
    return BCubed(precision / total, recall / total, total)
