"""Containers of a page in arrays, and columns of numbers over its blocks: sums over their blocks, odds of their names, containers alike, repeated siblings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.extraction.blocks import Blocks
    from es_dedup.extraction.token_odds import Odds

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
        sums: of its blocks, a row for each measure of ``columns``.
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
        parents: place of its parent; the root's is the root.
        named: odds of each of the page's names: smallest, largest, sum.
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
    parents: Places
    named: Array

    def nearest(self, flags: NDArray[np.bool_]) -> Places:
        """The innermost flagged one of each container and its ancestors; the root where none is flagged."""
        return _up_to(flags, self.parents)

    def innermost(self, flags: NDArray[np.bool_]) -> int:
        """The last flagged container in page order of those that are deepest; the root where none is flagged."""
        places = np.flatnonzero(flags)
        return int(places[self.depth[places].argmax()]) if places.size else 0


def read_structure(blocks: Blocks, total: Array, odds: Odds) -> Structure:
    """Arrays over the containers of a page.

    Args:
        blocks: of the page.
        total: sums over all blocks before each place, a row for each measure, one column more than blocks.
        odds: of tokens of names.
    """
    first, last = np.array(blocks.first, np.int64), np.array(blocks.last, np.int64)
    sums = total[:, last] - total[:, first]
    parents = np.maximum(np.array(blocks.parents, np.int64), 0)
    alike = (first == first[parents]) & (last == last[parents])
    chains = _chains(blocks, parents, alike, odds)
    groups = _groups(blocks, parents, chains["paths"], sums)
    return Structure(first=first, last=last, sums=sums, parents=parents, **chains, **groups)


def _up_to(flags: NDArray[np.bool_], parents: Places) -> Places:
    """The innermost flagged one of each container and its ancestors; the root where none is flagged."""
    ancestors = np.where(flags, np.arange(parents.size), parents)
    while (higher := ancestors[ancestors]).tobytes() != ancestors.tobytes():
        ancestors = higher
    return ancestors


def _chains(blocks: Blocks, parents: Places, alike: NDArray[np.bool_], odds: Odds) -> dict[str, Any]:
    """What runs down from the root; what depends on the path alone is made once for a path.

    Args:
        blocks: of the page.
        parents: place of each container's parent.
        alike: whether each container holds the same blocks as its parent.
        odds: of tokens of names.
    """
    named = np.array([odds.of_name(name) for name in blocks.names])
    places, signatures = np.array(blocks.paths, np.int64), np.array(blocks.signatures, np.int64)
    above = places[parents[blocks.path_starts]]
    chains = _down(named[signatures[blocks.path_starts]], above)[:, places]
    own = ~alike
    owns = _down(named[signatures], np.where(own, np.arange(parents.size), parents))
    ids: dict[tuple[str, int], int] = {}
    labels = np.array([
        ids.setdefault((blocks.tags[place], blocks.signatures[place]), len(ids)) for place in blocks.path_starts
    ])  # fmt: skip
    kinds = np.unique(labels * len(ids) + labels[above], return_inverse=True)[1]
    depth, ancestors = own.astype(np.int64), parents
    while ancestors.any():
        depth, ancestors = depth + depth[ancestors], ancestors[ancestors]
    return {
        "named": named, "depth": depth, "wider": parents[_up_to(own, parents)], "kinds": kinds[places], "paths": places,
        "odds_low": owns[0], "odds_high": owns[1], "odds_sum": owns[2],
        "chain_low": chains[0], "chain_high": chains[1], "chain_sum": chains[2],
    }  # fmt: skip


def _down(odds: Array, above: Places) -> Array:
    """Smallest, largest and sum of odds from the outermost to each; what stands above nothing is above itself."""
    low, high, ancestors = odds[:, 0], odds[:, 1], above
    while True:
        low, high = np.minimum(low, low[ancestors]), np.maximum(high, high[ancestors])
        if ((higher := ancestors[ancestors]) == ancestors).all():
            break
        ancestors = higher
    sums = odds[:, 2].tolist()
    for place, outer in enumerate(above.tolist()):
        if outer != place:
            sums[place] += sums[outer]
    return np.array((low, high, sums))


def grouped(measures: Array, groups: Places, count: int) -> Array:
    """Sums of each measure (rows) over the members of each group (columns)."""
    rows = np.arange(len(measures))[:, None] * count
    return np.bincount((groups + rows).ravel(), measures.ravel(), len(measures) * count).reshape(-1, count)


def _groups(blocks: Blocks, parents: Places, paths: Places, sums: Array) -> dict[str, Any]:
    """Siblings with one tag and name; groups of three or more that hold text are records.

    Group 0 has the root and what is no record.
    """
    may_be = np.array([blocks.tags[place] not in _NO_RECORDS for place in blocks.path_starts])[paths]
    may_be &= sums[0] > 0
    may_be[0] = False
    keys = np.where(may_be, parents * len(blocks.path_starts) + paths, -1)
    _, starts, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(starts.size, np.int64)
    rank[np.argsort(starts)] = np.arange(starts.size)
    groups = rank[inverse]
    counts = np.bincount(groups).astype(np.float64)
    counts[0] = 0
    measures = np.concatenate((sums, sums[[_DATES, _PROSE]] > 0))
    group_sums = grouped(measures, groups, counts.size)
    dated, prose = group_sums[-2:] / np.maximum(counts, 1)
    group_sums = group_sums[:-2]
    group_sums[:, 0] = 0
    is_record = (counts >= MIN_RECORDS)[groups]
    nearest = _up_to(is_record, parents)
    nearest[~is_record[nearest]] = -1
    text = group_sums[_FREE][groups].tolist()
    richest = {-1: -1}
    records = np.flatnonzero(is_record).tolist()
    for place, above in zip(records, nearest[parents[records]].tolist(), strict=True):
        outer = richest[above]
        richest[place] = place if outer < 0 or text[place] > text[outer] else outer
    rich = np.full(parents.size + 1, -1)
    rich[records] = [richest[place] for place in records]
    return {
        "nearest_record": nearest, "rich_record": rich[nearest], "record_groups": groups, "group_sums": group_sums,
        "group_counts": counts, "group_dated": dated, "group_prose": prose,
    }  # fmt: skip


class Columns:
    """Named columns of equal length.

    Attributes:
        count: number of blocks.
        names: of the columns.
        values: rows of numbers, one number for each block, or one for all.
        structure: containers of the page.
        total: sums over all blocks before each place; a row for each measure, ``count`` + 1 columns.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.names: list[str] = []
        self.values: list[Array | Sequence[Array]] = []
        self.structure: Structure
        self.total: Array = np.zeros((1, 1))

    def add(self, names: str, values: Array | Sequence[Array]) -> None:
        """More columns, each a row of ``values``."""
        self.names.extend(names.split())
        self.values.append(values)

    def matrix(self) -> NDArray[np.float32]:
        """Blocks as rows; in memory column by column, as trees ask for them."""
        whole = np.empty((len(self.names), self.count), np.float32)
        row = 0
        for values in self.values:
            whole[row : row + len(values)] = values
            row += len(values)
        return whole.T
