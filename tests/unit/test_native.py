"""The native core gives, bit for bit, what the Python form gives."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup import native
from es_dedup.decision.remainders import Sketches
from es_dedup.decision.statistics import PostingSample, RowFeatures, Statistics, weigh
from es_dedup.detectors.coverage_features import COMPLETE
from es_dedup.detectors.coverage_pairs import RUN_CHARS, Weights, measure
from es_dedup.detectors.dwdcs_paths import Graphs, removal_sums
from es_dedup.detectors.features import featurise, pack, stored_terms, unpack
from es_dedup.errors import DamagedData
from es_dedup.extraction.language import language_of
from es_dedup.settings import Settings
from es_dedup.text.normalise import normalise_many, normalised_pages
from es_dedup.text.ragged import find
from tests.coverage_tables import rows_lists, table_of
from tests.samples import truths
from tests.texts import page_texts

pytestmark = pytest.mark.skipif(native.core is None, reason="the native core is not installed: make native")

Draw = Any
WEIGHTS: Final = np.array([0, 0.0625, 0.25, 0.5, 0.75, 1], dtype=np.float32)
"""Of grams and clauses: those that bounds stand at, too."""
SETTINGS: Final = Settings()
WORDS: Final = Settings.model_validate({"simhash": {"features": "words"}, "ccdet": {"window": 3}})
ONE_METHOD: Final = Settings.model_validate({"detectors": ["coverage"], "workers": 1})
ALPHABET: Final = "泵站检修完成八月十五日电讯年两台〇，。！？；…、\n\t 　aB1.5:3-é“Ω𫢸😀\x00\u200b臺瞭解ﬁ①"
TEXTS: Final = st.lists(page_texts | st.text(st.sampled_from(ALPHABET), max_size=120), max_size=5)


def normalised(draw: Draw) -> Callable[[], Any]:
    texts = draw(TEXTS)
    return lambda: normalise_many(texts)


def languages(draw: Draw) -> Callable[[], Any]:
    """Texts of ideographs, syllables and words, known ones among them, in shares around those that decide."""
    words = [
        "the",
        "Of",
        "café",
        "straße",
        "x",
        "ÀÉ",
        "\u0130s",
        "\u212a",
        "trees,",
        "与",
        "水库",
        "かな",
        "한국",
        "。",
        "\u00b7",
        "😀",
    ]
    some = draw(st.lists(st.tuples(st.sampled_from(words), st.integers(1, 90)), max_size=9))
    joint = draw(st.sampled_from([" ", ""]))
    text = joint.join(joint.join([word] * times) for word, times in some)
    return lambda: language_of(text)


def features(draw: Draw) -> Callable[[], Any]:
    repeats = draw(st.integers(0, 400))
    texts = [text + text[:7] * repeats for text in draw(TEXTS)]
    titles = draw(st.sampled_from([[text[:40] for text in reversed(texts)], [""] * len(texts)]))
    given = draw(st.sampled_from([SETTINGS, WORDS, ONE_METHOD]))

    def work() -> Any:
        table = featurise(texts, titles, given)
        return table, pack(table), stored_terms(table, given), unpack(pack(table))

    return work


def measures(draw: Draw) -> Callable[[], Any]:
    sides = [table_of(draw(rows_lists)) for _ in range(2)]
    source = np.random.default_rng(draw(st.integers(0, 99)))
    rows = [source.integers(0, len(side), 9) for side in sides]
    weights = [
        Weights(source.choice(WEIGHTS, len(side.grams)), source.choice(WEIGHTS, len(side.clauses)))
        for side in sides
    ]
    return lambda: measure(sides[0], rows[0], sides[1], rows[1], weights[0], weights[1])


def payloads(draw: Draw) -> Callable[[], Any]:
    """Stored features of which a byte was changed or some are missing: refused, or read alike."""
    texts = [text for text in draw(TEXTS) if text] or ["a"]
    stored = pack(featurise(texts, texts, SETTINGS))
    row = draw(st.integers(0, len(stored) - 1))
    damaged = bytearray(stored[row])
    damaged[draw(st.integers(0, len(damaged) - 1))] = draw(st.integers(0, 255))
    stored[row] = bytes(damaged[: draw(st.integers(0, len(damaged)))] if draw(st.booleans()) else damaged)

    def work() -> Any:
        try:
            return unpack(stored)
        except DamagedData as error:
            return str(error)

    return work


def paths(draw: Draw) -> Callable[[], Any]:
    """Sums of path lengths without some nodes, of connected graphs whose sizes lie around that of a machine word."""
    source = np.random.default_rng(draw(st.integers(0, 999)))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 12, 63, 64, 65, 130]), max_size=3))
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    trees = [
        (base + node, base + source.integers(max(0, node - 4), node))
        for base, size in zip(offsets, sizes, strict=False)
        for node in range(1, size)
    ]
    edges = np.array(trees, dtype=np.int64).reshape(-1, 2)
    graphs = Graphs.of_edges(offsets, edges.min(axis=1), edges.max(axis=1))
    removed = np.array(
        [base + source.integers(size) for base, size in zip(offsets, sizes, strict=False)], dtype=np.int64
    )
    return lambda: removal_sums(graphs, removed, np.arange(len(sizes) + 1))


def places(draw: Draw) -> Callable[[], Any]:
    """Places of values in a sorted list: few and many values, with their bits spread or the highest ones shared."""
    source = np.random.default_rng(draw(st.integers(0, 999)))
    high = np.uint64(draw(st.sampled_from([0, 5 << 40])))
    known = (
        np.unique(source.integers(0, 1 << 40, draw(st.sampled_from([0, 1, 5000])), dtype=np.uint64)) | high
    )
    others = source.integers(0, 1 << 40, draw(st.sampled_from([9, 2_009])), dtype=np.uint64) | high
    values = np.concatenate((known[::3], known[:500] + np.uint64(1), others))
    return lambda: find(known, values, 48)


def weights(draw: Draw) -> Callable[[], Any]:
    source = np.random.default_rng(draw(st.integers(0, 999)))
    size = draw(st.sampled_from([0, 1, 70_000]))
    known = np.unique(source.integers(0, 1 << 32, size, dtype=np.uint32))
    values = source.random(len(known), dtype=np.float32)
    statistics = Statistics(
        known, values, known, values, known[:0].astype(np.uint64), known[:0].astype(np.int64), 1
    )
    asked = np.concatenate((source.integers(0, 1 << 32, 500, dtype=np.uint32), known[::3], known[-1:]))
    return lambda: statistics.clause_weights_of(asked)


def sketches(source: np.random.Generator, pages: int, most: int) -> Sketches:
    """Sketches of pages that share few or many of their elements, each of which counts less than ``most``."""
    hashes = np.sort(source.choice(40, (pages, 20)), axis=1).astype(np.uint32)
    hashes[:, 1:][hashes[:, 1:] == hashes[:, :-1]] = COMPLETE
    hashes.sort(axis=1)
    sizes = (hashes % np.uint32(most - 1) + 1).astype(np.uint8)
    return Sketches(hashes, sizes, source.integers(0, 200, pages, dtype=np.uint32) * np.uint32(7))


def learned_weights(draw: Draw) -> Callable[[], Any]:
    """Features of pages that share few or many of them, with copies, equal titles, missing titles and days."""
    source = np.random.default_rng(draw(st.integers(0, 9999)))
    pages, pool = draw(st.sampled_from([0, 1, 3, 9, 10, 40])), draw(st.sampled_from([4, 60]))
    known = source.integers(0, 1 << 32, pool, dtype=np.uint64) << np.uint64(32)
    least = draw(
        st.sampled_from([0, pool * 9 // 10])
    )  # of the latter, most features stand on nearly every page
    rows = [np.sort(source.choice(known, source.integers(least, pool), replace=False)) for _ in range(pages)]
    features = np.concatenate((*rows, known[:0]))
    masks = source.integers(0, 2, len(features), dtype=np.uint64) * np.uint64(draw(st.sampled_from([1, 512])))
    alike = draw(st.sampled_from([1, 3, 1 << 40]))
    sample = PostingSample(
        keys=source.permutation(pages).astype(np.uint64),
        sites=source.integers(0, draw(st.sampled_from([1, 2, 30])), pages),
        titles=source.integers(0, alike, (pages, 4), dtype=np.uint64),
        titled=source.random(pages) < draw(st.sampled_from([0.0, 0.6, 1.0])),
        title_sums=np.full(pages, -1),
        title_groups=np.zeros(pages, dtype=np.int64),
        fingerprints=source.integers(0, 1 << draw(st.sampled_from([4, 12, 40])), pages, dtype=np.uint64),
        hashes=source.integers(0, draw(st.sampled_from([2, 1 << 40])), pages, dtype=np.uint64),
        days=source.choice([0, 738_000, 738_300, 738_900], pages),
        grams=sketches(source, pages, 2),
        clauses=sketches(source, pages, RUN_CHARS),
    )
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return lambda: weigh(RowFeatures.unpacked(features | masks, offsets), sample)


TWINS: Final[dict[Callable[[Draw], Callable[[], Any]], int]] = {
    normalised: 150,
    languages: 500,
    features: 250,
    measures: 150,
    payloads: 200,
    paths: 15,
    places: 15,
    weights: 5,
    learned_weights: 200,
}
"""What makes the work that both do, and how many examples of it are tried."""


def by_both(work: Callable[[], Any]) -> tuple[Any, Any]:
    """What the Python form gives, and what the native core gives."""
    core = native.core
    try:
        native.core = None
        plain = work()
    finally:
        native.core = core
    normalised_pages.cache_clear()
    return plain, work()


def assert_same(left: Any, right: Any, name: str = "") -> None:
    """Equal arrays of equal kinds, however deep they lie."""
    if isinstance(left, tuple):
        for mine, other in zip(left, right, strict=True):
            assert_same(mine, other, name)
    elif is_dataclass(left):
        for field in fields(left):
            assert_same(getattr(left, field.name), getattr(right, field.name), f"{name}.{field.name}")
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype, name
        assert np.array_equal(left, right), name
    else:
        assert left == right, name


@pytest.mark.parametrize("of", TWINS, ids=lambda of: of.__name__)
def test_both_forms_give_the_same(of: Callable[[Draw], Callable[[], Any]]) -> None:
    @settings(max_examples=TWINS[of])
    @given(st.data())
    def every_example(data: st.DataObject) -> None:
        assert_same(*by_both(of(data.draw)))

    every_example()


def test_real_pages_give_the_same_features_and_measures() -> None:
    texts = [truth.text for truth in truths()]
    left, right = by_both(lambda: featurise(texts, [text[:40] for text in texts], SETTINGS))
    assert_same(left, right)
    table = left.coverage
    rows = np.arange(len(texts), dtype=np.int64)
    known = Statistics.empty().weights(table)
    assert_same(*by_both(lambda: measure(table, rows[:-1], table, rows[1:], known, known)))


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    table = featurise(["泵站检修完成。" * 9] * 2, ["", ""], SETTINGS).coverage
    rows, weights_of = np.array([0, 7], dtype=np.int64), Statistics.empty().weights(table)
    with pytest.raises(DamagedData, match=r"out of (range|bounds)"):
        measure(table, rows, table, rows, weights_of, weights_of)


def test_a_process_may_be_forked_after_work_in_threads(tmp_path: Path) -> None:
    code = (
        "import os; from es_dedup.detectors.features import featurise; from es_dedup.settings import Settings\n"
        "texts = ['泵站检修完成。' * 40 + str(n) for n in range(200)]\n"
        "table = featurise(texts, texts, Settings(workers=2))\n"
        "child = os.fork()\n"
        "if not child: os._exit(not len(featurise(texts[1:], texts[1:], Settings(workers=2))) == 199)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "0\n", done.stderr
