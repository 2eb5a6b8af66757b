"""How much longer do the paths of a network get when one node is taken away? Bit-parallel breadth-first search.

Row v of a graph is a set of bits: the nodes from which v has been reached. One level of the search joins the rows of v's
neighbours to it; all sources, all removed nodes and several graphs advance together. The numbers of bits give the sum of
all distances, so results are whole numbers and exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup import native
from es_dedup.text.ragged import gather, offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

WORD_BITS: Final = 64
BLOCK_WORDS: Final = 1 << 16  # words of all rows searched together: half a megabyte stays in the cache


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
        degrees: NDArray[np.int64] = np.diff(self.starts)
        return degrees

    @classmethod
    def of_edges(
        cls, offsets: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> Graphs:
        """Graphs from edges, in any order."""
        count = int(offsets[-1])
        keys = np.concatenate((left * count + right, right * count + left))
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) > 0]
        source = keys // max(count, 1)
        return cls(offsets, offsets_of(source, count), keys - source * count)

    def keep(self, nodes: NDArray[np.bool_]) -> Graphs:
        """The graphs of those nodes alone; shape of ``nodes``: (nodes,)."""
        number = np.cumsum(nodes) - 1
        source = np.repeat(np.arange(len(nodes)), self.degrees)
        inside = nodes[source] & nodes[self.neighbours]
        source, target = number[source[inside]], number[self.neighbours[inside]]
        kept = np.concatenate(([0], np.cumsum(nodes)))
        return Graphs(kept[self.offsets], offsets_of(source, int(kept[-1])), target)


def components(left: NDArray[np.int64], right: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The first node that each of ``count`` nodes is connected with, over edges from left to right or back."""
    label = np.arange(count)
    while True:
        new = label.copy()
        np.minimum.at(new, left, label[right])
        np.minimum.at(new, right, label[left])
        new = new[new]
        if np.array_equal(new, label):
            return label
        label = new


def largest_components(graphs: Graphs) -> NDArray[np.bool_]:
    """Whether each node belongs to the largest connected part of its graph; of equals, that with the first node."""
    count = int(graphs.offsets[-1])
    label = components(np.repeat(np.arange(count), graphs.degrees), graphs.neighbours, count)
    size = np.bincount(label, minlength=count)
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.offsets))
    order = np.lexsort((np.arange(count), -size, owner))
    best = np.full(len(graphs), -1, dtype=np.int64)
    filled = np.flatnonzero(np.diff(graphs.offsets))
    best[filled] = order[graphs.offsets[filled]]
    main: NDArray[np.bool_] = label == best[owner]
    return main


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
    sums = np.zeros(len(removed), dtype=np.int64)
    for block in _blocks(graphs, np.diff(removed_offsets)):
        _search(graphs, block, removed, removed_offsets, sums)
    return sums


