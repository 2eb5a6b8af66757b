"""Each test of the command line runs in an empty folder, with the real pipeline."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The current folder is ``tmp_path``."""
    monkeypatch.chdir(tmp_path)
