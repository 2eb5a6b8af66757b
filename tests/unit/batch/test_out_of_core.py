"""A corpus clustered out of core: the same as at once, and never more of it in memory than was asked for."""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup import Deduplicator, Page
from es_dedup.batch import columns, whole_corpus
from es_dedup.batch import corpus as corpus_module
from es_dedup.batch.columns import Column, value_ranges
from es_dedup.batch.whole_corpus import RelatedPairs, recluster, whole_components
from es_dedup.index.port import Index
from es_dedup.settings import Settings
from es_dedup.text.ragged import components, owners_of
from tests.texts import article

COUNT: Final = 250


def corpus(count: int = COUNT) -> list[Page]:
    """Articles with up to four copies each, a notice that very many repeat, and pages without text."""
    source = random.Random(5)
    made = []
    for n in range(count):
        text = article(n // 3, sentences=source.randint(5, 14)) + (
            "本站声明：转载请注明出处，违者必究。" * (n % 2)
        )
        if n % 9 == 0:
            text = "系统维护通知：本站将于今晚升级，期间暂停服务，敬请谅解。"
        if n % 50 == 49:
            text = ""
        page = Page(id=f"p{n}", text=text, title=f"标题{n // 3}", url=f"http://s{n % 7}.example/{n}")
        made.append(replace(page, published=f"2026-01-{1 + n % 28:02}"))
    return made


def state(index: Index) -> tuple[Any, ...]:
    """All that a run stores."""
    names = [record.page_id for records in index.scan() for record in records]
    return index.load_statistics(), index.edges_of(names), index.assignments(names), list(index.clusters())


def differently(index: Index, names: list[str]) -> None:
    """Clusters as a history may leave them: ids of pages that are gone, of pages that are elsewhere, and none at all."""
    current = list(index.assignments(names).values())
    source = random.Random(2)
    for each in source.sample(current, 60):
        index.assign_many([each._replace(cluster_id=source.choice([*names[:9], "gone", "gone too"]))])
    index.delete_many(source.sample(names, 25))


def at_once(index: Index, settings: Settings, _: int) -> RelatedPairs:
    return recluster(index, settings)


def in_pieces(index: Index, settings: Settings, most: int) -> RelatedPairs:
    with mock.patch.multiple(whole_corpus, MOST=most, PAGES=37):
        return recluster(index, settings, in_files=True)


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({}, 300),
        ({}, 5_000),
        ({}, 2_000_000),
        ({"detectors": ["ccdet", "simhash"], "simhash": {"max_hamming_distance": 5}}, 300),
        ({"ccdet": {"prune": "none"}, "cluster": {"order": "longest"}}, 900),
        ({"detectors": ["coverage", "dwdcs"]}, 300),
    ],
    ids=["small pieces", "pieces", "one piece", "no coverage", "other order", "further method"],
)
def test_the_result_is_that_of_a_run_at_once(tmp_path: Path, changes: dict[str, Any], most: int) -> None:
    settings = Settings.model_validate(changes)
    found = []
    for run in (at_once, in_pieces):
        with Deduplicator.open(tmp_path / f"{run.__name__}.db", settings=settings) as dedup:
            dedup.scan(corpus())
            index = dedup._index
            names = [page.id for page in corpus()]
            differently(index, names)
            done = run(index, settings, most)
            assert (index.count(), len(done.pairs.left)) == (225, len(index.edges_of(names)))
            found.append((state(index), done.compared, done.capped_terms))
    (once, pairs, capped), (pieces, pairs_, capped_) = found
    assert (pairs_, capped_) == (pairs, capped)
    assert pieces == once
    assert max(Counter(each.cluster_id for each in once[2].values()).values()) > 2


def test_nothing_is_stored(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path / "empty.db") as dedup:
        assert not len(recluster(dedup._index, Settings(), in_files=True).pairs.left)


