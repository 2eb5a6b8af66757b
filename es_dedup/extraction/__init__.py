"""HTML bytes to content: charset, limits, main text, metadata.

``extract`` reads one page with given settings; ``create_extractor`` gives the object to keep for many pages. The methods
that choose the main text are ``blocks`` (default, a trained model), ``topic`` (the published DOM-block method) and ``plain`` (all text).

Traps:
    - ``extract`` always returns ``Content``; ``HtmlExtractor.extract`` returns ``Skipped`` for pages without text.
    - A compressed body is binary here: undo the transfer encoding first.
    - Declared charsets only break ties; ``Content.notes`` says when one was overruled.
    - Text given as ``str`` is taken as decoded: a charset declared inside it means nothing.
"""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.extraction.page_to_content import Choice, HtmlExtractor, MainText
    from es_dedup.extraction.reading.document import Document
    from es_dedup.extraction.registry import (
        DEFAULT_EXTRACTOR,
        create_extractor,
        extract,
        extractor_names,
        kept_extractor,
        register,
        visible_text,
    )

__all__ = [
    "DEFAULT_EXTRACTOR",
    "Choice",
    "Document",
    "HtmlExtractor",
    "MainText",
    "create_extractor",
    "extract",
    "extractor_names",
    "kept_extractor",
    "register",
    "visible_text",
]

# Who has texts needs neither the parser nor the model.
if not TYPE_CHECKING:
    __getattr__ = lazy.attributes(__name__)
