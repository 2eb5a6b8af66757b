"""Main-text methods of other packages behind our seam, to compare with: the extra ``compare`` installs them.

They get the markup without scripts: charset, limits, title and dates are ours; their own reading of bytes is not measured here.
"""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import MissingExtra

if TYPE_CHECKING:
    from es_dedup.config import ExtractionConfig
    from es_dedup.extraction.page import MainText
    from es_dedup.extraction.reading.document import Document

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
    return f"<title>{escape(document.title)}</title>{document.tags.markup.decode('utf-8', 'ignore')}"


def _load(module: str, package: str = "") -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        name = package or module
        raise MissingExtra(name, EXTRA, f"the extractor {name}") from error