def _blocks(graphs: Graphs, tries: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Graphs with rows of one width, as many at a time as the cache holds."""
    sizes = np.diff(graphs.offsets)
    words = -(-sizes // WORD_BITS)
    order = np.lexsort((tries, words))
    order = order[(sizes[order] > 0) & (tries[order] > 0)]
    cost = (sizes * words * (tries + 1))[order]
    start = 0
    while start < len(order):
        total = np.cumsum(cost[start:])
        stop = start + max(1, int(np.searchsorted(total, BLOCK_WORDS, side="right")))
        stop = start + int(np.searchsorted(words[order[start:stop]], words[order[start]], side="right"))
        yield order[start:stop]
        start = stop


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the nodes of a block of graphs stand in the search: those with most neighbours first.

    Attributes:
        nodes: of all graphs of the block, one graph after the other.
        owner: place in the block of each node's graph.
        sizes, first: number of nodes of each graph, and the place of its first one in ``nodes``.
        by_degree: places in ``nodes`` by row; ``row`` is the other way round.
    """

    nodes: NDArray[np.int64]
    owner: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first: NDArray[np.int64]
    by_degree: NDArray[np.int64]
    row: NDArray[np.int64]

    @classmethod
    def of(cls, graphs: Graphs, block: NDArray[np.int64]) -> _Rows:
        """The rows of a block."""
        nodes, owner = gather(graphs.offsets, block)
        sizes = np.diff(graphs.offsets)[block]
        by_degree = np.argsort(-graphs.degrees[nodes], kind="stable")
        row = np.empty(len(nodes), dtype=np.int64)
        row[by_degree] = np.arange(len(nodes))
        return cls(nodes, owner, sizes, np.cumsum(sizes) - sizes, by_degree, row)


def _search(
    graphs: Graphs,
    block: NDArray[np.int64],
    removed: NDArray[np.int64],
    removed_offsets: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Fill ``sums`` for the graphs of a block; variant 0 of each is the graph as it is."""
    rows = _Rows.of(graphs, block)
    row, first, sizes = rows.row, rows.first, rows.sizes
    inside = np.arange(len(row)) - first[rows.owner]
    places, at = gather(removed_offsets, block)
    tries = np.diff(removed_offsets)[block]
    variant = 1 + np.arange(len(places)) - (np.cumsum(tries) - tries)[at]
    gone = row[first[at] + removed[places] - graphs.offsets[block[at]]]
    words, variants = int(-(-sizes.max() // WORD_BITS)), int(tries.max()) + 1
    reach = np.zeros((len(row), variants, words), dtype=np.uint64)
    reach[row, :, inside // WORD_BITS] = (np.uint64(1) << (inside % WORD_BITS).astype(np.uint64))[:, None]
    reach[gone, variant] = 0
    steps = _neighbour_columns(graphs, block, rows)
    counts = [_pairs(reach, row, first)]
    new, gathered = np.empty_like(reach), np.empty_like(reach)
    while True:  # until nothing grows; the last level is spared where every pair is joined
        np.copyto(new, reach)
        for column in steps:
            many = len(column)
            # clipping spares the check of places, which would buffer the whole answer
            reach.take(column, axis=0, out=gathered[:many], mode="clip")
            np.bitwise_or(new[:many], gathered[:many], out=new[:many])
        new[gone, variant] = 0
        counts.append(_pairs(new, row, first))
        reach, new = new, reach
        if np.array_equal(counts[-1], counts[-2]) or np.array_equal(counts[-1], counts[0] ** 2):
            break
    levels = np.stack(counts)
    final = levels[-1]
    finite = (final - levels).sum(axis=0)
    diameter = (levels[:, :, 0] < final[:, 0]).sum(axis=0)
    lost = (sizes[at] - 1) ** 2 - final[at, variant]
    sums[places] = finite[at, variant] + lost * (diameter[at] + 1)


def _neighbour_columns(graphs: Graphs, block: NDArray[np.int64], rows: _Rows) -> list[NDArray[np.int64]]:
    """Rows of everybody's first neighbour, second neighbour and so on; rows with fewer neighbours stand last."""
    nodes = rows.nodes[rows.by_degree]
    degrees, starts = graphs.degrees[nodes], graphs.starts[nodes]
    base = (rows.first - graphs.offsets[block])[rows.owner[rows.by_degree]]
    columns = []
    for step in range(int(degrees[0]) if len(degrees) else 0):
        many = int(np.searchsorted(-degrees, -step, side="left"))
        columns.append(rows.row[graphs.neighbours[starts[:many] + step] + base[:many]])
    return columns


def _pairs(reach: NDArray[np.uint64], row: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs (source, node) joined so far, by graph and variant."""
    counts = np.bitwise_count(reach)
    bits = counts[:, :, 0].astype(np.int64)
    for word in range(1, counts.shape[2]):  # a sum over so short an axis would be slower
        bits += counts[:, :, word]
    pairs: NDArray[np.int64] = np.add.reduceat(bits[row], first, axis=0)
    return pairs
