"""Main-text methods of other packages: they get the parsed page as markup.

Charset, limits, title and dates are those of es-dedup; how these packages read bytes themselves is not measured.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

import lxml.html
from lxml import etree

from es_dedup.extraction.blocks import read_blocks

if TYPE_CHECKING:
    from es_dedup.extraction import Document, MainText
    from es_dedup.settings.loading import ExtractionConfig


def trafilatura(document: Document, config: ExtractionConfig) -> str:  # noqa: ARG001 - a method has both
    """``trafilatura.extract`` without comments."""
    text: str = import_module("trafilatura").extract(_markup(document), include_comments=False) or ""
    return text


def readability(document: Document, config: ExtractionConfig) -> str:  # noqa: ARG001
    """``readability.Document.summary``, the text of its markup."""
    summary = import_module("readability").Document(_markup(document)).summary(html_partial=True)
    blocks = read_blocks(lxml.html.fromstring(summary or "<p></p>"))
    return "\n".join(blocks.text(place) for place in range(len(blocks.texts)))


def resiliparse(document: Document, config: ExtractionConfig) -> str:  # noqa: ARG001
    """``extract_plain_text(main_content=True)`` of Resiliparse."""
    package = import_module("resiliparse.extract.html2text")
    text: str = package.extract_plain_text(_markup(document), main_content=True, preserve_formatting=True)
    return "\n".join(line for raw in text.splitlines() if (line := raw.strip()))


PEERS: Final[dict[str, MainText]] = {
    "trafilatura": trafilatura,
    "readability": readability,
    "resiliparse": resiliparse,
}
"""Methods by the name of their package, in the order of tables."""


def _markup(document: Document) -> str:
    return etree.tostring(document.root, encoding="unicode", method="html")
