"""What the hook keeps of pages met a moment ago: as long as nobody else has written, and not for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_dedup.hook.feature_cache import ExpiringCache, FeatureCache
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.index.records import RecordBatch
from es_dedup.testing.builders import assignment, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Watched:
    """An index that notes which payloads it was asked for, and may be told to do something while it answers."""

    def __init__(self, index: EmbeddedIndex) -> None:
        self._index = index
        self.asked: list[list[str]] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        names = list(page_ids)
        self.asked.append(names)
        found = self._index.payloads(names)
        self.meanwhile()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def stored() -> Iterator[EmbeddedIndex]:
    with EmbeddedIndex(":memory:", features={}) as index:
        index.put_many([record("a", [1], payload=b"a1"), record("b", [2], payload=b"b1")])
        index.assign_many([assignment("a"), assignment("b", "a")])
        yield index


@pytest.fixture
def watched(stored: EmbeddedIndex) -> Watched:
    return Watched(stored)


def recent_of(watched: Watched, **more: Any) -> FeatureCache:
    index: Any = watched
    return FeatureCache(index, **more)


def test_what_was_read_or_stored_is_not_read_again(watched: Watched) -> None:
    recent = recent_of(watched)
    assert recent.payloads(["a", "none"]) == {"a": (b"a1", "")}
    recent.add(RecordBatch.of([record("c", [3], payload=b"c1")]))
    assert recent.payloads(["c", "a", "b"]) == {"c": (b"c1", ""), "a": (b"a1", ""), "b": (b"b1", "")}
    assert watched.asked == [["a", "none"], ["b"]]


def test_both_ways_of_reading_agree(watched: Watched) -> None:
    recent = recent_of(watched)
    expected = {"a": assignment("a"), "b": assignment("b", "a")}
    assert recent.assignments(["b"]) == {"b": expected["b"]}
    for _ in range(2):
        payloads, assigned = recent.payloads_with_assignments(["a", "b", "none"])
        assert payloads == {"a": (b"a1", ""), "b": (b"b1", "")}
        assert assigned == expected
    recent.assign([assignment("b")])
    assert recent.assignments(["a", "b"]) == {"a": expected["a"], "b": assignment("b")}


def test_nothing_is_kept_when_others_have_written(watched: Watched, stored: EmbeddedIndex) -> None:
    recent = recent_of(watched)
    recent.payloads(["a"])
    recent.assignments(["a", "b"])
    stored.put_many([record("a", [1], payload=b"a2")])
    stored.assign_many([assignment("b")])
    recent.forget()
    assert recent.payloads(["a"]) == {"a": (b"a2", "")}
    assert recent.assignments(["b"]) == {"b": assignment("b")}


def test_what_is_stored_while_it_is_read_is_kept_and_the_older_one_not(watched: Watched) -> None:
    recent = recent_of(watched)
    watched.meanwhile = lambda: recent.add(RecordBatch.of([record("a", [1], payload=b"a2")]))
    recent.payloads(["a", "b"])
    watched.meanwhile = lambda: None
    assert recent.payloads(["a"]) == {"a": (b"a2", "")}


def test_a_page_is_read_again_after_a_while(watched: Watched, stored: EmbeddedIndex) -> None:
    clock = Clock()
    recent = recent_of(watched, seconds=10.0, clock=clock)
    recent.payloads(["a"])
    stored.put_many([record("a", [1], payload=b"a2")])
    clock.now = 10.0
    assert recent.payloads(["a"]) == {"a": (b"a1", "")}
    clock.now = 10.1
    assert recent.payloads(["a"]) == {"a": (b"a2", "")}


def test_the_latest_are_kept() -> None:
    kept = ExpiringCache[int](2, 1.0, Clock())
    for value, name in enumerate("abca"):
        kept.put({name: value})
    assert kept.get("abc") == {"a": 3, "c": 2}
