"""The addresses that a page names: its own and its site's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from es_dedup.extraction.reading.document import Document

MAX_URL_CHARS: Final = 2_000


def storable(url: str | None) -> str | None:
    """A caller's address with a question mark in the place of each half of a surrogate pair."""
    return url and url.encode("utf-8", "replace").decode()


def site_of(url: str | None) -> str:
    """Host of a URL in lower case without ``www.`` and port; empty when there is none."""
    try:
        host = urlsplit(url or "").hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")


def canonical_url(document: Document) -> str | None:
    """The first usable address among ``link rel=canonical`` and ``og:url``, made absolute with that of the page."""
    links = (
        element.get("href", "").strip()
        for element in document.declaring
        if element.tag == "link" and "canonical" in element.get("rel", "").lower().split()
    )
    for candidate in (*links, document.metas.get("og:url", "")):
        if candidate and (absolute := _absolute(candidate, document.url)):
            return absolute
    return None


def _absolute(candidate: str, url: str | None) -> str | None:
    if len(candidate) > MAX_URL_CHARS or len(candidate.split()) > 1:
        return None
    try:
        absolute = urljoin(url or "", candidate)
        parts = urlsplit(absolute)
        usable = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        return None
    return absolute if usable else None
