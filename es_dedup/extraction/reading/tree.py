"""The flat list of tags from the tree of lxml: libxml2 says what is open and what is closed.

The tree is written out again, with an end for every element, and these tags are listed: a loop over elements in Python costs four times as
much. Everything behind ``Tags`` is shared with ``markup.cut``.
"""

from __future__ import annotations

import re
from typing import Final

from lxml import etree

from es_dedup.extraction.reading.guard import MAX_TAG_CHARS
from es_dedup.extraction.reading.markup import ROOT, CutTags

MAX_TREE_DEPTH: Final = 2_000
"""Inline elements count too. libxml2 keeps nothing below 2,048."""

MAX_TREE_ATTRIBUTES: Final = 500
"""Of one tag. libxml2 takes the square of their number."""

# Tags by the letter of the HTML standard, as libxml2 reads since 2.14: one that has few attributes here has few there. What is no tag, or is
# followed by text that is no markup, would break step; trimming takes nearly all of it out.
_ATTRIBUTE: Final = rb"""(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_TAG: Final = re.compile(rb"</?[a-zA-Z][^\s/>]*+(?:[\s/]++|%b)*+" % _ATTRIBUTE)
_NO_TAG: Final = re.compile(
    rb"<(?:[!?]|/[^a-zA-Z]|(?:iframe|noembed|noframes|noscript|plaintext|script|style|textarea|title|xmp)(?=[\s/>]))",
    re.IGNORECASE,
)
_WRITTEN: Final = re.compile(rb"<(/?[^\s/>]++)([^>]*+)>")  # in values and texts libxml2 writes ``&gt;``
_ROOT_TAG: Final = re.compile(rb"<(/?)(?:html|body)(?=[\s/>])[^>]*+>", re.IGNORECASE)
_NO_CHARACTER: Final = re.compile("[\0-\x08\x0b\x0e-\x1f\udc80-\udcff]")
_INVISIBLE: Final = "\u00ad"
_SLASH: Final = ord("/")


def read_tree(markup: bytes) -> CutTags | None:
    """Tags of start and end of every element, in page order.

    Args:
        markup: trimmed, in UTF-8.

    Returns:
        None for a page that libxml2 would read slowly or not to its end, or that might be one: a tag is longer than ``MAX_TAG_CHARS``
        bytes and has more than ``MAX_TREE_ATTRIBUTES``, elements are nested deeper than ``MAX_TREE_DEPTH``, comments or raw text are left.
    """
    sound = _sound(markup)
    if _NO_TAG.search(sound) or any(
        len(tag) > MAX_TAG_CHARS and len(_ATTRIBUTES.findall(tag)) > MAX_TREE_ATTRIBUTES
        for tag in _TAG.findall(sound)
    ):
        return None
    written = ROOT + _parsed(sound)
    tags = CutTags(markup, _WRITTEN.split(written), {})
    return None if written.count(b"<") > MAX_TREE_DEPTH and _depth(tags) > MAX_TREE_DEPTH else tags


def _sound(markup: bytes) -> bytes:
    """Markup in which nothing is left that libxml2 would replace, and that is open to its last byte.

    What stands behind the end of the page, also where its first tag ends with a slash, is text of it, as in browsers.
    """
    text = _NO_CHARACTER.sub(_INVISIBLE, markup.decode("utf-8", "surrogateescape"))
    return _ROOT_TAG.sub(_never_ending, text.encode())


def _parsed(markup: bytes) -> bytes:
    """The tree as libxml2 writes XML; empty when there is no element. No file and no address is read."""
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, recover=True, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root: etree._Element | None = etree.fromstring(markup, parser)
    except etree.LxmlError:
        root = None
    if root is None:
        return b""
    return etree.tostring(root, encoding="utf-8", xml_declaration=False, with_tail=False)


def _never_ending(tag: re.Match[bytes]) -> bytes:
    return b"" if tag[1] else tag[0].rstrip(b"/>") + b">"


def _depth(tags: CutTags) -> int:
    depth = deepest = 0
    for name, attributes in zip(tags.written, tags.attributes, strict=True):
        if name[0] == _SLASH:
            depth -= 1
        elif not attributes.endswith(b"/"):
            depth += 1
            deepest = max(deepest, depth)
    return deepest
