"""A process takes the kernels when it pays, and compiles them again when what they were made of changes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from es_dedup.kernels import dispatch
from es_dedup.kernels.dispatch import _State
from tests.processes import ended

pytest.importorskip("numba")

ROOT: Final = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = _State.chosen, _State.handled, _State.next_look
    yield
    _State.chosen, _State.handled, _State.next_look = before


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
    done = ended(*prefix, sys.executable, "-c", code, env=given)
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
