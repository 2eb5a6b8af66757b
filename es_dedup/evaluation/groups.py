"""Groups of pages: what labels join, and how well clusters agree with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_dedup.model.annotations import Label

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from es_dedup.evaluation.labels import LabelledPair, Pair


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
    parent: dict[str, str] = {page: page for page in pages}

    def root(page: str) -> str:
        while (above := parent.setdefault(page, page)) != page:
            parent[page] = parent[above]
            page = above
        return page

    for left, right in pairs:
        first, second = sorted((root(left), root(right)))
        parent[second] = first
    return {page: root(page) for page in list(parent)}


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
