"""Fields of a review, and jobs that are followed, in Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from es_dedup import Deduplicator
from tests import samples
from tests.browser.test_console import signed_in
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browsing import Tab

pytestmark = pytest.mark.browser
PAIR = "/console/review?reader=mz&left=large%2F000&right=tug%2F2"
ANSWERS: Final = "ynnycpnyny"
LOADED: Final = """() => {
  const [asked] = performance.getEntriesByType("navigation");
  return asked.loadEventEnd - asked.startTime;
}"""
"""Milliseconds from asking for a page until it was loaded."""


def test_keys_in_a_field_are_text_and_enter_answers_nothing(api: Any, tab: Callable[..., Tab]) -> None:
    editor = signed_in(tab(api.address), api, "write")
    editor.show(PAIR)
    editor.page.locator("form.review summary").click()
    editor.page.locator("form.review [name=reason]").fill("")
    editor.page.locator("form.review [name=reason]").focus()
    editor.page.keyboard.type("yncpsu")
    editor.page.keyboard.press("Enter")
    editor.page.wait_for_timeout(300)
    assert editor.page.locator("form.review [name=reason]").input_value() == "yncpsu"
    assert editor.path == PAIR


def test_a_job_is_followed_without_loading_the_page_again(api: Any, tab: Callable[..., Tab]) -> None:
    editor = signed_in(tab(api.address), api, "write")
    editor.show("/console/tune?preset=strict")
    editor.page.get_by_role("button", name="Dry run on the whole index").click()
    editor.page.wait_for_url("**/console/jobs/*")
    editor.page.get_by_text("clusters_before").wait_for()
    assert "done" in editor.page.locator("#jobs").inner_text()


def test_ten_pairs_are_answered_by_ten_keys(
    tmp_path: Path, tab: Callable[..., Tab], record_property: Callable[[str, object], None]
) -> None:
    """From the start of the review with the keyboard alone: a key and a page for each pair; times are recorded, not judged."""
    place = tmp_path / "pages.db"
    with Deduplicator.open(place) as dedup:
        dedup.scan(samples.pages())
    with serving(str(place), tmp_path / "server") as api:
        editor = signed_in(tab(api.address), api, "write")
        page, keyboard = editor.page, editor.page.keyboard
        loads: list[float] = []
        page.on("load", lambda _: loads.append(round(page.evaluate(LOADED))))
        editor.show("/console/review")
        tabs = 0
        while page.evaluate("document.activeElement.name") != "reader":
            keyboard.press("Tab")
            tabs += 1
        keyboard.type("mz")
        keyboard.press("Enter")
        page.wait_for_selector("form.review")
        loads.clear()
        for answered, key in enumerate(ANSWERS, 1):
            left = page.locator("p.note").last.inner_text()
            with page.expect_navigation():
                keyboard.press(key)
            assert page.locator("p.note").last.inner_text() != left
            saved = page.request.get(f"{api.address}/console/review/labels.jsonl")
            assert len(saved.text().splitlines()) == answered
        page.wait_for_load_state("load")
        assert len(loads) in (len(ANSWERS), len(ANSWERS) - 1)  # the last one may be told later
        record_property("tabs to the name", tabs)
        record_property("ms of each load", loads)
        print(f"{len(ANSWERS)} pairs, {len(ANSWERS)} keys; {tabs} tabs to the name; ms of each load: {loads}")
