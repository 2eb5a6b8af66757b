"""One page from bytes to content: decode, parse, choose the main text, read the metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from es_dedup.extraction.language import language_of
from es_dedup.extraction.metadata.addresses import canonical_url, site_of, storable
from es_dedup.extraction.metadata.publication_time import published_of
from es_dedup.extraction.metadata.titles import title_of
from es_dedup.extraction.reading.document import Document, read_document
from es_dedup.extraction.reading.feeds import is_sitemap
from es_dedup.extraction.reading.hidden_content import is_worth, with_hidden_content
from es_dedup.extraction.reading.parser_limits import Deadline, DeadlineExceeded, binary_kind
from es_dedup.model import NO_MAIN_TEXT, Content, PageKind, Skipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.settings.loading import ExtractionConfig

_ERROR_CHARS = 2_000
_ERROR_TITLE = re.compile(
    r"(?:(?:http |error |status )?[45]\d\d\b.{0,3}(?:bad request|unauthorized|forbidden|gone|too many requests|not found|internal server error|"
    r"bad gateway|service (?:temporarily )?unavailable|gateway time-?out)|bad gateway|service unavailable|gateway time-?out|internal server error|"
    r"access denied|just a moment)[.!…]{0,3}(?:$| [|-])",
    re.IGNORECASE,
)
_LITTLE_CHARS = 200
_NO_TEXT_CHARS = 80
_LEADS_ON = re.compile(r"^\s*\d{1,2}\s*[;,]\s*url\s*=\s*['\"]?([^'\"\s]{1,2000})", re.IGNORECASE)
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """Blocks chosen as main text.

    Attributes:
        places: places in ``Document.blocks``, ascending.
        kind: what the page is.
        text: the text, where it does not come from the blocks.
        doubt: what makes it likely that this is not the main text, or not all of it; becomes a note of the content.
    """

    places: Sequence[int]
    kind: PageKind = PageKind.ARTICLE
    text: str = ""
    doubt: str = ""

    def main_text(self, document: Document) -> str:
        """One line for each block, and for each line of preformatted text."""
        return self.text or "\n".join(filter(None, (document.lines[place] for place in self.places)))


class MainText(Protocol):
    """A method that chooses the main text of a parsed page."""

    def __call__(self, document: Document, config: ExtractionConfig) -> str | Choice:
        """Main text with paragraph breaks as newlines, empty when the page has no text; or the blocks chosen."""


class HtmlExtractor:
    """Reads HTML with one main-text method. Holds no state between pages; safe to share between threads.

    Args:
        name: of the method, for reports.
        method: chooses the main text.
        config: limits and options.
    """

    def __init__(self, name: str, method: MainText, config: ExtractionConfig) -> None:
        self.name = name
        self._method = method
        self._config = config

    def extract(
        self, html: bytes | str, *, url: str | None = None, http_charset: str | None = None
    ) -> Content | Skipped:
        """Main text and metadata of a page, or why there is none.

        Args:
            html: bytes as served (any length, any bytes), or decoded HTML. Text without any tag is taken as it is.
            url: where the page was found; used for the site and to resolve a relative canonical URL.
            http_charset: charset from the HTTP header, if known.

        Returns:
            Content with text, or ``Skipped``: ``binary`` (detail: the kind), ``empty`` (nothing to read), ``timeout``.
            Never raises for what the page holds.
        """
        deadline = Deadline(self._config.max_seconds)
        url = storable(url)
        notes: list[str] = []
        limit = self._config.max_bytes
        if len(html) > limit:
            notes.append(f"longer than {limit} bytes, the rest was cut")
            html = html[:limit]
        head = html[:64] if isinstance(html, bytes) else html[:64].encode("latin-1", "replace")
        if kind := binary_kind(html if isinstance(html, bytes) else head):
            return Skipped("binary", kind)
        if is_sitemap(html if isinstance(html, bytes) else head):
            return Skipped("empty", "a sitemap")
        try:
            document = read_document(html, self._config, deadline, url=url, http_charset=http_charset)
            if document is None:
                return Skipped("empty", "no markup and no text")
            return self._content(document, notes, deadline)
        except DeadlineExceeded:
            return Skipped("timeout", f"more than {self._config.max_seconds:g} s")

    def _content(self, document: Document, notes: list[str], deadline: Deadline) -> Content | Skipped:
        document, choice = self._choose(document)
        text = choice.main_text(document)
        deadline.check()
        address = canonical_url(document) or document.url
        site = site_of(address)
        title = title_of(document, site)
        # days in the text of a page that leads elsewhere are those of other pages
        published = published_of(document, address, title, is_list=choice.kind is PageKind.LIST)
        if len(text) <= _ERROR_CHARS and _ERROR_TITLE.match(title):
            return Skipped("empty", f"the error page of a server: {title}")
        if len(text) < _LITTLE_CHARS and (target := _LEADS_ON.search(document.metas.get("refresh", ""))):
            return Skipped("empty", f"the page leads on to {target[1][:_SHOWN_CHARS]}")
        if not text:
            named = f": {title}" if title else ""
            if choice.kind is PageKind.EMPTY and document.blocks.texts:
                return Skipped(NO_MAIN_TEXT, f"only notices in the page{named}")
            return Skipped("empty", f"no text in the page{named}")
        return Content(
            text=text,
            title=title,
            language=language_of(text),
            url=address,
            site=site,
            published=published,
            charset=document.charset,
            notes=(*notes, *document.notes, *filter(None, [choice.doubt])),
            kind=choice.kind,
        )

    def _choose(self, document: Document) -> tuple[Document, Choice]:
        """The page with its choice; with the parts for browsers without scripts, where its text stands in them."""
        choice = self._choice(document)
        text = choice.main_text(document)
        if len(text) < _NO_TEXT_CHARS and (opened := with_hidden_content(document)):
            other = self._choice(opened)
            if is_worth(other.main_text(opened), text):
                return opened, other
        return document, choice

    def _choice(self, document: Document) -> Choice:
        found = self._method(document, self._config)
        return found if isinstance(found, Choice) else Choice((), text=found)
