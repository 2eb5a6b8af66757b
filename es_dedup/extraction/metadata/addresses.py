"""The addresses that a page names: its own, its site's and that of its next part."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

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


def canonical_url(root: HtmlElement, metas: dict[str, str], url: str | None) -> str | None:
    """The first usable address among ``link rel=canonical`` and ``og:url``, made absolute with ``url``."""
    for candidate in chain(_related(root, "canonical", "link"), (metas.get("og:url", ""),)):
        if candidate and (absolute := _absolute(candidate, url)):
            return absolute
    return None


def next_page_of(root: HtmlElement, url: str | None) -> str | None:
    """The absolute address of the first link or anchor with ``rel=next``, if it is usable."""
    candidate = next(_related(root, "next", "link", "a"), None)
    return _absolute(candidate, url) if candidate is not None else None


def _related(root: HtmlElement, relation: str, *tags: str) -> Iterator[str]:
    """Addresses of elements with a relation, in page order."""
    for element in root.iter(*tags):
        related = element.get("rel")
        if related and relation in related.lower().split():
            yield (element.get("href") or "").strip()


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
