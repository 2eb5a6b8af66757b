"""Answers to groups of terms by an edit-distance tree over the terms of a method, kept in memory.

A tree is made from the stored terms when it is first asked, and follows the file when that has changed: pages whose terms are
others get a new node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.index.embedded.codec import unpack_terms
from es_dedup.text.bk_tree import SetTree
from es_dedup.text.hashing import HASH_BITS_IN_TERM

if TYPE_CHECKING:
    import sqlite3

    from numpy.typing import NDArray

    from es_dedup.model import TermGroup


class EditDistanceTrees:
    """The trees of an open file, one for each method (tag) that asks for one."""

    def __init__(self) -> None:
        self._trees: dict[int, _Tree] = {}

    def find(
        self, connection: sqlite3.Connection, group: TermGroup
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pages that share at least ``min_shared`` of the group's terms, ascending, and how many each shares."""
        tag = group.terms[0] >> HASH_BITS_IN_TERM
        found = (
            self._trees.setdefault(tag, _Tree(tag)).current(connection).find(group.terms, group.min_shared)
        )
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]


class _Tree:
    def __init__(self, tag: int) -> None:
        self._tag, self._tree = tag, SetTree()
        self._known: dict[int, int] = {}
        self._state: tuple[int, int] | None = None

    def current(self, connection: sqlite3.Connection) -> SetTree:
        """The tree of what the file holds now."""
        (others,) = connection.execute("PRAGMA data_version").fetchone()  # commits of other connections
        state = (int(others), connection.total_changes)
        if state != self._state:
            self._follow(connection)
            self._state = state
        return self._tree

    def _follow(self, connection: sqlite3.Connection) -> None:
        gone = set(self._known)
        for doc, stored in connection.execute("SELECT doc, terms FROM features"):
            gone.discard(doc)
            digest = hash(stored)
            if self._known.get(doc) != digest:
                self._known[doc] = digest
                self._put(doc, unpack_terms(stored))
        for doc in gone:
            del self._known[doc]
            self._tree.discard(doc)

    def _put(self, doc: int, terms: NDArray[np.uint64]) -> None:
        own = terms[terms >> np.uint64(HASH_BITS_IN_TERM) == self._tag].tolist()
        self._tree.discard(doc)
        if own:
            self._tree.add(doc, own)
