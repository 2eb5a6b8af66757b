"""The search of the HTML report in a browser: what is shown as somebody types, and that no page's text runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.views import report, report_page
from tests.browser.conftest import HOSTILE
from tests.browsing import Tab
from tests.texts import article

pytestmark = pytest.mark.slow
HALL, BRIDGE, SHIP = "made/hall", "made/bridge", "made/ship"


@pytest.fixture
def tab(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tab]:
    """The report of three clusters, of which the smallest is only listed."""
    monkeypatch.setattr(report, "SHOWN", 2)
    with Deduplicator.open(":memory:") as dedup:
        for number, (name, title, copies) in enumerate(
            [(HALL, f"The hall opens {HOSTILE}", 120), (BRIDGE, "大桥通车", 4), (SHIP, "A ship", 2)]
        ):
            dedup.scan(
                Page(
                    id=f"{name}-{copy:03}",
                    text=article(number),
                    title=title if copy < 2 else f"{title} again",
                    url=f"https://site{copy}.example/{name}",
                    published=f"2026-01-{1 + copy % 28:02}",
                )
                for copy in range(copies)
            )
        page = report_page(dedup, title=HOSTILE)
        (tmp_path / "report.html").write_bytes(page)
    tab = Tab(browser, "file:///")
    tab.page.goto((tmp_path / "report.html").as_uri())
    yield tab
    assert tab.wrong == []
    tab.close()


def shown(tab: Tab, selector: str) -> int:
    """How many elements are not hidden, also where they stand in a closed part."""
    count: int = tab.page.locator(selector).evaluate_all(
        "nodes => nodes.filter(node => !node.closest('[hidden]')).length"
    )
    return count


def typed(tab: Tab, text: str) -> tuple[int, int, int]:
    """Rows, clusters and members that are left."""
    tab.page.get_by_role("searchbox").fill(text)
    return shown(tab, ".largest tbody tr"), shown(tab, ".cluster"), shown(tab, ".members li")


def test_clusters_and_pages_are_found_by_title_site_url_and_id(tab: Tab) -> None:
    everything = typed(tab, "")
    assert everything == (3, 2, 122)
    assert typed(tab, "HALL opens") == (1, 1, 119)
    assert tab.page.locator(".search output").inner_text() == "1 of 3 listed clusters"
    assert typed(tab, "通车") == (1, 1, 3)
    assert typed(tab, "ship-000")[:2] == (1, 0)
    assert typed(tab, "no such page") == (0, 0, 0)
    assert typed(tab, "  ") == everything


def test_a_member_alone_is_shown_in_its_cluster_which_opens(tab: Tab) -> None:
    for text in ("hall-117", "https://site117.example/made", "site117 AGAIN"):
        assert typed(tab, text) == (1, 1, 1)
        assert tab.page.locator(".members li:visible").count() == 1
    typed(tab, "")
    assert tab.page.locator(".members li:visible").count() == 100


def test_titles_are_found_as_text_and_do_not_run(tab: Tab) -> None:
    assert typed(tab, "<script>alert(1)</script>") == (1, 1, 119)
    assert tab.page.evaluate("document.scripts.length") == 1


def test_other_scripts_are_refused_by_the_policy(browser: Any, tab: Tab, tmp_path: Path) -> None:
    page = (tmp_path / "report.html").read_text("utf-8")
    (tmp_path / "changed.html").write_text(
        page.replace("<main>", "<main><script>window.ran = 1</script>"), "utf-8"
    )
    changed = Tab(browser, "file:///")
    changed.page.goto((tmp_path / "changed.html").as_uri())
    assert changed.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in each for each in changed.wrong)
    changed.close()


def test_without_scripts_all_is_shown_and_no_field(browser: Any, tab: Tab, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator(".search").is_hidden()
    assert page.locator(".cluster").count() == 2
    context.close()
