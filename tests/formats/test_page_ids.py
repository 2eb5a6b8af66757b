"""Ids of page files over random trees: the same file has one id, however it is reached; different files never share one."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Page
from es_dedup.readers import ReadOptions, Root, Roots, read_pages

NAMES = ["a", "A", "b", "a b", "..c", "中", "x:y", "back\\slash", "line\nend", "2026-11-21"]
WAYS = ["absolute", "relative", "dotted", "link", "upward"]


class Corpus:
    """A random tree of pages, each with a text of its own, and an index that remembers roots."""

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
        self.roots = Roots()

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
        """One command, in another working directory, perhaps with a root: file to page id."""
        os.chdir(self.source.choice([*self.folders, self.top.parent]))
        options = ReadOptions(roots=self.roots)
        if self.source.random() < 0.2:
            options = replace(options, root=self.source.choice([*self.folders, self.top.parent]))
        try:
            pages = read_pages(list(map(self.named, targets)), options)
        except ValueError:  # a root that does not hold the input, or that another holds
            assert options.root is not None
            return {}
        self.roots = Roots.from_json(pages.roots.as_json())
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
            assert not page_id.startswith("/")
            assert ".." not in page_id.split("/")
            assert str(tmp_path) not in page_id
    assert len(set(known.values())) == len(known)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=5), st.none() | st.text(max_size=9)), max_size=4))
def test_roots_survive_as_text(rows: list[tuple[str, str | None]]) -> None:
    roots = Roots(tuple(Root(*row) for row in rows))
    assert Roots.from_json(roots.as_json()).roots == roots.roots


def pages_in(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<p>{name}", encoding="utf-8")


def ids(*paths: Path, roots: Roots | None = None) -> list[str]:
    items = list(read_pages(paths, ReadOptions(roots=roots or Roots())))
    return [item.id for item in items if isinstance(item, Page)]


def test_folders_named_together_are_below_the_folder_that_holds_them(tmp_path: Path) -> None:
    pages_in(tmp_path, "21/index.html", "22/index.html")
    assert ids(tmp_path / "21", tmp_path / "22") == ["21/index.html", "22/index.html"]
    assert ids(tmp_path / "22/index.html", tmp_path / "21/index.html") == ["22/index.html", "21/index.html"]


def test_a_namespace_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    pages_in(tmp_path, "a/b/x.html", "b/x.html")
    roots = Roots().covering([tmp_path / "a"])
    assert ids(tmp_path / "a", tmp_path / "b", roots=roots) == ["b/x.html", "b//x.html"]


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
    for first, second, expected in (
        ("pages", "other", ["a.html", "a.html", "outside.html"]),
        ("other", "pages", ["pages//a.html", "pages//a.html", "b.html"]),
    ):
        roots = Roots().covering([tmp_path / first]).covering([tmp_path / second])
        assert ids(tmp_path / "pages", roots=roots) == expected


def test_a_moved_folder_keeps_its_ids_when_its_namespace_is_named(tmp_path: Path) -> None:
    pages_in(tmp_path, "a/x.html", "b/x.html")
    roots = Roots().covering([tmp_path / "a"]).covering([tmp_path / "b"])
    (tmp_path / "b").rename(tmp_path / "c")
    recorded = Roots.from_json(roots.as_json())
    assert [root.namespace for root in recorded.missing()] == ["b"]
    moved = recorded.covering([tmp_path / "c"], namespace="b")
    assert ids(tmp_path / "c", roots=moved) == ["b//x.html"]


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("Nachrichten 2026", "Nachrichten_2026"),
        ("...", "root"),
        ("http:", "http_"),
        ("新闻", "新闻"),
        ("a", "a"),
    ],
)
def test_namespaces_are_made_of_names_of_folders(tmp_path: Path, name: str, namespace: str) -> None:
    pages_in(tmp_path, "first/x.html", f"{name}/x.html", f"more/{name}/x.html")
    roots = Roots()
    for folder in ("first", name, f"more/{name}"):
        roots = roots.covering([tmp_path / folder])
    assert [root.namespace for root in roots.roots] == ["", namespace, f"{namespace}-2"]


@pytest.mark.parametrize("namespace", ["a/b", "..", "a b", "x" * 65, "a//"])
def test_a_namespace_that_could_be_a_path_is_refused(tmp_path: Path, namespace: str) -> None:
    with pytest.raises(ValueError, match="namespace"):
        Roots().covering([tmp_path], namespace=namespace)


def test_what_is_not_below_the_root_is_refused(tmp_path: Path) -> None:
    pages_in(tmp_path, "a/x.html", "b/x.html")
    with pytest.raises(ValueError, match="not below the root"):
        read_pages([tmp_path / "a"], ReadOptions(root=tmp_path / "b"))
    with pytest.raises(ValueError, match="no folder"):
        read_pages([tmp_path / "a"], ReadOptions(root=tmp_path / "gone"))
