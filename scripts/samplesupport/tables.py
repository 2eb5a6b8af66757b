"""The folder of the samples, and the plain tables and lists among their sources."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
SOURCES = SAMPLES / "sources"


def read_rows(path: Path, columns: int) -> list[list[str]]:
    """Rows of a ``|``-separated table; blank lines and ``#`` lines are left out."""
    rows = []
    for line in path.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split("|", columns - 1)]
            rows.append(cells + [""] * (columns - len(cells)))
    return rows


def read_lines(name: str) -> list[str]:
    """Non-empty lines of a source file without ``#`` lines."""
    lines = (SOURCES / name).read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]
