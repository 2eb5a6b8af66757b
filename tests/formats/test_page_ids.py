"""Ids of page files over random trees: the same file has one id, however it is reached; different files never share one."""

import os
import random
from pathlib import Path

import pytest

from es_dedup.model import Page
from es_dedup.readers import ReadOptions, read_pages

NAMES = ["a", "A", "b", "a b", "..c", "中", "x:y", "back\\slash", "line\nend", "2026-11-21"]
WAYS = ["absolute", "relative", "dotted", "link", "upward"]


class Corpus:
    """A random tree of pages, each with a text of its own, and an index that remembers the root."""

    def __init__(self, top: Path, source: random.Random) -> None:
        self.top, self.source = top, source
        names = source.sample(NAMES, 3)  # few, so that they come again at many places
        for number in range(source.randint(1, 16)):
            folder = top.joinpath(*source.choices(names, k=source.randint(0, 3)))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{source.choice(names)}.html").write_text(f"<p>page {number}", encoding="utf-8")
        self.files = sorted(path for path in top.rglob("*") if path.is_file())
        self.folders = [top, *sorted(path for path in top.rglob("*") if path.is_dir())]
        self.page_at = {path.read_bytes(): path for path in self.files}
        self.root: str | None = None

    def named(self, target: Path) -> str:
        """A way to name a file or folder."""
        relative, way = os.path.relpath(target), self.source.choice(WAYS)
        if way == "link":
            link = self.top.parent / f"link{self.source.random()}{target.suffix if target.is_file() else ''}"
            link.symlink_to(target)
            return str(link)
        named = {
            "absolute": str(target),
            "dotted": f"./{relative}",
            "upward": f"../{Path.cwd().name}/{relative}",
        }
        return named.get(way, relative)

    def read(self, targets: list[Path]) -> dict[Path, str]:
        """One command, in another working directory: file to page id."""
        os.chdir(self.source.choice([*self.folders, self.top.parent]))
        pages = read_pages(list(map(self.named, targets)), ReadOptions(root=self.root))
        self.root = pages.root
        found = {}
        for item in pages:
            assert isinstance(item, Page), item
            assert isinstance(item.html, bytes)
            found[self.page_at[item.html]] = item.id
        assert set(found) == {
            path for path in self.files for target in targets if path.is_relative_to(target)
        }
        return found


@pytest.mark.parametrize("seed", range(12))
def test_a_file_has_one_id_of_its_own(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = random.Random(seed)
    corpus = Corpus(tmp_path.resolve() / "tree", source)
    known: dict[Path, str] = {}
    for _ in range(10):
        targets = source.choices([*corpus.folders[1:], *corpus.files], k=source.choice([1, 1, 1, 2, 3]))
        targets = [corpus.top] if source.random() < 0.05 else targets
        for path, page_id in corpus.read(targets).items():
            assert known.setdefault(path, page_id) == page_id
            assert ".." not in page_id.split("/")
            below = path.is_relative_to(corpus.root or "")
            assert page_id == str(path.relative_to(corpus.root or "") if below else path)
    assert len(set(known.values())) == len(known)


def pages_in(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<p>{name}", encoding="utf-8")


def ids(*paths: Path, root: Path | None = None) -> list[str]:
    return [item.id for item in read_pages(paths, ReadOptions(root=root)) if isinstance(item, Page)]


def test_folders_named_together_are_below_the_folder_that_holds_them(tmp_path: Path) -> None:
    pages_in(tmp_path, "21/index.html", "22/index.html")
    assert ids(tmp_path / "21", tmp_path / "22") == ["21/index.html", "22/index.html"]
    assert ids(tmp_path / "22/index.html", tmp_path / "21/index.html") == ["22/index.html", "21/index.html"]


def test_folders_that_only_a_file_system_holds_are_below_its_root(tmp_path: Path) -> None:
    pages_in(tmp_path, "a.html")
    top = tmp_path.resolve().anchor
    pages = read_pages([tmp_path, top])
    assert pages.root == top
    page_id = next(item.id for item in pages if isinstance(item, Page))
    assert page_id == (tmp_path.resolve() / "a.html").relative_to(top).as_posix()
    assert ids(tmp_path, root=Path(top)) == [page_id]


def test_record_files_need_no_root(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "t"}\n', encoding="utf-8")
    pages_in(tmp_path / "deep/pages", "a.html")
    assert ids(tmp_path / "a.jsonl", tmp_path / "deep/pages") == ["1", "a.html"]


def test_a_link_to_a_file_is_the_file_it_leads_to(tmp_path: Path) -> None:
    pages_in(tmp_path, "pages/a.html", "other/b.html")
    (tmp_path / "pages/link.html").symlink_to("a.html")
    (tmp_path / "pages/outside.html").symlink_to(tmp_path / "other/b.html")
    source = read_pages([tmp_path / "pages"])
    assert [item.id for item in source if isinstance(item, Page)] == ["a.html", "a.html", "outside.html"]
    assert ids(tmp_path / "pages", root=tmp_path / "other") == [
        str(tmp_path.resolve() / "pages/a.html"),
        str(tmp_path.resolve() / "pages/a.html"),
        "b.html",
    ]
