"""Containers of a page in arrays, and columns of numbers over its blocks: sums over their blocks, odds of their names, containers alike, repeated siblings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.extraction.blocks import Blocks
    from es_dedup.extraction.tokens import Odds

    Array = NDArray[Any]
    Places = NDArray[np.int64]

_NO_RECORDS: Final = frozenset("p h1 h2 h3 h4 h5 h6 td th br dt body html tbody".split())
MIN_RECORDS: Final = 3
_FREE, _PROSE, _DATES = 2, 4, 5


@dataclass(slots=True)
class Structure:
    """Containers in page order; arrays of one value for each.

    Attributes:
        first: place of its first block.
        last: place behind its last block.
        sums: of its blocks, in the columns of ``features``.
        depth: number of containers around it that hold more blocks than what they hold.
        wider: the nearest container around it that holds more blocks; the root's is the root.
        odds_low, odds_high, odds_sum: of the tokens of its name and of the names of containers with the same blocks.
        chain_low, chain_high, chain_sum: of all containers around it, with its own.
        kinds: number of its kind: tag and name, its own and the parent's.
        paths: number of its path: tags and names up to the root.
        nearest_record: the innermost of itself and the containers around it that is a record, one of repeated siblings; -1: none.
        rich_record: that of them whose siblings hold most text.
        record_groups: group of siblings of each container.
        group_sums, group_counts, group_dated, group_prose: of each group: sums, siblings, shares of them with a date and with prose.
        group_index: place of each container in its group.
        parents: place of its parent; the root's is the root.
    """

    first: Places
    last: Places
    sums: Array
    depth: Places
    wider: Places
    odds_low: Array
    odds_high: Array
    odds_sum: Array
    chain_low: Array
    chain_high: Array
    chain_sum: Array
    kinds: Places
    paths: Places
    nearest_record: Places
    rich_record: Places
    record_groups: Places
    group_sums: Array
    group_counts: Array
    group_dated: Array
    group_prose: Array
    group_index: Places
    parents: list[int]

    def nearest(self, chosen: NDArray[np.bool_]) -> Places:
        """The innermost of each container and those around it that is chosen; the root where none is."""
        flags = chosen.tolist()
        found: list[int] = []
        for place, parent in enumerate(self.parents):
            found.append(place if flags[place] or not place else found[parent])
        return np.array(found, np.int64)

    def innermost(self, chosen: NDArray[np.bool_]) -> int:
        """The last chosen container in page order of those that are deepest; the root where none is chosen."""
        places = np.flatnonzero(chosen)
        return int(places[self.depth[places].argmax()]) if places.size else 0


def read_structure(blocks: Blocks, total: Array, odds: Odds) -> Structure:
    """Arrays over the containers of a page.

    Args:
        blocks: of the page.
        total: sums over all blocks before each place, one row more than blocks.
        odds: of tokens of names.
    """
    first, last = np.array(blocks.first, np.int64), np.array(blocks.last, np.int64)
    sums = total[last] - total[first]
    parents = [max(parent, 0) for parent in blocks.parents]
    alike = (first == first[parents]) & (last == last[parents])
    chains = _chains(blocks, parents, alike.tolist(), odds)
    groups = _groups(blocks, parents, sums)
    return Structure(first=first, last=last, sums=sums, parents=parents, **chains, **groups)


def _chains(blocks: Blocks, parents: list[int], alike: list[bool], odds: Odds) -> dict[str, Any]:
    """What runs down from the root: one pass over plain lists; what depends on the path alone is made once for a path.

    Args:
        blocks: of the page.
        parents: place of each container's parent.
        alike: whether each container holds the same blocks as its parent.
        odds: of tokens of names.
    """
    named = [odds.of_name(name) for name in blocks.names]
    labels: dict[tuple[str, int], int] = {}
    label = [
        labels.setdefault(pair, len(labels)) for pair in zip(blocks.tags, blocks.signatures, strict=True)
    ]
    depth, wider, paths = [0], [0], [0]
    own = [named[blocks.signatures[0]]]
    chain, kind = own.copy(), [0]
    kind_ids: dict[int, int] = {label[0] * len(labels) + label[0]: 0}
    path_ids: dict[int, int] = {}
    for place in range(1, len(parents)):
        parent = parents[place]
        key = paths[parent] * len(labels) + label[place]
        path = path_ids.get(key)
        odds_here = named[blocks.signatures[place]]
        if path is None:
            path = path_ids[key] = len(chain)
            chain.append(_joined(odds_here, chain[paths[parent]]))
            kind.append(kind_ids.setdefault(label[place] * len(labels) + label[parent], len(kind_ids)))
        paths.append(path)
        if alike[place]:
            depth.append(depth[parent])
            wider.append(wider[parent])
            own.append(_joined(odds_here, own[parent]))
        else:
            depth.append(depth[parent] + 1)
            wider.append(parent)
            own.append(odds_here)
    places = np.array(paths, np.int64)
    owns, chains = np.array(own), np.array(chain)[places]
    return {
        "depth": np.array(depth, np.int64), "wider": np.array(wider, np.int64), "kinds": np.array(kind, np.int64)[places],
        "paths": places, "odds_low": owns[:, 0], "odds_high": owns[:, 1], "odds_sum": owns[:, 2],
        "chain_low": chains[:, 0], "chain_high": chains[:, 1], "chain_sum": chains[:, 2],
    }  # fmt: skip


def _joined(
    own: tuple[float, float, float], around: tuple[float, float, float]
) -> tuple[float, float, float]:
    return min(own[0], around[0]), max(own[1], around[1]), own[2] + around[2]


def _groups(blocks: Blocks, parents: list[int], sums: Array) -> dict[str, Any]:
    """Siblings with one tag and name; groups of three or more that hold text are records."""
    ids: dict[tuple[int, str, int], int] = {}
    groups: list[int] = []
    index: list[int] = []
    counts: list[int] = []
    filled = (sums[:, 0] > 0).tolist()
    for place, parent in enumerate(parents):
        tag = blocks.tags[place]
        if not filled[place] or tag in _NO_RECORDS or not place:
            key = (-1, "", 0)
        else:
            key = (parent, tag, blocks.signatures[place])
        group = ids.setdefault(key, len(ids))
        if group == len(counts):
            counts.append(0)
        groups.append(group)
        index.append(counts[group])
        counts[group] += 1
    counts[groups[0]] = 0
    places = np.array(groups, np.int64)
    group_sums = np.stack([np.bincount(places, column, minlength=len(counts)) for column in sums.T], axis=1)
    group_sums[groups[0]] = 0
    size = np.maximum(np.array(counts, np.float64), 1)
    dated = np.bincount(places, sums[:, _DATES] > 0, minlength=len(counts)) / size
    prose = np.bincount(places, sums[:, _PROSE] > 0, minlength=len(counts)) / size
    text = group_sums[:, _FREE].tolist()
    nearest: list[int] = []
    rich: list[int] = []
    for place, parent in enumerate(parents):
        around, richest = (nearest[parent], rich[parent]) if place else (-1, -1)
        if counts[groups[place]] >= MIN_RECORDS:
            around = place
            if richest < 0 or text[groups[place]] > text[groups[richest]]:
                richest = place
        nearest.append(around)
        rich.append(richest)
    return {
        "nearest_record": np.array(nearest, np.int64), "rich_record": np.array(rich, np.int64), "record_groups": places,
        "group_sums": group_sums, "group_counts": np.array(counts, np.float64), "group_dated": dated, "group_prose": prose,
        "group_index": np.array(index, np.int64),
    }  # fmt: skip


class Columns:
    """Named columns of equal length.

    Attributes:
        names: of the columns.
        values: one number for each block.
        structure: containers of the page.
        total: sums over all blocks before each place.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[Array] = []
        self.structure: Structure
        self.total: Array = np.zeros((1, 1))

    def add(self, name: str, values: Array) -> None:
        """One more column."""
        self.names.append(name)
        self.values.append(values)

    def matrix(self) -> NDArray[np.float32]:
        """Blocks as rows; in memory column by column, as trees ask for them."""
        whole = np.concatenate(self.values, dtype=np.float32, casting="same_kind")
        return whole.reshape(len(self.values), -1).T
