"""Ids made from content for pages that are known by their places, and exact copies among them, found before any features are made."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.text.content import content_digest, content_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_dedup.model import Page


class DistinctPages:
    """Ids of pages, made from their content, so that what is sampled by id, and ties that ids decide, are the same in every order of input.

    Pages with equal content and metadata have one id. Of pages with equal texts and titles but other metadata the first one comes
    first in the order of ids.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._of_content: Counter[str] = Counter()

    def id_of(self, page: Page) -> tuple[str, bool]:
        """The id of a page, and whether it is the first one with this id; an empty page is a copy of none."""
        content, digest = _digests(page)
        number = None if page.is_empty else self._numbers.get(digest)
        if first := number is None:
            number = self._numbers[digest] = self._of_content[content]
            self._of_content[content] += 1
        return _id(content, number), first

    def first_pages(
        self, pages: Iterable[Page], note_id: Callable[[str], None] = lambda _: None
    ) -> Iterator[Page]:
        """The first page with each id, under that id; ``note_id`` is called with the id of every page."""
        for page in pages:
            page_id, first = self.id_of(page)
            note_id(page_id)
            if first:
                yield replace(page, id=page_id)

    def id_again(self, page: Page) -> tuple[str, bool]:
        """What ``id_of`` said of a page, when all but the empty ones are read once more in the same order.

        Raises:
            KeyError: it is another page.
        """
        content, digest = _digests(page)
        number = self._numbers[digest]
        if first := number >= 0:
            self._numbers[digest] = ~number  # below 0: read again
        return _id(content, number if first else ~number), first


def page_digest(page: Page) -> bytes:
    """Equal for pages with equal content and metadata, whatever their ids."""
    return _digests(page)[1]


def _digests(page: Page) -> tuple[str, bytes]:
    """The id of content and title, as readers give it to records without one, and the digest of these and all other metadata."""
    text, html = (page.text, None) if page.has_text else (None, page.html)
    content = content_id(html or text or "", page.title)
    metadata = page.url, page.site, str(page.published), page.http_charset
    return content, content_digest(content, "" if text is None else "text", *metadata)


def _id(content: str, number: int) -> str:
    return f"{content}-{number:09}" if number else content
