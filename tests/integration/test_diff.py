"""``es-dedup explain --text``: stored pages and files side by side, on a terminal and as JSON."""

import json
import subprocess
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Page
from tests.processes import PROGRAM

LEFT = "本报讯，长江三桥昨日通车，全长2100米。市民纷纷前往，交通十分顺畅。"
RIGHT = (
    "本报讯，长江二桥昨日通车，全长1800米。市民纷纷前往，交通十分顺畅。<script>alert(1)</script>\u202e\u200b"
)


def run(folder: Path, *arguments: str) -> str:
    """Standard output of the program."""
    done = subprocess.run(
        [PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def stored(place: str) -> str:
    """An index of two pages and their hostile relative."""
    with Deduplicator.open(place) as dedup:
        dedup.add_many(
            [Page(id="a", text=LEFT, title="长江三桥通车"), Page(id="b", text=RIGHT, title="长江二桥通车")]
        )
    return place


def test_stored_pages(stored: str, tmp_path: Path) -> None:
    shown = run(tmp_path, "--db", stored, "explain", "--text", "a", "b")
    lines = shown.splitlines()
    assert ": not merged" in lines[0]
    assert "- 长江[-三-]桥昨日通车，" in lines
    assert "+ 全长{+1800+}米。" in lines
    assert "\u202e" not in shown
    assert "⟨U+200B⟩" in shown
    found = json.loads(run(tmp_path, "--json", "--db", stored, "explain", "a", "b", "--text"))
    assert "".join(piece["text"] for row in found["rows"] for piece in row["left"]) == LEFT


def test_files_need_no_index(tmp_path: Path) -> None:
    for name, text in (("a.html", LEFT), ("b.html", RIGHT)):
        (tmp_path / name).write_text(f"<title>{name}</title><p>{text}</p>", encoding="utf-8")
    assert "- 长江[-三-]桥昨日通车，" in run(tmp_path, "explain", "a.html", "b.html", "--text")
    assert not list(tmp_path.glob("*.db"))
