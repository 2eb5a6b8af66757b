"""Temporary folders: removed at their end, or after a kill by a later process; nothing else is removed."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from es_dedup import Deduplicator
from es_dedup.batch.whole_corpus import recluster
from es_dedup.settings import Settings
from es_dedup.temporary import MARKER, temporary_folder
from tests.samples import story

ROOT = Path(__file__).parents[2]

CLUSTERING = """
import sys
from es_dedup import Deduplicator
from es_dedup.batch.whole_corpus import recluster
from es_dedup.settings import Settings

def wait(progress):
    if progress.stage == "cluster":
        print("there", flush=True)
        sys.stdin.readline()

with Deduplicator.open(sys.argv[1]) as dedup:
    recluster(dedup._index, Settings(), wait, in_files=True)
"""

HOLDING = """
import sys
from es_dedup.temporary import temporary_folder
with temporary_folder("test") as folder:
    (folder / "part").write_bytes(b"x")
    print(folder, flush=True)
    sys.stdin.readline()
"""

REPLACED = """
import os, sys
from es_dedup.temporary import folder_of_process
print(folder_of_process("test"), flush=True)
os.execv(sys.executable, [sys.executable, "-c", "print('there', flush=True); input()"])
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of this process and of those it starts."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def started(program: str, *arguments: str | Path) -> tuple[subprocess.Popen[str], str]:
    """A process and the first line it says."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def later() -> None:
    """What another process does at its start."""
    with temporary_folder("later") as folder:
        (folder / "part").write_bytes(b"x")


def test_a_later_run_removes_what_a_killed_one_left(place: Path, tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        dedup.add_many(story(number) for number in range(40))
        process, said = started(CLUSTERING, tmp_path / "pages.db")
        assert said == "there"
        killed(process)
        left = list(place.iterdir())
        assert len(left) == 1
        assert sum(path.stat().st_size for path in left[0].rglob("*")) > 40 * 1_000
        recluster(dedup._index, Settings(), in_files=True)
    assert not list(place.iterdir())


def test_the_folder_of_a_living_process_stays(place: Path) -> None:
    process, folder = started(HOLDING)
    later()
    assert Path(folder, "part").read_bytes() == b"x"
    process.communicate("\n")
    assert not list(place.iterdir())


def test_a_folder_stays_while_the_program_that_replaced_its_process_runs(place: Path) -> None:
    process, folder = started(REPLACED)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "there"
    later()
    assert Path(folder).is_dir()
    killed(process)
    later()
    assert not list(place.iterdir())


def test_nothing_else_is_removed(place: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    for folder in (
        theirs / "files",
        place / "es-dedup-no-marker" / "files",
        place / "other-name" / "files",
        place / "es-dedup-linked-marker" / "files",
    ):
        folder.mkdir(parents=True)
        (folder / "data").write_bytes(b"data")
    for marked in (theirs, place / "other-name"):
        (marked / MARKER).touch()
    (place / "es-dedup-link").symlink_to(theirs)
    (place / "es-dedup-file").touch()
    (place / "es-dedup-linked-marker" / MARKER).symlink_to(theirs / MARKER)
    before = sorted(place.rglob("*"))
    later()
    assert sorted(place.rglob("*")) == before
    assert (theirs / "files" / "data").read_bytes() == b"data"
