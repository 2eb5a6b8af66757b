"""Texts that are HTML: what a field for the body of an article often holds."""

from __future__ import annotations

import html
from typing import Final

from es_dedup import lazy

_PAGE: Final = lazy.pattern(r"\s*+(?:<!--(?:[^-]|-(?!->)){0,2000}+-->\s*+)?+<(?i:!doctype\s+html|html)\b")
_ELEMENT: Final = lazy.pattern(
    r"\s*+<(?i:!--|(?:a|article|aside|b|blockquote|body|br|center|dd|div|dl|em|figure|font|footer|h[1-6]|header|hr|html|i|img|li|main|ol|p|pre|"
    r"section|small|span|strong|table|tbody|td|tr|u|ul|video)[\s/>])"
)
_TAG: Final = lazy.pattern(r"</?[a-zA-Z][^<>]*+>")
_REFERENCE: Final = lazy.pattern(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
_MARKUP_SHARE: Final = 3  # of the characters one in so many stands in tags: prose about HTML has fewer


def is_html_page(text: str) -> bool:
    """Whether a text is a whole page of HTML."""
    return _PAGE.match(text) is not None


def fragment_of(text: str) -> str | None:
    """A text that is a fragment of HTML, without escapes where its brackets are escaped; None for any other text.

    A fragment has end tags, and begins with an element or has a third of its characters in tags.
    """
    if text.lstrip()[:4] == "&lt;":
        text = html.unescape(text)
    if "</" not in text:
        return None
    if _ELEMENT.match(text) or _MARKUP_SHARE * sum(map(len, _TAG.findall(text))) >= len(text):
        return text
    return None


def without_references(text: str) -> str:
    """A text with the characters that references of HTML (``&nbsp;``, ``&#36817;``) stand for; those without a semicolon stay, as addresses hold them."""
    if "&" not in text:
        return text
    return _REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)
