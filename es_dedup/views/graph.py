"""The graph of a cluster: the canonical document in the middle, the pages that it was compared with around it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.views.compare import title_of
from es_dedup.views.templates import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Cluster, Member

MOST_NODES: Final = 60
LABELLED: Final = 16
"""Nodes of a graph that has room for their names."""
WIDTH, HEIGHT = 640, 360
_RADII: Final = (150, 150), (105, 105)
"""Half axes of the ellipse that nodes are drawn on, and of an inner one for many nodes; there is room for labels around it."""
_WIDEST: Final = 6.0
_SITE_CHARS: Final = 20
_TITLE_CHARS: Final = 11


class Node(NamedTuple):
    """A page around the canonical document; ``width`` of its edge grows with ``share``, which is how much both share."""

    x: float
    y: float
    kind: str
    name: str
    label: str
    share: float | None
    width: float


class Graph(NamedTuple):
    """The nodes that are drawn, and how many pages are not."""

    nodes: Sequence[Node]
    more: int


def cluster_graph(cluster: Cluster, members: Sequence[tuple[Member, FeatureRecord]]) -> Graph | None:
    """The graph of a cluster with the first of these members, and of the clusters whose canonical document contains its own; None of a single page."""
    around = [
        (str(member.relation), title_of(record), _label(record), min(member.shares or (member.score,)))
        for member, record in members
    ]
    inside = [("contained", name, short(name, _SITE_CHARS), None) for name in cluster.contained_in]
    drawn = [*inside, *around][: MOST_NODES - 1]
    left_out = cluster.size - 1 + len(inside) - len(drawn)
    nodes = []
    for place, (kind, name, label, share) in enumerate(drawn):
        across, down = _RADII[place % 2 if len(drawn) > LABELLED else 0]
        turn = 2 * math.pi * place / len(drawn)
        x, y = WIDTH / 2 + across * math.cos(turn), HEIGHT / 2 + down * math.sin(turn)
        shown = label if len(drawn) <= LABELLED else ""
        nodes.append(Node(x, y, kind, name, shown, share, max(1.0, _WIDEST * (share or 0.0))))
    return Graph(nodes, left_out) if nodes else None


def _label(record: FeatureRecord) -> str:
    return short(record.site, _SITE_CHARS) or short(title_of(record), _TITLE_CHARS)
