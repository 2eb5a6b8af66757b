"""The addresses that a page names: its own, its site's and that of its next part."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from es_dedup.compiled import worthwhile

if TYPE_CHECKING:
    from es_dedup.extraction.reading.markup import Tags

MAX_URL_CHARS: Final = 2_000

_REST: Final = rb"""\s{0,9}=\s{0,9}["']?[^"'<>]{0,80}(?:next|Next|NEXT)"""
_SOME_NEXT: Final = re.compile(rb"rel" + _REST)  # what begins with letters is found faster
_SOME_NEXT_CAPITALS: Final = re.compile(rb"REL" + _REST)
_NEXT: Final = (b"next", b"Next", b"NEXT")


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


def canonical_url(tags: Tags, metas: dict[str, str], url: str | None) -> str | None:
    """The first usable address among ``link rel=canonical`` and ``og:url``, made absolute with ``url``."""
    written = tags.attributes
    links = (
        attributes.get("href")
        for place in tags.places("link")
        if b"canonical" in written[place].lower()
        and "canonical" in (attributes := tags.attributes_at(place)).get("rel", "").lower().split()
    )
    for candidate in chain(links, (metas.get("og:url"),)):
        if candidate and (absolute := _absolute(candidate.strip(), url)):
            return absolute
    return None


def next_page_of(tags: Tags, url: str | None) -> str | None:
    """The absolute address of the first link or anchor with ``rel=next``, if it is usable."""
    if not worthwhile(0) and not _says_next(tags.markup):
        return None  # without kernels that is seen faster than each of the words
    for place in tags.places_with(_NEXT, len(tags)):
        if _says_next(tags.attributes[place]) and tags.name_at(place) in ("a", "link"):
            attributes = tags.attributes_at(place)
            if "next" in attributes.get("rel", "").lower().split():
                return _absolute(attributes.get("href", "").strip(), url)
    return None


def _says_next(written: bytes) -> bool:
    return bool(_SOME_NEXT.search(written) or (b"REL" in written and _SOME_NEXT_CAPITALS.search(written)))


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
