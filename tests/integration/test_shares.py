"""How much of each page stands in the other, shown wherever two pages are said to be alike; and one count of clusters."""

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from es_dedup import Deduplicator, Page
from es_dedup.cli.main import app
from es_dedup.model.plain import plain
from tests.texts import article

STORY = [article(place, sentences=1) for place in range(12)]
TITLE = STORY[0][:10]
PAGES = (
    Page("a", text="\n".join(STORY), title=TITLE),
    Page("b", text="\n".join(STORY[:9]), title=TITLE),
    Page(
        "c",
        text="\n".join(article(200 + place, sentences=1) for place in range(6)),
        title="An unrelated page",
    ),
)
"""``b`` is a truncated copy of ``a``: all of it stands in ``a``, and a good three quarters of ``a`` in it."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index of the three pages."""
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        dedup.scan(PAGES)
    return tmp_path / "pages.db"


def run(path: Path, *arguments: str) -> str:
    """Standard output of a command."""
    result = CliRunner().invoke(app, ["--db", str(path), *arguments])
    assert result.exit_code in (0, 4), result.output
    return result.stdout


def test_both_shares_are_known_and_change_sides_with_the_pages(path: Path) -> None:
    with Deduplicator.open(path, read_only=True) as dedup:
        pair = dedup.explain("a", "b")
        assert pair.score == 1.0, "which alone would say that the pages are equal"
        assert pair.shares is not None
        assert pair.shares[0] == pytest.approx(0.78, abs=0.03)
        assert pair.shares[1] == 1.0
        assert pair.reversed.shares == dedup.explain("b", "a").shares == pair.shares[::-1]
        assert pair.reversed.reversed == pair
        ((member,),) = [cluster.members for cluster in dedup.clusters(min_size=2)]
        assert member.shares == pair.shares
        (again,) = dedup.check(Page("d", text=PAGES[1].text, title=TITLE)).verdicts[:1]
        assert again.shares is not None


def test_each_command_shows_both_shares(path: Path, tmp_path: Path) -> None:
    with Deduplicator.open(path, read_only=True) as dedup:
        whole, part = dedup.explain("a", "b").shares or pytest.fail("no shares")
    words = f"{int(whole * 100)} % of a stands in b, all of b in a"
    assert words in run(path, "explain", "a", "b")
    assert f"all of b stands in a, {int(whole * 100)} % of a in b" in run(path, "explain", "b", "a")
    head, row = run(path, "clusters").splitlines()
    assert head.split("\t")[-2:] == ["shared of it", "of the others"]
    assert row.split("\t")[-2:] == [f"{int(whole * 100)} %", "100 %"]
    assert f"{int(whole * 100)} % of the canonical document, 100 % of this page" in run(path, "show", "a")
    given = tmp_path / "new.jsonl"
    given.write_text(
        json.dumps({"id": "d", "text": "\n".join(STORY[:8]), "title": TITLE}) + "\n", encoding="utf-8"
    )
    checked = run(path, "check", str(given))
    assert re.search(r"duplicate of a: 100 % of this page, \d+ % of the other\n", checked)
    shares = {"shared_of_canonical": round(whole, 4), "shared_of_page": part}
    (shown,) = map(json.loads, run(path, "--json", "clusters").splitlines())
    assert shares.items() <= shown["members"][0].items()
    assert json.loads(run(path, "--json", "explain", "a", "b"))["shares"] == [round(whole, 4), part]
    for what in ("clusters", "drop"):
        rows = {
            row["page_id"]: row
            for row in map(json.loads, run(path, "index", "export", "--what", what).splitlines())
        }
        assert shares.items() <= rows["b"].items()
    assert "shared_of_page" in next(csv.reader(run(path, "index", "export", "--format", "csv").splitlines()))
    report = tmp_path / "report.html"
    run(path, "scan", str(given), "--report", str(report))
    assert f"{int(whole * 100)} % of the canonical document, 100 % of this page" in report.read_text(
        encoding="utf-8"
    )


def test_library_command_line_and_report_explain_a_pair_alike(path: Path, tmp_path: Path) -> None:
    with Deduplicator.open(path, read_only=True) as dedup:
        pair = dedup.explain("a", "b")
    shown = run(path, "explain", "a", "b").splitlines()
    first, *rest = pair.explanation
    assert [line.strip() for line in shown] == [f"duplicate: {first}", *rest]
    found = json.loads(run(path, "--json", "explain", "a", "b"))
    assert found["explanation"] == list(pair.explanation)
    assert found["rules"] == plain(pair.rules)
    table = run(path, "explain", "a", "b", "--evidence").partition("rule\toutcome\tbecause\n")[2].splitlines()
    assert [line.split("\t")[:2] for line in table] == [[rule.name, str(rule.outcome)] for rule in pair.rules]
    report = tmp_path / "report.html"
    given = tmp_path / "none.jsonl"
    given.write_text(json.dumps({"id": "e", "text": "Nothing alike."}) + "\n", encoding="utf-8")
    run(path, "scan", str(given), "--report", str(report))
    page = report.read_text(encoding="utf-8")
    assert "Rules in order" in page
    assert pair.explanation[1] in page
    assert all(rule.name in page for rule in pair.rules)


def test_clusters_are_counted_alike_everywhere(path: Path) -> None:
    """A page without duplicates is no cluster in any count."""
    listed = run(path, "--json", "clusters").splitlines()
    with Deduplicator.open(path) as dedup:
        stats = dedup.stats()
        assert (stats["pages"], stats["clusters"], stats["unique_pages"], stats["duplicates"]) == (3, 1, 1, 1)
        assert stats["clusters"] == len(listed) == dedup.recluster().clusters
    scanned = json.loads(run(path, "--json", "elastic", "recluster", "--dry-run"))
    assert (scanned["pages"], scanned["clusters"]) == (3, 1)
