"""What a page says of itself: title, address, site and time of publication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_dedup.extraction.metadata.addresses import canonical_url, site_of
from es_dedup.extraction.metadata.publication_time import published_of
from es_dedup.extraction.metadata.titles import title_of

if TYPE_CHECKING:
    from datetime import datetime

    from es_dedup.extraction.reading.document import Document


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says of itself.

    Attributes:
        title: without the site's name; may be empty.
        url: canonical URL when the page names a usable one, else the URL given.
        site: host of that URL without ``www.``; empty when unknown.
        published: time of publication; naive when the page names no zone.
    """

    title: str
    url: str | None
    site: str
    published: datetime | None


def read_metadata(document: Document, *, is_list: bool = False) -> Metadata:
    """Read a page's metadata; whatever is missing or malformed is left out.

    Args:
        document: the page.
        is_list: the page leads elsewhere; days in its text are those of other pages.
    """
    address = canonical_url(document) or document.url
    site = site_of(address)
    title = title_of(document, site)
    return Metadata(
        title=title,
        url=address,
        site=site,
        published=published_of(document, address, title, is_list=is_list),
    )
