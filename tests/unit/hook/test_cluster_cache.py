"""What clustering reads and writes around some pages: who is left behind in a cluster has to be told that it is smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_dedup.hook.cluster_cache import ClusterCache
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.testing.builders import assignment

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def near() -> Iterator[ClusterCache]:
    with EmbeddedIndex(":memory:", features={}) as index:
        index.assign_many([assignment("a"), assignment("b", "a"), assignment("c", "a"), assignment("z")])
        yield ClusterCache(index)


@pytest.mark.parametrize("read", ["members", "assignments"])
def test_those_that_others_have_left_are_named(near: ClusterCache, read: str) -> None:
    getattr(near, read)(["a", "b", "c", "z"])
    near.assign_many([assignment("b", "z"), assignment("c", "a")])
    assert near.changed.keys() == {"b", "c"}
    assert near.left_behind() == {"a", "c"}


def test_nobody_is_left_behind_where_nobody_goes(near: ClusterCache) -> None:
    near.members(["a", "z"])
    near.assign_many([assignment("b", "a"), assignment("z"), assignment("new")])
    assert near.left_behind() == set()
