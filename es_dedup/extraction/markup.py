"""Texts that are HTML: what a field for the body of an article often holds."""

from __future__ import annotations

from typing import Final

from es_dedup import lazy

_PAGE: Final = lazy.pattern(r"\s*+(?:<!--(?:[^-]|-(?!->)){0,2000}+-->\s*+)?+<(?i:!doctype\s+html|html)\b")
_FRAGMENT: Final = lazy.pattern(
    r"\s*+<(?i:!--|(?:a|article|aside|b|blockquote|br|center|dd|div|dl|em|figure|font|footer|h[1-6]|header|hr|i|img|li|main|ol|p|pre|section|"
    r"small|span|strong|table|tbody|td|tr|u|ul|video)[\s/>])"
)


def is_html_page(text: str) -> bool:
    """Whether a text is a whole page of HTML."""
    return _PAGE.match(text) is not None


def is_html(text: str) -> bool:
    """Whether a text is a page of HTML, or a fragment: it begins with an element and has an end tag."""
    return is_html_page(text) or (_FRAGMENT.match(text) is not None and "</" in text)
