"""Values in lists of bounded number and size."""

from collections.abc import Iterator
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.model.batches import chunked, chunked_by_size


@given(st.lists(st.integers()), st.integers(1, 5))
def test_all_but_the_last_list_are_full(values: list[int], size: int) -> None:
    lists = list(chunked(values, size))

    assert list(chain.from_iterable(lists)) == values
    assert all(len(some) == size for some in lists[:-1])
    assert all(lists)


def test_values_are_read_when_their_list_is_asked_for() -> None:
    def values() -> Iterator[int]:
        yield from (1, 2)
        raise LookupError

    lists = chunked(values(), 2)

    assert next(lists) == [1, 2]
    with pytest.raises(LookupError):
        next(lists)


@given(st.lists(st.text(max_size=8)), st.integers(1, 10), st.none() | st.integers(1, 4))
def test_lists_by_size_are_as_large_as_the_limits_allow(
    values: list[str], most: int, count: int | None
) -> None:
    lists = list(chunked_by_size(values, most, len, count=count))

    assert list(chain.from_iterable(lists)) == values
    for some in lists:
        assert len(some) == 1 or sum(map(len, some)) <= most
        assert len(some) <= (count or len(some))
    for some, following in pairwise(lists):
        assert len(some) == count or sum(map(len, [*some, following[0]])) > most
