"""Fields of a review, and jobs that are followed, in Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.test_console import signed_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browsing import Tab

pytestmark = pytest.mark.browser
PAIR = "/console/review?reader=mz&left=large%2F000&right=tug%2F2"


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
