"""Programs that take arguments say which, and do nothing else then."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.mark.parametrize("name", ["build_synonyms", "count_numbers", "extras", "picture", "quality_gate"])
def test_help_is_printed(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPTS / f"{name}.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {name}.py")
    assert list(tmp_path.iterdir()) == []
