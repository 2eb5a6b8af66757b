"""The edit-distance tree of character frequency, and posting lists that find the same."""

from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.char_frequency_features import FrequentUnits
from es_dedup.settings.sections import CharFrequencyConfig
from experiments.edit_tree import EditTree, PostingScan, SetTree, edit_distance
from tests.reference import char_frequency as slow
from tests.unit.detectors.test_char_frequency import units

SETS: Final = st.frozensets(st.integers(0, 30), max_size=12)


def distance(left: frozenset[int], right: frozenset[int]) -> int:
    return edit_distance(len(left), len(right), len(left & right))


@given(SETS, SETS, SETS)
def test_the_edit_distance_is_a_metric(
    one: frozenset[int], two: frozenset[int], three: frozenset[int]
) -> None:
    assert distance(one, two) == distance(two, one)
    assert (distance(one, two) == 0) == (one == two)
    assert distance(one, three) <= distance(one, two) + distance(two, three)
    names = [frozenset(map(str, each)) for each in (one, two)]
    assert distance(one, two) == slow.edit_distance(*names)


@settings(max_examples=60)
@given(st.lists(SETS, max_size=30), SETS, st.integers(1, 6))
def test_a_tree_finds_what_a_scan_of_its_sets_finds(
    stored: list[frozenset[int]], wanted: frozenset[int], least: int
) -> None:
    tree = SetTree()
    for number, members in enumerate(stored):
        tree.add(number, members)
        scanned = [at for at, each in enumerate(stored[: number + 1]) if len(wanted & each) >= least]
        assert tree.find(wanted, least) == scanned


@settings(max_examples=60)
@given(
    st.lists(st.frozensets(st.integers(200, 240), min_size=1, max_size=25), max_size=25),
    st.sampled_from([0.5, 0.8, 0.95]),
    st.sampled_from([100, 600]),
)
def test_tree_postings_and_full_scan_find_the_same(
    pages: list[frozenset[int]], share: float, length: int
) -> None:
    method = CharFrequency(CharFrequencyConfig(min_main=share))
    tree, postings = EditTree(method, share), PostingScan(method, share)
    stored: list[FrequentUnits] = []
    for page in (units(*codes, length=length) for codes in pages):
        wanted = [at for at, base in enumerate(stored) if len(page.compared) and method.covers(page, base)]
        assert tree.find(page) == postings.find(page) == wanted
        assert tree.add(page) == postings.add(page) == len(stored)
        stored.append(page)
    assert len(tree) == len(postings) == len(pages)
