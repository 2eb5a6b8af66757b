"""``scripts/build_samples.py``: what lies in ``samples/`` is what its sources give, and a label that does not fit is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.samplesupport import output
from scripts.samplesupport.pairs import fault, load_pairs, measure

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_the_samples_are_up_to_date_wherever_it_is_called(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "build_samples.py"), "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "samples are up to date\n")


def test_all_is_written_and_what_is_stale_is_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "SAMPLES", tmp_path)
    files = output.build()
    output.write(files)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert names == files.keys()
    changed, extra = "labels.jsonl", "pages/zhportal/unlisted.html"
    (tmp_path / changed).write_bytes(b"other")
    (tmp_path / extra).write_bytes(b"other")
    assert output.stale(files) == [changed, extra]
    output.write(files)
    assert output.stale(files) == []
    assert not (tmp_path / extra).exists()


def test_a_label_that_does_not_fit_what_was_measured_is_told() -> None:
    pair = next(each for each in load_pairs() if each.label == "dup")
    assert fault(pair) == ""
    for wrong in ("diff", "contain"):
        assert pair.a in fault(measure(pair.a, pair.b, wrong, "none", ""))
