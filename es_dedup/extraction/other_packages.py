"""Main-text methods of other packages, to compare with: the extra ``compare`` installs two of them.

They get the parsed page as markup: charset, limits, title and dates are ours; their own reading of bytes is not measured here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import lxml.html
from lxml import etree

from es_dedup.errors import ConfigError, MissingExtra
from es_dedup.extraction.blocks import read_blocks

if TYPE_CHECKING:
    from es_dedup.extraction.page_to_content import MainText
    from es_dedup.extraction.reading.document import Document
    from es_dedup.settings.loading import ExtractionConfig

EXTRA: Final = "compare"


def trafilatura_method() -> MainText:
    """``trafilatura.extract`` without comments.

    Raises:
        MissingExtra: trafilatura is not installed.
    """
    package = _load("trafilatura")

    def method(document: Document, config: ExtractionConfig) -> str:  # noqa: ARG001 - a method has both
        return package.extract(_markup(document), include_comments=False) or ""

    return method


def readability_method() -> MainText:
    """``readability.Document.summary``, the text of its markup.

    Raises:
        ConfigError: readability-lxml is not installed; no extra brings it, for its requirements break older installers.
    """
    try:
        package = import_module("readability")
    except ImportError as error:
        problem = "extraction.extractor = readability needs a package: pip install readability-lxml"
        raise ConfigError((problem,)) from error

    def method(document: Document, config: ExtractionConfig) -> str:  # noqa: ARG001 - a method has both
        summary = package.Document(_markup(document)).summary(html_partial=True)
        blocks = read_blocks(lxml.html.fromstring(summary or "<p></p>"))
        return "\n".join(blocks.text(place) for place in range(len(blocks.texts)))

    return method


def resiliparse_method() -> MainText:
    """``extract_plain_text(main_content=True)`` of Resiliparse.

    Raises:
        MissingExtra: Resiliparse is not installed.
    """
    package = _load("resiliparse.extract.html2text", "resiliparse")

    def method(document: Document, config: ExtractionConfig) -> str:  # noqa: ARG001
        text: str = package.extract_plain_text(_markup(document), main_content=True, preserve_formatting=True)
        return "\n".join(line for raw in text.splitlines() if (line := raw.strip()))

    return method


def _markup(document: Document) -> str:
    return etree.tostring(document.root, encoding="unicode", method="html")


def _load(module: str, package: str = "") -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        name = package or module
        raise MissingExtra(name, EXTRA, f"the extractor {name}") from error
