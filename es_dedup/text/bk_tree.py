"""Sets in a tree by edit distance: which stored sets share enough with a given one?

Source: the patent application on deduplicating pages by character frequency (tree and bound); Burkhard and Keller, "Some
approaches to best-match file searching", CACM 1973 (the tree).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def edit_distance(left: int, right: int, shared: int) -> int:
    """Distance of two sets of these sizes that share so many members: the larger of what each has and the other has not.

    It is a metric: insertions, deletions and replacements that make one set the other.
    """
    return max(left, right) - shared


@dataclass(slots=True)
class _Node:
    number: int
    bits: int
    size: int
    children: dict[int, _Node] = field(default_factory=dict)


class SetTree:
    """Sets of whole numbers in a tree by their edit distance.

    All sets below the child at distance e of a node are at distance e of that node. If X shares L members with the node, it
    shares at most L + e with any of them, so a branch with L + e below the number needed is passed over. A set takes about
    a bit for each member seen before its last new one: few kinds of members are expected, as characters are.
    """

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._alive: dict[int, _Node] = {}
        self._root: _Node | None = None
        self.visited = 0
        """Nodes that all searches so far have compared."""

    def __len__(self) -> int:
        return len(self._alive)

    def add(self, number: int, members: Collection[int]) -> None:
        """Store a set under a number; one that is stored under it is replaced."""
        node = _Node(number, self._bits(members, new=True), len(members))
        self._alive[number] = node
        if self._root is None:
            self._root = node
            return
        parent = self._root
        while True:
            distance = edit_distance(parent.size, node.size, (parent.bits & node.bits).bit_count())
            child = parent.children.get(distance)
            if child is None:
                parent.children[distance] = node
                return
            parent = child

    def discard(self, number: int) -> None:
        """Never find what is stored under a number again; its node stays, as others are below it."""
        self._alive.pop(number, None)

    def find(self, members: Iterable[int], least: int) -> list[tuple[int, int]]:
        """Number of each stored set that shares at least ``least`` members, at least 1, and how many it shares."""
        if self._root is None:
            return []
        bits = self._bits(members, new=False)
        found, waiting = [], [self._root]
        while waiting:
            node = waiting.pop()
            self.visited += 1
            shared = (bits & node.bits).bit_count()
            if shared >= least and self._alive.get(node.number) is node:
                found.append((node.number, shared))
            waiting += [child for distance, child in node.children.items() if shared + distance >= least]
        return sorted(found)

    def _bits(self, members: Iterable[int], *, new: bool) -> int:
        """The members as the bits of one number; of members that no stored set has only where they are new."""
        places = self._places
        if new:
            return sum(1 << places.setdefault(member, len(places)) for member in members)
        return sum(1 << places[member] for member in members if member in places)
