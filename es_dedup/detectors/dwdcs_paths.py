"""How much longer do the paths of a network get when one node is taken away? Bit-parallel breadth-first search.

Each node has a set of bits: the nodes from which it has been reached, in the whole graph and in the graph without each of the nodes
to take away. One level of the search joins the sets of a node's neighbours to its own, so all sources and all removed nodes advance
together. The numbers of bits give the sum of all distances, so results are whole numbers and exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup import native
from es_dedup.text.ragged import components, offsets_of, sorted_distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORD_BITS: Final = 64
BLOCK_WORDS: Final = 1 << 20  # of the rows of all neighbours, searched together: 8 MB


@dataclass(frozen=True, slots=True)
class Graphs:
    """Undirected graphs; the nodes of graph ``g`` are ``[offsets[g], offsets[g + 1])``.

    Attributes:
        offsets: shape (graphs + 1,).
        starts: neighbours of node ``v`` are ``neighbours[starts[v]:starts[v + 1]]``; shape (nodes + 1,).
        neighbours: node numbers, each edge in both directions.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    neighbours: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Neighbours of each node."""
        return np.asarray(np.diff(self.starts))

    @classmethod
    def of_edges(
        cls, offsets: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> Graphs:
        """Graphs from edges, in any order."""
        count = int(offsets[-1])
        keys = sorted_distinct(np.minimum(left, right) * count + np.maximum(left, right))
        low, high = np.divmod(keys, max(count, 1))
        source, target = np.concatenate((low, high)), np.concatenate((high, low))
        # numbers of 16 bits are sorted in as many steps as there are
        order = np.argsort(source.astype(np.min_scalar_type(count)), kind="stable")
        return cls(offsets, offsets_of(source[order], count), target[order])

    def keep(self, nodes: NDArray[np.bool_]) -> Graphs:
        """The graphs of those nodes alone; shape of ``nodes``: (nodes,)."""
        number = np.cumsum(nodes) - 1
        source = np.repeat(np.arange(len(nodes)), self.degrees)
        inside = nodes[source] & nodes[self.neighbours]
        source, target = number[source[inside]], number[self.neighbours[inside]]
        kept = np.concatenate(([0], np.cumsum(nodes)))
        return Graphs(kept[self.offsets], offsets_of(source, int(kept[-1])), target)


def largest_components(graphs: Graphs) -> NDArray[np.bool_]:
    """Whether each node belongs to the largest connected part of its graph; of equals, that with the first node."""
    count = int(graphs.offsets[-1])
    label = components(count, np.repeat(np.arange(count), graphs.degrees), graphs.neighbours)
    size = np.bincount(label, minlength=count)
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.offsets))
    order = np.lexsort((np.arange(count), -size, owner))
    best = np.full(len(graphs), -1, dtype=np.int64)
    filled = np.flatnonzero(np.diff(graphs.offsets))
    best[filled] = order[graphs.offsets[filled]]
    return np.asarray(label == best[owner])


def removal_sums(
    graphs: Graphs, removed: NDArray[np.int64], removed_offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sum of the distances between all other nodes when a node is gone, for each node named.

    Args:
        graphs: connected graphs.
        removed: nodes to take away, one at a time; those of graph ``g`` are
            ``removed[removed_offsets[g]:removed_offsets[g + 1]]``.
        removed_offsets: shape (graphs + 1,).

    Returns:
        Over ordered pairs; a pair that is no longer connected counts the diameter of the whole graph plus 1.
        Shape (removed,).
    """
    if native.core:
        found: NDArray[np.int64] = native.core.removal_sums(
            graphs.offsets, graphs.starts, graphs.neighbours, removed, removed_offsets, native.threads()
        )
        return found
    sums = [np.zeros(0, dtype=np.int64)]
    for graph, (low, high) in enumerate(pairwise(removed_offsets.tolist())):
        first, last = graphs.offsets[graph : graph + 2].tolist()
        words = int(graphs.starts[last] - graphs.starts[first]) * -(-(last - first) // WORD_BITS)
        at_once = max(1, BLOCK_WORDS // max(words, 1))
        pieces = (removed[at : min(at + at_once, high)] for at in range(low, high, at_once))
        sums += [_removal_sums(graphs, first, last, some) for some in pieces]
    return np.concatenate(sums)


def _removal_sums(graphs: Graphs, first: int, last: int, removed: NDArray[np.int64]) -> NDArray[np.int64]:
    """``removal_sums`` of the graph of nodes from one to before another; variant 0 is the graph as it is."""
    nodes, starts = np.arange(last - first), graphs.starts[first : last + 1]
    neighbours = graphs.neighbours[starts[0] : starts[-1]] - first
    reach = np.zeros((len(nodes), len(removed) + 1, -(-len(nodes) // WORD_BITS)), dtype=np.uint64)
    reach[nodes, :, nodes // WORD_BITS] = (np.uint64(1) << (nodes % WORD_BITS).astype(np.uint64))[:, None]
    rows = reach.reshape(len(nodes), -1)
    gone = removed - first, np.arange(1, len(removed) + 1)
    counts: list[NDArray[np.int64]] = []  # pairs joined so far, by variant
    while len(counts) < 2 or not np.array_equal(counts[-1], counts[-2]):  # noqa: PLR2004 - until nothing grows
        reach[gone] = 0
        counts.append(np.bitwise_count(reach).sum(axis=0, dtype=np.int64).sum(axis=1))
        if len(neighbours):
            rows |= np.bitwise_or.reduceat(rows[neighbours], starts[:-1] - starts[0], axis=0)
    levels = np.stack(counts)
    joined = levels[-1]
    diameter = int((levels[:, 0] < joined[0]).sum())
    lost = (len(nodes) - 1) ** 2 - joined
    sums: NDArray[np.int64] = (joined - levels).sum(axis=0) + lost * (diameter + 1)
    return sums[1:]
