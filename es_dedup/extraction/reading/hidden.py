"""Text that a browser would not show, or not yet: a second tree in which it stands in ordinary elements.

It is meant for those without scripts or frames, or stands in a frame of the page itself, in the open shadow of an element, or as
Markdown in a field from which a script draws it.
"""

from __future__ import annotations

import copy
import re
from html import escape
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.document import Document, parse

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from es_dedup.extraction.reading.guard import Deadline
    from es_dedup.settings.loading import ExtractionConfig

MIN_CHARS: Final = 80
"""A shorter text for browsers without scripts asks to turn scripts on."""

_LINES: Final = 2  # of Markdown in a field; letters and terms to agree with are written in one
_SHADOW: Final = ("shadowrootmode", "shadowroot")
_ASKS_FOR_SCRIPTS: Final = re.compile(r"java\s?script|浏览器|瀏覽器|your browser", re.IGNORECASE)


def with_hidden_content(document: Document, config: ExtractionConfig, deadline: Deadline) -> Document | None:
    """The page with such parts as ordinary elements; None where it has none.

    Raises:
        DeadlineExceeded: the time is up.
    """
    if not any(map(_opens, document.root.iter("noscript", "noframes", "iframe", "template", "textarea"))):
        return None
    root = copy.deepcopy(document.root)
    for element in [*root.iter("noscript", "noframes", "iframe", "template", "textarea")]:
        if not _opens(element):
            continue
        if element.tag in ("iframe", "noframes", "textarea"):
            inner, _ = parse(_markup(element).encode("utf-8", "replace"), config, deadline)
            element.text = None
            if inner is not None:
                inner.tag = "div"
                element.append(inner)
        element.tag = "div"
    for frames in root.iter("frameset"):
        frames.tag = "div"
    return Document(root, url=document.url, charset=document.charset, notes=document.notes)


def _markup(element: HtmlElement) -> str:
    """What stands in a frame; the lines of a field as paragraphs."""
    if element.tag == "iframe":
        return element.get("srcdoc") or ""
    text = element.text or ""
    if element.tag == "noframes":
        return text
    return "".join(f"<p>{escape(line)}</p>" for line in text.split("\n") if line.strip())


def _opens(element: HtmlElement) -> bool:
    if element.tag == "iframe":
        return bool(element.get("srcdoc"))
    if element.tag == "template":
        return any(element.get(name) is not None for name in _SHADOW)
    if element.tag == "textarea":
        return sum(bool(line.strip()) for line in (element.text or "").split("\n")) >= _LINES
    return len(element) > 0 or bool(element.text and element.text.strip())


def is_worth(text: str, before: str) -> bool:
    """The text found there is one, and longer by far than what was found before."""
    if len(text) < max(MIN_CHARS, 2 * len(before)):
        return False
    return len(text) > 4 * MIN_CHARS or not _ASKS_FOR_SCRIPTS.search(text)
