"""The kernels and the numpy code beside them give the same arrays, and a process takes the kernels when it pays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.decision.statistics import Statistics
from es_dedup.detectors.coverage_pairs import Weights, measure, uniform_weights
from es_dedup.detectors.features import featurise, pack, unpack
from es_dedup.kernels import dispatch
from es_dedup.kernels.dispatch import _State
from es_dedup.settings import Settings
from tests.samples import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest.importorskip("numba")

ROOT: Final = Path(__file__).parents[3]
ALPHABET = "泵站检修完成八月十五日电讯年两台〇，。！？；…、\n\t 　aB1.5:3-é“Ω𫢸😀\x00\u200b臺瞭解ﬁ①"
TEXT = st.text(st.sampled_from(ALPHABET), max_size=120)
SETTINGS = Settings()


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = _State.chosen, _State.handled, _State.next_look
    yield
    _State.chosen, _State.handled, _State.next_look = before


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
        np.array([source.random() for _ in table.grams], dtype=np.float32),
        np.array([source.random() for _ in table.clauses], dtype=np.float32),
    )
    assert_same(*by_both(lambda: measure(table, rows, table, others, weights, weights)))


@pytest.mark.slow
def test_sample_pages_give_the_same_features_measures_and_payloads() -> None:
    texts = [page.read_bytes().decode("utf-8", "replace") for page in sorted(SAMPLES.rglob("*.html"))]
    titles = [text[:40] for text in texts]
    left, right = by_both(lambda: featurise(texts, titles, SETTINGS))
    assert_same(left, right)
    payloads = pack(left)
    assert_same(*by_both(lambda: unpack(payloads)))
    every = np.arange(len(texts), dtype=np.int64)
    weights = uniform_weights(left.coverage)
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder for compiled kernels, and a process that has handled nothing."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(dispatch.SWITCH, raising=False)
    dispatch.cache_folder.cache_clear()
    _State.chosen, _State.handled, _State.next_look = None, 0, dispatch.WORTH_LOADING
    yield tmp_path / "es-dedup"
    dispatch.cache_folder.cache_clear()


def test_kernels_are_loaded_when_enough_was_handled(folder: Path) -> None:
    assert dispatch.cache_folder() == folder
    dispatch.mark_compiled()
    assert not dispatch.worthwhile(dispatch.WORTH_LOADING - 1)
    assert dispatch.worthwhile(1)
    assert dispatch.worthwhile(0)


def test_kernels_that_are_not_compiled_are_left_until_they_are(folder: Path) -> None:
    assert not dispatch.worthwhile(10 * dispatch.WORTH_LOADING)
    assert not dispatch.warm_up()
    dispatch.mark_compiled()
    assert not dispatch.worthwhile(1)
    assert dispatch.worthwhile(dispatch.WORTH_LOADING)


@pytest.mark.parametrize(("word", "expected"), [("off", False), ("on", True)])
def test_the_environment_decides(
    folder: Path, monkeypatch: pytest.MonkeyPatch, word: str, *, expected: bool
) -> None:
    monkeypatch.setenv(dispatch.SWITCH, word)
    dispatch.mark_compiled()
    assert dispatch.worthwhile(dispatch.WORTH_LOADING if word == "off" else 1) is expected


def test_without_numba_the_numpy_code_does_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert dispatch.warm_up() is False
    assert dispatch.worthwhile(dispatch.WORTH_LOADING) is False


def test_a_machine_without_room_for_compiled_code_is_told_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert dispatch.warm_up() is False
    assert "set NUMBA_CACHE_DIR" in caplog.text


def run_in(folder: Path, code: str, *prefix: str, **environment: str) -> str:
    """Output of a Python process whose compiled kernels are kept in ``folder``; ``prefix`` is a program that runs it."""
    given = os.environ | {"NUMBA_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(
        [*prefix, sys.executable, "-c", code],
        env=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_kernel_is_compiled_again_when_an_imported_constant_or_kernel_changes(tmp_path: Path) -> None:
    (tmp_path / "outer.py").write_text(
        "from es_dedup.kernels.dispatch import kernel\nfrom inner import inner\n@kernel\ndef outer(x):\n    return inner(x)\n"
    )
    (tmp_path / "inner.py").write_text(
        "from es_dedup.kernels.dispatch import kernel\nfrom limits import ADDED\n@kernel\ndef inner(x):\n    return x + ADDED\n"
    )
    code = "from outer import outer; print(outer(1), len(outer.stats.cache_misses))"
    answers = []
    for added in (10, 10, 20):
        (tmp_path / "limits.py").write_text(f"ADDED = {added}\n")
        answers.append(run_in(tmp_path, code, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1"))
    assert answers == ["11 1\n", "11 0\n", "21 1\n"]


def test_a_kernel_is_compiled_again_when_a_type_of_its_arguments_was_renamed(tmp_path: Path) -> None:
    answers = []
    for name in ("Pair", "Two"):
        (tmp_path / "values.py").write_text(
            f"from typing import NamedTuple\nclass {name}(NamedTuple):\n    x: int\n"
        )
        (tmp_path / "outer.py").write_text(
            "from es_dedup.kernels.dispatch import kernel\n@kernel\ndef outer(v):\n    return v.x\n"
        )
        code = f"from outer import outer; from values import {name}; print(outer({name}(3)), len(outer.stats.cache_misses))"
        answers.append(run_in(tmp_path, code, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1"))
    assert answers == ["3 1\n", "3 1\n"]


def test_a_kernel_is_compiled_again_when_the_fields_of_an_argument_change_places(tmp_path: Path) -> None:
    answers = []
    for fields_ in ("x y", "y x"):
        (tmp_path / "outer.py").write_text(
            "from collections import namedtuple\nfrom es_dedup.kernels.dispatch import kernel\n"
            f"Pair = namedtuple('Pair', '{fields_}')\n@kernel\ndef outer(v):\n    return v.x\n"
        )
        code = "from outer import outer, Pair; print(outer(Pair(x=3, y=5)))"
        answers.append(run_in(tmp_path, code, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1"))
    assert answers == ["3\n", "3\n"]


@pytest.fixture(scope="module")
def kernels_of_this_machine() -> Path:
    """The folder with all kernels, compiled here if need be."""
    folder = dispatch.cache_folder()
    assert folder is not None
    subprocess.run(
        [sys.executable, "-m", "es_dedup.cli", "-q", "compile"], check=True, stdout=subprocess.DEVNULL
    )
    assert dispatch.is_compiled()
    return folder


def test_work_after_compile_compiles_nothing(kernels_of_this_machine: Path, tmp_path: Path) -> None:
    shutil.copytree(kernels_of_this_machine, tmp_path / "es-dedup")
    code = (
        "from es_dedup import Deduplicator; from tests.samples import pages; from es_dedup.kernels.cache import kernels\n"
        "with Deduplicator.open(':memory:') as dedup:\n"
        "    dedup.scan(pages()); dedup.check(pages()[0])\n"
        "print(len(kernels) > 30, [each for each in kernels if each.stats.cache_misses])"
    )
    found = run_in(tmp_path, code, **{dispatch.SWITCH: "on", "PYTHONPATH": str(ROOT)})
    assert found == "True []\n"


def test_long_work_has_kernels_compiled_beside_it(kernels_of_this_machine: Path, tmp_path: Path) -> None:
    kept = tmp_path / "es-dedup"
    shutil.copytree(kernels_of_this_machine, kept)  # so that compiling them takes no time
    for marker in kept.glob("all-*"):
        marker.unlink()
    code = (
        "import time; from es_dedup.kernels import dispatch\n"
        "assert not dispatch.worthwhile(dispatch.WORTH_COMPILING - 1)\n"
        "assert dispatch._State.compiler is None\n"
        "assert not dispatch.worthwhile(dispatch.WORTH_LOADING)\n"
        "while not dispatch.worthwhile(dispatch.WORTH_LOADING): time.sleep(0.1)\n"
        "print('by kernels')"
    )
    assert run_in(tmp_path, code, **{dispatch.SWITCH: ""}) == "by kernels\n"


def test_kernels_are_used_from_a_folder_that_cannot_be_written_to(
    kernels_of_this_machine: Path, tmp_path: Path
) -> None:
    """As in the image: compiled by root, used by nobody."""
    kept = tmp_path / "es-dedup"
    shutil.copytree(kernels_of_this_machine, kept)
    for path in (*kept.rglob("*"), kept):
        path.chmod(0o555 if path.is_dir() else 0o444)
    code = (
        "import os\n"
        "from es_dedup import Deduplicator, Page; from es_dedup.kernels import dispatch; from es_dedup.kernels.cache import kernels\n"
        "assert not os.access(dispatch.cache_folder(), os.W_OK)\n"
        "with Deduplicator.open(':memory:') as dedup:\n"
        "    dedup.scan([Page(id='a', text='The ferry runs again, the council said. ' * 12000)])\n"
        "print(dispatch._State.chosen, len(kernels) > 9, [each for each in kernels if each.stats.cache_misses])"
    )
    # root may write everywhere, but not without its capabilities
    without = () if os.geteuid() else ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
    assert run_in(tmp_path, code, *without, **{dispatch.SWITCH: ""}) == "True True []\n"