def test_no_more_rows_are_held_than_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pages there are: features of so many, terms of so many, assignments of so many."""
    largest: Counter[str] = Counter()

    def watched(name: str, function: Callable[..., Any], size: Callable[[Any], int]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            made = function(*arguments, **more)
            largest[name] = max(largest[name], size(made))
            return made

        return call

    monkeypatch.setattr(corpus_module, "ROWS", 50)
    monkeypatch.setattr(corpus_module, "SCANNED", 50)
    for name, value in {"PAIRS": 40, "MOST": 4_000, "PAGES": 40}.items():
        monkeypatch.setattr(whole_corpus, name, value)
    monkeypatch.setattr(corpus_module.Corpus, "keys_of", watched("keys", corpus_module.Corpus.keys_of, len))
    monkeypatch.setattr(
        corpus_module.Corpus, "features", watched("features", corpus_module.Corpus.features, len)
    )
    monkeypatch.setattr(Column, "between", watched("terms", Column.between, lambda made: len(made[0])))
    held = []
    for count in (300, 1_200):
        with Deduplicator.open(tmp_path / f"{count}.db") as dedup:
            dedup.scan(Page(id=f"p{n}", text=article(n // 2, sentences=9)) for n in range(count))
            largest.clear()
            recluster(dedup._index, Settings(), in_files=True)
        held.append(dict(largest))
    assert held[1]["features"] <= 2 * 50
    assert held[1]["keys"] <= 2 * 40 + 2
    assert held[1]["terms"] <= 2 * 4_000
    assert held[1]["terms"] <= 1.5 * held[0]["terms"]


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_of_a_million_pages_some_numbers_are_in_memory() -> None:
    """``whole_corpus`` says which: about 200 bytes of each page, 50 of each related pair, and what the sample for statistics needs."""
    count, pairs = 1_000_000, 1_500_000
    command = [sys.executable, "-m", "tests.unit.batch.large_corpus", str(count)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    made = json.loads(printed)
    assert 0.999 * pairs <= made["related"] <= pairs  # a few copies are taken for a form that is filled in
    assert made["written"] == count + made["related"]
    assert made["peak"] - made["before"] < 300 * 2**20 + 200 * count + 50 * pairs


rows = st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=6), max_size=40)


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
@given(given_=rows, most=st.none() | st.integers(1, 50))
def test_a_column_gives_back_what_was_added(
    tmp_path_factory: pytest.TempPathFactory, in_memory: bool, given_: list[list[int]], most: int | None
) -> None:
    folder = None if in_memory else tmp_path_factory.mktemp("column")
    given_ = [sorted(row) for row in given_]
    column = Column(folder, "c", np.uint32)
    for start in range(0, len(given_), 7):
        some = given_[start : start + 7]
        column.add(
            np.array([value for row in some for value in row], dtype=np.uint32), [len(row) for row in some]
        )
    chosen = np.arange(len(given_))[::2]
    values, offsets = column.take(chosen)
    assert [values[a:b].tolist() for a, b in pairwise(offsets)] == given_[::2]
    ranges = list(value_ranges([column], most))
    assert [low for low, _ in ranges[1:]] == [high for _, high in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, 2**64)
    found: list[tuple[int, int]] = []
    for low, high in ranges:
        some_values, starts = column.between(low, high)
        found += zip(owners_of(starts).tolist(), some_values.tolist(), strict=True)
    assert sorted(found) == sorted((row, value) for row, each in enumerate(given_) for value in each)
    bound = np.uint32(2**31)
    below = column.below(chosen, np.full(len(chosen), bound))
    assert below.tolist() == [sum(value <= bound for value in row) for row in given_[::2]]
    column.close()


def test_ranges_of_values_are_of_one_size_where_rows_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "SAMPLE", 500)
    values = np.sort(np.random.default_rng(1).integers(2**32, size=(1_000, 10)), axis=1)
    column = Column(tmp_path, "c", np.uint32)
    column.add(values.ravel(), [10] * 1_000)
    sizes = [len(column.between(*each)[0]) for each in value_ranges([column], 1_000)]
    assert sum(sizes) == values.size
    assert max(sizes) < 1_500
    column.close()


@given(
    st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=30),
    st.integers(1, 9),
)
def test_components_are_those_of_a_walk(count: int, links: list[tuple[int, int]], most: int) -> None:
    links = [(left % count, right % count) for left, right in links]
    near: dict[int, set[int]] = {row: {row} for row in range(count)}
    for left, right in links:
        union = near[left] | near[right]
        for row in union:
            near[row] = union
    pairs = np.array(links, dtype=np.int64).reshape(-1, 2)
    labels = components(count, pairs[:, 0], pairs[:, 1])
    assert labels.tolist() == [min(near[row]) for row in range(count)]
    pieces = list(whole_components(labels, most))
    assert sorted(row for piece in pieces for row in piece.tolist()) == list(range(count))
    for piece in pieces:
        members = set(piece.tolist())
        assert all(near[row] <= members for row in members)
        assert len(members) <= most or len({min(near[row]) for row in members}) == 1
