"""The kernels and the numpy code beside them give the same arrays, and a process takes the kernels when it pays."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup import compiled
from es_dedup.compiled import _State
from es_dedup.config import Settings
from es_dedup.detectors.coverage_pairs import Weights, measure
from es_dedup.detectors.features import featurise, pack, unpack
from es_dedup.judgement.statistics import Statistics
from tests.samples import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest.importorskip("numba")

ALPHABET = "泵站检修完成八月十五日电讯年两台〇，。！？；…、\n\t 　aB1.5:3-é“Ω𫢸😀\x00\u200b臺瞭解ﬁ①"
TEXT = st.text(st.sampled_from(ALPHABET), max_size=120)
SETTINGS = Settings()


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = _State.chosen, _State.handled
    yield
    _State.chosen, _State.handled = before


def by_both(work: Callable[[], Any]) -> tuple[Any, Any]:
    """What numpy gives, and what the kernels give."""
    results = []
    for chosen in (False, True):
        _State.chosen = chosen
        results.append(work())
    return results[0], results[1]


def assert_same(left: Any, right: Any, name: str = "") -> None:
    if isinstance(left, tuple):
        for mine, other in zip(left, right, strict=True):
            assert_same(mine, other, name)
        return
    if is_dataclass(left):
        for field in fields(left):
            assert_same(getattr(left, field.name), getattr(right, field.name), f"{name}.{field.name}")
        return
    if not isinstance(left, np.ndarray):
        assert left == right, name
        return
    assert left.shape == right.shape, name
    assert np.array_equal(left, right), name


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), max_size=5), st.integers(0, 400))
def test_features_are_the_same(pages: list[tuple[str, str]], repeats: int) -> None:
    texts = [text + text[:7] * repeats for text, _ in pages]
    titles = [title for _, title in pages]
    assert_same(*by_both(lambda: featurise(texts, titles, SETTINGS)))


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXT, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_measures_are_the_same(texts: list[str], source: Any) -> None:
    table = featurise(texts, [*texts[1:], ""], SETTINGS).coverage
    rows = np.array([source.randrange(len(texts)) for _ in range(9)], dtype=np.int64)
    others = np.array([source.randrange(len(texts)) for _ in range(9)], dtype=np.int64)
    weights = Weights(
        np.array([source.random() for _ in table.grams]), np.array([source.random() for _ in table.clauses])
    )
    assert_same(*by_both(lambda: measure(table, rows, table, others, weights, weights)))


def test_sample_pages_give_the_same_features_measures_and_payloads() -> None:
    texts = [page.read_bytes().decode("utf-8", "replace") for page in sorted(SAMPLES.rglob("*.html"))]
    titles = [text[:40] for text in texts]
    left, right = by_both(lambda: featurise(texts, titles, SETTINGS))
    assert_same(left, right)
    payloads = pack(left)
    assert_same(*by_both(lambda: unpack(payloads)))
    every = np.arange(len(texts), dtype=np.int64)
    weights = Weights(np.ones(len(left.coverage.grams)), np.ones(len(left.coverage.clauses)))
    pairs = np.repeat(every, len(texts)), np.tile(every, len(texts))
    assert_same(*by_both(lambda: measure(left.coverage, pairs[0], left.coverage, pairs[1], weights, weights)))


@pytest.mark.parametrize("size", [0, 1, 70_000])
def test_weights_are_the_same(size: int) -> None:
    source = np.random.default_rng(5)
    known = np.unique(source.integers(0, 2**32, size, dtype=np.uint32))
    weights = source.random(len(known), dtype=np.float32)
    none = np.zeros(0, dtype=np.uint64)
    statistics = Statistics(known, weights, known, weights, none, 1)
    values = np.concatenate((source.integers(0, 2**32, 500, dtype=np.uint32), known[::3], known[-1:]))
    assert_same(*by_both(lambda: statistics.clause_weights_of(values)))


def test_kernels_are_loaded_when_enough_was_handled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiled.SWITCH, raising=False)
    _State.chosen, _State.handled = None, 0
    assert not compiled.worthwhile(compiled.WORTH_LOADING - 1)
    assert compiled.worthwhile(1)
    assert compiled.worthwhile(0)


@pytest.mark.parametrize(("word", "expected"), [("off", False), ("on", True)])
def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch, word: str, *, expected: bool) -> None:
    monkeypatch.setenv(compiled.SWITCH, word)
    _State.chosen, _State.handled = None, 0
    assert compiled.worthwhile(compiled.WORTH_LOADING if word == "off" else 1) is expected


def test_without_numba_the_numpy_code_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiled.SWITCH, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    _State.chosen = None
    assert compiled.warm_up() is False
    assert compiled.worthwhile(compiled.WORTH_LOADING) is False


def test_a_machine_without_room_for_compiled_code_is_told_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.delenv(compiled.SWITCH, raising=False)
    monkeypatch.setattr(compiled, "kernel", refuse)
    _State.chosen = None
    assert compiled.warm_up() is False
    assert "no locator available" in caplog.text
