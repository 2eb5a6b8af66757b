"""What clustering reads and writes around some pages: what was read follows what is written."""

from __future__ import annotations

import pytest

from es_dedup.hook.cluster_cache import ClusterCache
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.testing.builders import assignment


@pytest.mark.parametrize("read", ["members", "assignments"])
def test_members_are_those_that_were_written_last(read: str) -> None:
    with EmbeddedIndex(":memory:", features={}) as index:
        index.assign_many([assignment("a"), assignment("b", "a"), assignment("c", "a"), assignment("z")])
        near = ClusterCache(index)
        getattr(near, read)(["a", "b", "c", "z"])
        near.assign_many([assignment("b", "z"), assignment("c", "a"), assignment("new")])
        members = near.members(["a", "b", "z", "new"])
    found = {name: [each.page_id for each in group] for name, group in members.items()}
    assert found == {"a": ["a", "c"], "z": ["b", "z"], "new": ["new"]}
