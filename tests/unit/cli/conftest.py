"""Each test of the command line runs in an empty folder, with the real pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The current folder is ``tmp_path``."""
    monkeypatch.chdir(tmp_path)
