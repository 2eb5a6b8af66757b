"""HTML bytes to content: charset, limits, main text, metadata.

``extract`` reads one page with given settings; ``create_extractor`` gives the object to keep for many pages. The methods
that choose the main text are ``blocks`` (default, a trained model), ``topic`` (the published DOM-block method) and ``plain`` (all text).

Traps:
    - ``extract`` always returns ``Content``; ``Extractor.extract`` returns ``Skipped`` for pages without text.
    - A compressed body is binary here: undo the transfer encoding first.
    - Declared charsets only break ties; ``Content.notes`` says when one was overruled.
    - Text given as ``str`` is taken as decoded: a charset declared inside it means nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.errors import wrong_type
from es_dedup.extraction.main_text import Choice
from es_dedup.extraction.metadata.addresses import site_of, storable
from es_dedup.extraction.page_to_content import HtmlExtractor, MainText
from es_dedup.extraction.port import Extractor
from es_dedup.extraction.reading.document import Document
from es_dedup.extraction.registry import DEFAULT_EXTRACTOR, create_extractor, extractor_names, register
from es_dedup.model import Content, PageKind, Skipped

if TYPE_CHECKING:
    from es_dedup.settings.loading import ExtractionConfig

__all__ = [
    "DEFAULT_EXTRACTOR",
    "Choice",
    "Document",
    "Extractor",
    "HtmlExtractor",
    "MainText",
    "create_extractor",
    "extract",
    "extractor_names",
    "register",
]


def extract(
    html: bytes | str,
    *,
    url: str | None = None,
    http_charset: str | None = None,
    config: ExtractionConfig | None = None,
    explain: bool = False,
) -> Content:
    """Main text and metadata of one page.

    Args:
        html: bytes as served (any length, any bytes), or decoded HTML.
        url: where the page was found; used for the site and to resolve a relative canonical URL.
        http_charset: charset from the HTTP header, if known.
        config: limits and the method; None: the defaults.
        explain: note for each block why it was kept or dropped, in ``Content.why``.

    Returns:
        Content always. For a page that cannot be used its text is empty and its notes give the reason
        (``skipped: binary (PDF)``); use ``create_extractor(config).extract`` to get ``Skipped`` instead.

    Raises:
        ConfigError: the settings name an unknown extractor, or a block model that cannot be read.
        TypeError: ``html`` is neither bytes nor a string.
    """
    if not isinstance(html, bytes | str):
        raise wrong_type("html", "bytes or a string", html, "Path.read_bytes() reads a file")
    found = create_extractor(config).extract(html, url=url, http_charset=http_charset, explain=explain)
    if isinstance(found, Skipped):
        url, detail = storable(url), f" ({found.detail})" if found.detail else ""
        return Content(
            "", url=url, site=site_of(url), notes=(f"skipped: {found.reason}{detail}",), kind=PageKind.EMPTY
        )
    return found
