"""Text for browsers without scripts, or in the open shadow of an element: a second tree in which it stands in ordinary elements."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.document import Document

if TYPE_CHECKING:
    from lxml.etree import _Element

MIN_CHARS: Final = 80
"""A shorter text for browsers without scripts asks to turn scripts on."""

_TAGS: Final = ("noscript", "template")
_SHADOW: Final = ("shadowrootmode", "shadowroot")
_ASKS_FOR_SCRIPTS: Final = re.compile(r"java\s?script|浏览器|瀏覽器|your browser", re.IGNORECASE)


def with_hidden_content(document: Document) -> Document | None:
    """The page with such parts as ordinary elements; None where it has none."""
    if not any(map(_opens, document.root.iter(*_TAGS))):
        return None
    root = copy.deepcopy(document.root)
    for element in [*root.iter(*_TAGS)]:
        if _opens(element):
            element.tag = "div"
    return Document(root, url=document.url, charset=document.charset, notes=document.notes)


def _opens(element: _Element) -> bool:
    if element.tag == "template":
        return any(element.get(name) is not None for name in _SHADOW)
    return len(element) > 0 or bool(element.text and element.text.strip())


def is_worth(text: str, before: str) -> bool:
    """The text found there is one, and longer by far than what was found before."""
    if len(text) < max(MIN_CHARS, 2 * len(before)):
        return False
    return len(text) > 4 * MIN_CHARS or not _ASKS_FOR_SCRIPTS.search(text)
