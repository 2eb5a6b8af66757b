"""Exact copies among pages that are known by their places, found before any features are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.text.content import content_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_dedup.model import Page


class DistinctPages:
    """The first of all pages with equal content and metadata, and their copies; the work then follows the distinct pages.

    Attributes:
        first: digest to the id of the first page.
        copies: id of each other page to that of the first one; empty pages are copies of none.
    """

    def __init__(self) -> None:
        self.first: dict[bytes, str] = {}
        self.copies: dict[str, str] = {}

    def of(self, pages: Iterable[Page]) -> Iterator[Page]:
        """The distinct ones of some pages."""
        for page in pages:
            first = page.id if page.is_empty else self.first.setdefault(page_digest(page), page.id)
            if first == page.id:
                yield page
            else:
                self.copies[page.id] = first


def page_digest(page: Page) -> bytes:
    """Equal for pages with equal content and metadata, whatever their ids."""
    text, html = (page.text, None) if page.has_text else (None, page.html)
    return content_digest(text, html, page.title, page.url, page.site, str(page.published), page.http_charset)
