"""The console in Chromium: each view as people see it, each key, deciding and undoing, what hostile pages may do."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest

from es_dedup import serve
from es_dedup.views.frame import ROOT
from tests.serving import TEXT, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browsing import Tab

pytestmark = pytest.mark.browser
LOOKS: Final = (
    {"scheme": "light", "width": 1280, "language": "en"},
    {"scheme": "dark", "width": 768, "language": "zh"},
    {"scheme": "light", "width": 420, "language": "zh"},
    {"scheme": "dark", "width": 420, "language": "en"},
)
VIEWS: Final = {
    "": [""],
    "/clusters": ["/clusters?min_size=1", "/clusters?min_size=9999"],
    "/clusters/{name:path}": ["/clusters/large%2F000", "/clusters/bad%2F1"],
    "/pages/{page_id:path}": [
        "/pages/large%2F000",
        "/pages/bad%2F1",
        "/pages/bad%2F2",
        f"/pages/{'z' * 300}",
    ],
    "/compare": [
        "/compare",
        "/compare?left=bad%2F1&right=bad%2F2",
        "/compare?left=large%2F000&right=large%2F001",
    ],
    "/search": ["/search", "/search?q=ferry", "/search?q=%3Cscript%3E", "/search?q=nowhere"],
    "/overrides": ["/overrides"],
    "/review": ["/review", "/review?reader=mz"],
    "/tune": ["/tune", "/tune?preset=strict", "/tune?decision.thresholds.about_title=0.3"],
    "/jobs": ["/jobs"],
    "/jobs/{job_id}": ["/jobs/{job}"],
    "/sign-in": ["/sign-in"],
}
"""Addresses of each view."""
FILES: Final = {"/static/{name}", "/review/labels.jsonl"}
WRONG: Final = {"/pages/none": 404, "/nothing": 404, "/clusters?min_size=0": 400}
"""Addresses that lead to an error, with its status."""


def test_each_view_is_listed_here() -> None:
    modules = [import_module(each.name) for each in iter_modules(serve.__path__, "es_dedup.serve.")]
    routers = [
        each.router for each in modules if getattr(each, "router", None) and each.router.prefix == ROOT
    ]
    routes = [route for router in routers for route in router.routes if "GET" in route.methods]
    assert {route.path.removeprefix(ROOT) for route in routes} - FILES == set(VIEWS)


def test_each_view_is_shown_on_both_indices(either: Any, tab: Callable[..., Tab]) -> None:
    reader = signed_in(tab(either.address), either)
    for address in addresses(either):
        assert reader.show(f"/console{address}") == 200, address


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: "-".join(map(str, look.values())))
def test_views_can_be_read_by_everybody(api: Any, tab: Callable[..., Tab], look: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        axe = pytest.importorskip(
            "axe_playwright_python.sync_playwright", reason="install the extra browser"
        ).Axe()
    reader, found = signed_in(tab(api.address, **look), api, "write"), []
    for address, status in (dict.fromkeys(addresses(api), 200) | WRONG).items():
        assert reader.show(f"/console{address}") == status, address
        assert reader.page.locator("html").get_attribute("lang") == look["language"]
        if reader.beyond() > 0:
            found.append(f"{address[:40]}: {reader.beyond()} px wider than the window")
        if cut_tables(reader) and "bad" not in address and "min_size=1" not in address:
            found.append(f"{address[:40]}: a table is cut at the right")
        for violation in axe.run(reader.page).response["violations"]:
            nodes = "; ".join(node["html"][:200] for node in violation["nodes"][:3])
            found.append(f"{address[:40]}: {violation['id']}, {violation['help']}: {nodes}")
    assert found == []


def test_who_has_a_token_signs_in_and_out(api: Any, tab: Callable[..., Tab]) -> None:
    reader = tab(api.address)
    reader.show("/console/clusters?min_size=3")
    assert reader.path.startswith("/console/sign-in?to=")
    assert reader.page.evaluate("document.activeElement.name") == "token"
    reader.page.keyboard.type("x" * 43)
    reader.page.keyboard.press("Enter")
    assert "not known" in reader.page.get_by_role("alert").inner_text()
    reader.page.fill("[name=token]", api.tokens["read"])
    reader.page.get_by_role("button", name="Sign in").click()
    reader.page.wait_for_url("**/console/clusters?min_size=3")
    reader.page.get_by_role("button", name="Sign out").click()
    reader.page.wait_for_url("**/console/sign-in")
    reader.show("/console")
    assert reader.path.startswith("/console/sign-in")


def test_without_tokens_nobody_signs_in_or_out(tmp_path: Path, tab: Callable[..., Tab]) -> None:
    with serving(str(tmp_path / "pages.db"), tmp_path, require_token=False) as api:
        reader = tab(api.address)
        assert reader.show("/") == 200
        assert reader.path == "/console"
        assert reader.page.get_by_role("link", name="Clusters").count() == 1
        assert reader.page.get_by_role("button", name="Sign out").count() == 0


def test_keys(api: Any, tab: Callable[..., Tab]) -> None:
    reader = signed_in(tab(api.address), api)
    press = reader.page.keyboard.press
    reader.show("/console/clusters")
    names = reader.page.locator(".rows tbody tr td:nth-child(2) a").all_inner_texts()
    seen = []
    for key in ("j", "j", "k", "k"):
        press(key)
        seen.append(focused(reader))
    assert seen == [names[0], names[1], names[0], names[0]]
    press("j")
    press("Enter")
    reader.page.wait_for_url("**/console/clusters/*")
    reader.show("/console/clusters/large%2F000")
    press("m")
    reader.page.wait_for_url("**/console/clusters/*offset=200")
    press("/")
    assert reader.page.evaluate("document.activeElement.name") == "q"
    reader.page.keyboard.type("jn?k ferry")
    assert reader.page.locator("[name=q]").input_value() == "jn?k ferry"
    press("Enter")
    reader.page.wait_for_url("**/console/search?q=jn%3Fk+ferry")
    press("?")
    assert reader.page.locator("dialog[open] dt").count() >= 5
    press("j")
    assert focused(reader) == "Close"
    press("Escape")
    assert reader.page.locator("dialog[open]").count() == 0
    reader.show("/console/clusters")
    press("Tab")
    assert focused(reader) == "Skip to content"
    press("Enter")
    assert reader.page.evaluate("document.activeElement.id") == "content"


def test_decisions_in_a_cluster_hold_until_they_are_undone(either: Any, tab: Callable[..., Tab]) -> None:
    editor = signed_in(tab(either.address), either, "write")
    editor.show(f"/console/clusters/{quote('tug/1?x=<i>', safe='')}")
    for key, said, members, first in (
        ("n", "Never in one cluster", 1, "2026-03-03"),
        ("c", "Made canonical", 2, "2026-03-04"),
        ("y", "Always in one cluster", 2, "2026-03-03"),
    ):
        assert state(editor) == (2, "2026-03-03")
        if key == "n":
            editor.page.fill("[name=author]", "mz")
            editor.page.locator("h1").click()
        assert editor.page.locator("[name=author]").input_value() == "mz"  # it is remembered
        for pressed in ("j", "j"):
            editor.page.keyboard.press(pressed)
        with editor.page.expect_navigation():
            editor.page.keyboard.press(key)
        notice = editor.page.get_by_role("status")
        assert said in notice.inner_text()
        assert state(editor) == (members, first)
        with editor.page.expect_navigation():
            editor.page.keyboard.press("u")
        assert "Undone" in editor.page.get_by_role("status").inner_text()
    with editor.page.expect_navigation():
        editor.page.get_by_role("link", name="Overrides").click()
    assert "no reason given" in editor.page.locator(".rows tbody tr").first.inner_text()


def test_pairs_are_decided_where_they_are_compared_with_a_reason(api: Any, tab: Callable[..., Tab]) -> None:
    editor = signed_in(tab(api.address), api, "write")
    editor.show("/console/compare?left=tug%2F1%3Fx%3D%3Ci%3E&right=tug%2F2")
    assert editor.page.locator(".aligned").bounding_box()["y"] < 600  # texts come first
    fill(editor, "not the same", "mz")
    with editor.page.expect_navigation():
        editor.page.get_by_role("button", name="Never in one cluster").click()
    assert state(editor) == (1, "2026-03-03")
    with editor.page.expect_navigation():
        editor.page.get_by_role("link", name="Overrides").click()
    entry = editor.page.locator(".rows tbody tr").first
    assert "not the same" in entry.inner_text()
    entry.locator("summary").click()
    fill(editor, "a mistake", "lw")
    with editor.page.expect_navigation():
        entry.get_by_role("button", name="Undo").click()
    assert "lw a mistake" in editor.page.locator(".rows tbody tr").first.inner_text()


def test_on_a_narrow_window_each_value_has_its_label(api: Any, tab: Callable[..., Tab]) -> None:
    reader = signed_in(tab(api.address, width=420), api)
    reader.show("/console/clusters")
    label = "getComputedStyle(document.querySelector('.rows td:last-child'), '::before').content"
    assert "Lowest agreement" in reader.page.evaluate(label)


def test_a_reader_labels_pairs_by_keys(api: Any, tab: Callable[..., Tab]) -> None:
    editor = signed_in(tab(api.address), api, "write")
    editor.page.get_by_role("link", name="Review", exact=True).click()
    editor.page.fill("[name=reader]", "mz")
    editor.page.get_by_role("button", name="Start").click()
    pair, count = asked(editor), left(editor)
    for key in "nycpsu":
        with editor.page.expect_navigation():
            editor.page.keyboard.press(key)
        if key == "u":
            break
        assert left(editor) == count - 1
        with editor.page.expect_navigation():
            editor.page.keyboard.press("u")
        assert (asked(editor), left(editor)) == (pair, count)


def test_hostile_pages_are_text(api: Any, tab: Callable[..., Tab]) -> None:
    reader = signed_in(tab(api.address), api, "write")
    for address in (
        "/clusters/bad%2F1",
        "/pages/bad%2F1",
        "/pages/bad%2F2",
        "/compare?left=bad%2F1&right=bad%2F2",
    ):
        assert reader.show(f"/console{address}") == 200
        assert "<script>alert(1)</script>" in reader.page.locator("main").inner_text()
        assert reader.page.evaluate("document.scripts.length") == 1
        assert reader.page.locator("[onload]").count() == 0
        assert reader.page.locator("a[href^='javascript']").count() == 0
        text = reader.page.content()
        assert not re.search("[\x00\u202e\u2067]", text)
        assert len(text) < 200_000
    # what follows a right-to-left name stays where it is
    reader.show("/console/clusters/bad%2F1")
    left, right = (
        reader.page.locator(".rows tbody tr").first.locator("td").nth(at).bounding_box()["x"] for at in (1, 2)
    )
    assert left < right


def test_without_scripts_everything_but_the_keys_works(api: Any, browser: Any) -> None:
    context = browser.new_context(base_url=api.address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/console/search?q=ferry")
    page.fill("[name=token]", api.tokens["read"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Ferry aground").first.click()
    assert TEXT in page.locator("main").inner_text()
    context.close()


def addresses(api: Any) -> list[str]:
    """Addresses of all views."""
    return [each.format(job=api.job) for some in VIEWS.values() for each in some]


def signed_in(tab: Tab, api: Any, scope: str = "read") -> Tab:
    """The same tab, with a session."""
    tab.show("/console")
    tab.page.fill("[name=token]", api.tokens[scope])
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/console")
    return tab


def state(tab: Tab) -> tuple[int, str]:
    """How many pages a cluster has, and when its canonical document was published."""
    rows = tab.page.locator(".rows tbody tr")
    return rows.count(), rows.first.locator("time").inner_text()


def cut_tables(tab: Tab) -> int:
    """Tables of a list that are wider than the window."""
    wide = "[...document.querySelectorAll('.scroll:has(.rows)')].filter(each => each.scrollWidth > each.clientWidth)"
    found: int = tab.page.evaluate(f"{wide}.length")
    return found


def asked(tab: Tab) -> list[str]:
    """The pair that a reader is asked about."""
    found: list[str] = tab.page.locator("form.review [type=hidden]").evaluate_all(
        "fields => fields.map(field => field.value)"
    )
    return found


def left(tab: Tab) -> int:
    """Pairs that a reader is still asked."""
    text = tab.page.locator("main > p.note").last.inner_text()
    return int(text.rpartition(" · ")[2].split()[0])


def fill(tab: Tab, reason: str, author: str) -> None:
    """Fill the form that is open."""
    tab.page.locator("[name=reason]:visible").first.fill(reason)
    tab.page.locator("[name=author]:visible").first.fill(author)


def focused(tab: Tab) -> str:
    """Text of what has the focus."""
    found: str = tab.page.evaluate("document.activeElement.innerText")
    return found
