"""The flat list of tags from the tree of lxml: libxml2 says what is open and what is closed.

The tree is written out again, with an end for every element, and these tags are listed: a loop over elements in Python costs four times as
much. Everything behind ``Tags`` is shared with ``markup.cut``.
"""

from __future__ import annotations

import re
from typing import Final

from lxml import etree

from es_dedup.extraction.guard import MAX_TAG_CHARS
from es_dedup.extraction.markup import ROOT, Tags

MAX_TREE_DEPTH: Final = 2_000
"""Inline elements count too. libxml2 keeps nothing below 2,048."""

MAX_TREE_ATTRIBUTES: Final = 500
"""Of one tag. libxml2 takes the square of their number."""

# By the letter of the HTML standard, as libxml2 reads since 2.14: a tag that looks short here is short there.
_ATTRIBUTE: Final = rb"""(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_TAG: Final = re.compile(rb"<[a-zA-Z][^\s/>]*+(?:[\s/]++|%b)*+" % _ATTRIBUTE)
_WRITTEN: Final = re.compile(rb"<(/?[^\s/>]++)([^>]*+)>")  # in values and texts libxml2 writes ``&gt;``
_ROOT_TAG: Final = re.compile(rb"<(/?)(?:html|body)(?=[\s/>])[^>]*+>", re.IGNORECASE)
_CONTROLS: Final = bytes({*range(9), *range(14, 32)})
_SLASH: Final = ord("/")


def read_tree(markup: bytes) -> Tags | None:
    """Tags of start and end of every element, in page order.

    Args:
        markup: trimmed, in UTF-8.

    Returns:
        None for a page that libxml2 would read slowly or not to its end: a tag is longer than ``MAX_TAG_CHARS`` bytes and has more than
        ``MAX_TREE_ATTRIBUTES``, or elements are nested deeper than ``MAX_TREE_DEPTH``.
    """
    if any(len(tag) > MAX_TAG_CHARS and _is_crowded(tag) for tag in _TAG.findall(markup)):
        return None
    written = ROOT + _parsed(markup)
    tags = Tags(markup, _WRITTEN.split(written), {})
    return None if written.count(b"<") > MAX_TREE_DEPTH and _depth(tags) > MAX_TREE_DEPTH else tags


def _parsed(markup: bytes) -> bytes:
    """The tree as libxml2 writes XML; empty when there is no element. No file and no address is read.

    What stands behind the end of the page, also where its first tag ends with a slash, is text of it, as in browsers; libxml2 would not read it.
    """
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, recover=True, no_network=True, remove_comments=True, remove_pis=True
    )
    sound = markup.decode("utf-8", "ignore").encode().translate(None, _CONTROLS)
    try:
        root: etree._Element | None = etree.fromstring(_ROOT_TAG.sub(_never_ending, sound), parser)
    except etree.LxmlError:
        root = None
    return (
        b""
        if root is None
        else etree.tostring(root, encoding="utf-8", xml_declaration=False, with_tail=False)
    )


def _is_crowded(tag: bytes) -> bool:
    return len(_ATTRIBUTES.findall(tag)) > MAX_TREE_ATTRIBUTES


def _never_ending(tag: re.Match[bytes]) -> bytes:
    return b"" if tag[1] else tag[0].rstrip(b"/>") + b">"


def _depth(tags: Tags) -> int:
    depth = deepest = 0
    for name, attributes in zip(tags.written, tags.attributes, strict=True):
        if name[0] == _SLASH:
            depth -= 1
        elif not attributes.endswith(b"/"):
            depth += 1
            deepest = max(deepest, depth)
    return deepest
