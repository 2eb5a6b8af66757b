"""Pages named by id, by URL and on standard input: one way for all commands."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.model import Edge, Relation
from tests.commands import ran, rows
from tests.texts import article

URL = "http://site.example/page"


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Two copies that have one URL, a page without URL, and one without text."""
    path = str(tmp_path / "pages.db")
    with Deduplicator.open(path) as dedup:
        dedup.scan(
            [
                Page(id="a", text=article(1), url=URL, title="A page"),
                Page(id="b", text=article(1), url=URL, title="A page"),
                Page(id="c", text=article(2)),
                Page(id="d", text=""),
            ]
        )
    return path


def said(place: str, *arguments: str, given: str = "", code: int = 0) -> list[Any]:
    """The lines of JSON of a command."""
    return rows("--db", place, *arguments, given=given, code=code)


def test_a_url_means_all_its_pages(place: str) -> None:
    with Deduplicator.open(place, read_only=True) as dedup:
        assert dedup.ids_of([URL, "c", "http://nobody"]) == {
            URL: ["a", "b"], "c": ["c"], "http://nobody": ["http://nobody"],
        }  # fmt: skip
    assert [each["page_id"] for each in said(place, "text", URL)] == ["a", "b"]
    assert said(place, "index", "remove", URL, "--dry-run")[0]["removed"] == 2
    (cluster,) = said(place, "show", URL)
    assert cluster["size"] == 2
    assert said(place, "explain", URL, "c")[0]["left"] == "a"


def test_ids_and_urls_may_stand_on_standard_input(place: str) -> None:
    pages = said(place, "text", "-", given=f"c\n\n{URL}\nc\n")
    assert [each["page_id"] for each in pages] == ["c", "a", "b"]
    assert pages[0]["text"].split() == article(2).split()
    assert len(said(place, "show", "-", given="a\nb\nc\n")) == 2
    assert said(place, "index", "remove", "--erase", "--yes", "-", given=f"{URL}\n")[0]["removed"] == 2
    said(place, "text", URL, code=1)


def test_lines_of_standard_input_end_in_either_way(tmp_path: Path) -> None:
    """A real process: Python translates line ends there by the system. What else separates lines elsewhere may be in an id."""
    names, path = ["a\u2028b", "c\x0bd", "e\rf", "g"], str(tmp_path / "pages.db")
    with Deduplicator.open(path) as dedup:
        dedup.scan([Page(id=name, text=article(number)) for number, name in enumerate(names)])
    command = [sys.executable, "-m", "es_dedup", "--db", path, "--json", "index", "remove", "-"]
    for given in ("\r\n".join(names), "\n".join(names) + "\n"):
        done = subprocess.run([*command, "--dry-run"], input=given.encode(), capture_output=True, check=True)
        said = json.loads(done.stdout)
        assert (said["removed"], said["unknown"]) == (len(names), []), said


def test_the_environment_names_the_index_where_the_command_does_not(place: str, tmp_path: Path) -> None:
    assert len(rows("text", "c", ES_DEDUP_DB=place)) == 1
    ran("--db", str(tmp_path / "other.db"), "text", "c", code=1, ES_DEDUP_DB=place)


def test_people_read_texts_below_each_other(place: str) -> None:
    done = ran("--db", place, "text", "a", "d")
    assert done.stdout.startswith("# a  A page\n")
    assert "d: no text is stored" in done.output
    assert "no page is named" in ran("--db", place, "text", "-", given="", code=2).output


def test_old_pages_are_removed_and_those_without_a_time_stay(tmp_path: Path) -> None:
    place = str(tmp_path / "pages.db")
    today = datetime.now(UTC).date()
    with Deduplicator.open(place) as dedup:
        for days in (10, 89, 91, 4000):
            dedup.add(Page(id=f"{days}", text=article(days), published=str(today - timedelta(days))))
        dedup.add(Page(id="no time", text=article(7)))
    assert said(place, "index", "remove", "--older-than", "90d", "--dry-run")[0]["removed"] == 2
    assert said(place, "index", "remove", "--older-than", "90d", "10")[0]["removed"] == 3
    with Deduplicator.open(place, read_only=True) as dedup:
        assert [each.page_id for each in dedup.records()] == ["89", "no time"]


@pytest.mark.parametrize("age", ["90", "-3d", "ninety", "99999y"])
def test_what_is_no_age_is_refused(place: str, age: str) -> None:
    done = ran("--db", place, "index", "remove", f"--older-than={age}", code=2)
    assert "--older-than" in done.output


def test_one_page_of_a_cycle_of_containment_stays(tmp_path: Path) -> None:
    place = str(tmp_path / "pages.db")
    with Deduplicator.open(place) as dedup:
        dedup.scan([Page(id=name, text=article(number)) for number, name in enumerate("abcdefg")])
        dedup._index.put_edges(
            [
                Edge("a", "b", Relation.CONTAINED, 0.9),  # a in b in c in a
                Edge("b", "c", Relation.CONTAINED, 0.9),
                Edge("a", "c", Relation.CONTAINS, 0.9),
                Edge("c", "d", Relation.CONTAINS, 0.9),  # d in the cycle
                Edge("e", "f", Relation.CONTAINED, 0.9),  # e in f in g
                Edge("f", "g", Relation.CONTAINED, 0.9),
            ]
        )
    kept = [each["page_id"] for each in said(place, "index", "export", "--what", "keep", "--drop-contained")]
    assert kept == ["a", "g"]
    dropped = said(place, "index", "export", "--what", "drop", "--drop-contained")
    assert [each["page_id"] for each in dropped] == ["b", "c", "d", "e", "f"]
    with Deduplicator.open(place, read_only=True) as dedup:
        stays = {name: (outer, Relation.CONTAINED) for name, outer in zip("bcdef", "aaagg", strict=True)}
        assert dedup.redundant("abcdefg", contained=True) == (set("abcdefg"), stays)
        assert [dedup.redundant(name, contained=True)[1].keys() for name in "abe"] == [set(), {"b"}, {"e"}]
