"""Chromium, driven by Playwright, for tests of pages in a browser."""

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
OPTIONS: Final = (
    "--no-sandbox",  # which root cannot have
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
SECONDS: Final = 60


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser of Playwright; the test is skipped, with the reason, where Playwright or Chromium is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that Playwright imports
        playwright = pytest.importorskip("playwright.sync_api", reason="install the extra browser")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("Chromium is not installed (Debian: chromium)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=OPTIONS)
        yield browser
        browser.close()


class Tab:
    """A tab of its own, without cookies of others, that notes what went wrong in it.

    Args:
        browser: from ``chromium``.
        address: of a server; those asked for are relative to it.
        width: of the window in pixels.
        scheme: ``light`` or ``dark``.
        language: as in ``Accept-Language``.

    Attributes:
        page: of Playwright.
        wrong: errors and warnings of the browser's console, errors of scripts, and dialogs that scripts opened.
    """

    def __init__(
        self, browser: Any, address: str, *, width: int = 1100, scheme: str = "light", language: str = "en"
    ) -> None:
        self.wrong: list[str] = []
        self._context = browser.new_context(
            base_url=address, viewport={"width": width, "height": 800}, color_scheme=scheme, locale=language
        )
        self._context.set_default_timeout(1000 * SECONDS)
        self.page = self._context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", self._asked)

    def close(self) -> None:
        """Close it."""
        self._context.close()

    def show(self, path: str) -> int:
        """Go to an address; the status of the answer."""
        answer = self.page.goto(path)
        assert answer is not None
        status: int = answer.status
        return status

    @property
    def path(self) -> str:
        """Where it is: path and query."""
        found: str = self.page.evaluate("location.pathname + location.search")
        return found

    def beyond(self) -> int:
        """Pixels by which the page is wider than the window."""
        found: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return found

    def _said(self, message: Any) -> None:
        own_status = message.location["url"] == self.page.url and "the server responded" in message.text
        if message.type in {"error", "warning"} and not own_status:
            self.wrong.append(message.text)

    def _asked(self, dialog: Any) -> None:
        self.wrong.append(dialog.message)
        dialog.dismiss()
