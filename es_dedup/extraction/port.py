"""The port of extraction: any object with this method turns raw pages into content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from es_dedup.model import Content, Skipped


class Extractor(Protocol):
    """Turns one HTML page into content."""

    name: str

    def extract(
        self, html: bytes | str, *, url: str | None = None, http_charset: str | None = None
    ) -> Content | Skipped:
        """Main text and metadata of a page, or why there is none.

        Args:
            html: bytes as served (any length, any bytes), or decoded HTML.
            url: where the page was found; used for the site and to resolve a relative canonical URL.
            http_charset: charset from the HTTP header, if known.

        Returns:
            Content with text, or ``Skipped`` with a reason such as ``binary``, ``empty``, ``timeout``. Never raises for
            what the page holds; what exceeds the limits is cut, and ``Content.notes`` says so.
        """
