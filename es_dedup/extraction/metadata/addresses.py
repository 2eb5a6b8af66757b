"""The addresses that a page names: its own, its site's and that of its next part."""

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
    for candidate in (*_related(document, "canonical", "link"), document.metas.get("og:url", "")):
        if candidate and (absolute := _absolute(candidate, document.url)):
            return absolute
    return None


def next_page_of(document: Document) -> str | None:
    """The absolute address of the first link or anchor with ``rel=next``, if it is usable."""
    candidates = _related(document, "next", "link", "a")
    return _absolute(candidates[0], document.url) if candidates else None


def _related(document: Document, relation: str, *tags: str) -> list[str]:
    """Addresses of elements with a relation, in page order."""
    return [
        element.get("href", "").strip()
        for element in document.declaring
        if element.tag in tags and relation in element.get("rel", "").lower().split()
    ]


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
