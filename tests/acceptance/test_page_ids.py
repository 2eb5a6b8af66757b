"""Page ids of files named on the command line: the same file keeps its id, different files never share one."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from es_dedup import Deduplicator
from tests.commands import ran


def run(*arguments: str | Path, place: str, folder: Path, code: int = 0) -> tuple[dict[str, Any], Result]:
    """Run es-dedup with ``--json`` in a folder; gives the last object it printed, and the result."""
    with contextlib.chdir(folder):
        done = ran("--db", place, "--json", *arguments, code=code)
    return (json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}), done


def page(path: Path, number: int) -> Path:
    """An HTML file with a text of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(
        f"第{number}号报道的第{part}句话谈到了编号为{number * 31 + part}的事情。" for part in range(12)
    )
    path.write_text(f"<title>{number}</title><p>{text}</p>", encoding="utf-8")
    return path


def stored(place: str) -> set[str]:
    """Ids of all stored pages."""
    with Deduplicator.open(place, read_only=True) as dedup:
        return {
            name
            for cluster in dedup.clusters()
            for name in (cluster.canonical, *(member.page_id for member in cluster.members))
        }


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Two days with a front page each, and a folder with a section."""
    for number, name in enumerate(
        ("2026-11-21/index.html", "2026-11-22/index.html", "pages/a.html", "pages/finance/a.html")
    ):
        page(tmp_path / "crawl" / name, number)
    return tmp_path / "crawl"


def test_the_second_day_does_not_replace_the_first(place: str, crawl: Path) -> None:
    run("scan", "2026-11-21", place=place, folder=crawl)
    second, _ = run("scan", "2026-11-22", place=place, folder=crawl)
    assert (second["stored"], second["replaced"], second["pages"]) == (1, 0, 2)
    assert stored(place) == {"index.html", str(crawl.resolve() / "2026-11-22/index.html")}
    for day in ("2026-11-21", "2026-11-22"):
        again, _ = run("scan", crawl / day, place=place, folder=crawl.parent)
        assert (again["stored"], again["unchanged"]) == (0, 1)


def test_a_sub_folder_or_file_added_later_has_the_ids_of_the_scan(place: str, crawl: Path) -> None:
    run("scan", "pages", place=place, folder=crawl)
    for name, folder in (
        ("pages/finance", crawl),
        ("./finance/../finance/a.html", crawl / "pages"),
        (crawl / "pages/finance/a.html", crawl.parent),
        (".", crawl / "pages/finance"),
    ):
        added, _ = run("add", name, place=place, folder=folder)
        assert (added["stored"], added["unchanged"]) == (0, 1)
    checked, _ = run("check", "a.html", place=place, folder=crawl / "pages/finance")
    assert (checked["page_id"], checked["outcome"]) == ("finance/a.html", "unique")
    assert stored(place) == {"a.html", "finance/a.html"}


def test_a_super_folder_scanned_later_keeps_the_ids(place: str, crawl: Path) -> None:
    run("scan", "pages/finance", place=place, folder=crawl)
    report, _ = run("scan", "pages", place=place, folder=crawl)
    assert (report["stored"], report["unchanged"]) == (1, 1)
    assert stored(place) == {"a.html", str(crawl.resolve() / "pages/a.html")}


def test_a_root_may_be_chosen(place: str, crawl: Path) -> None:
    run("scan", "--root", ".", "2026-11-21", place=place, folder=crawl)
    run("scan", "2026-11-22", place=place, folder=crawl)
    assert stored(place) == {"2026-11-21/index.html", "2026-11-22/index.html"}
    for command in (["scan"], ["scan", "--dry-run"], ["add"], ["add", "--dry-run"], ["check"]):
        _, done = run(*command, "--root", "pages", "pages", place=place, folder=crawl, code=1)
        assert f"relative to {crawl.resolve()}, which still exists" in done.stderr
    run("scan", "--root", "gone", "pages", place=place, folder=crawl, code=2)


def test_replaced_pages_are_counted_and_a_dry_run_records_no_root(place: str, crawl: Path) -> None:
    run("scan", "pages", place=place, folder=crawl)
    page(crawl / "pages/a.html", 77)
    dry, _ = run("add", "pages", "2026-11-21", "--dry-run", place=place, folder=crawl)
    assert (dry["stored"], dry["replaced"], dry["unchanged"]) == (2, 1, 1)
    report, _ = run("add", "pages", place=place, folder=crawl)
    assert (report["stored"], report["replaced"], report["unchanged"]) == (1, 1, 1)
    facts, _ = run("index", "stats", place=place, folder=crawl)
    assert facts["root"] == str(crawl.resolve() / "pages")


def test_a_folder_that_has_moved_keeps_its_ids(place: str, crawl: Path) -> None:
    run("scan", "pages", place=place, folder=crawl)
    (crawl / "pages").rename(crawl / "moved")
    _, done = run("add", "moved", "--dry-run", place=place, folder=crawl)
    assert "run it again with --root NEW_FOLDER" in done.stderr
    for more in (["--dry-run"], []):
        report, _ = run("scan", "moved", "--root", "moved", *more, place=place, folder=crawl)
        assert (report["stored"], report["unchanged"]) == (0, 2)
    report, _ = run("scan", "moved/finance", place=place, folder=crawl)
    assert (report["stored"], report["unchanged"]) == (0, 1)
    (crawl / "moved").rename(crawl / "there")
    (crawl / "moved").symlink_to("there")
    run("check", "moved", place=place, folder=crawl)
    report, _ = run("scan", "there", place=place, folder=crawl)
    assert (report["stored"], report["unchanged"]) == (0, 2)
