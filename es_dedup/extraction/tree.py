"""The flat list of tags from the tree of lxml: libxml2 says what is open and what is closed.

Everything behind ``Tags`` is shared with ``markup.cut``. Two pages in thousands are no food for libxml2, and are refused: with a tag so
long that its attributes might be many (they cost the square of their number), and nested so deeply that it drops text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lxml import etree

from es_dedup.extraction.guard import MAX_TAG_CHARS
from es_dedup.extraction.markup import Tags

if TYPE_CHECKING:
    from es_dedup.extraction.guard import Deadline

MAX_TREE_DEPTH: Final = 2_000
"""All elements count. libxml2 keeps nothing below 2,048."""

# By the letter of the HTML standard, as libxml2 reads since 2.14: a tag that looks short here is short there.
_TAG: Final = re.compile(
    rb"""<[a-zA-Z][^\s/>]*+(?:[\s/]++|(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)?+)*+"""
)
_ROOT_END: Final = re.compile(rb"</(?:html|body)(?=[\s/>])[^>]*+>", re.IGNORECASE)
_CONTROLS: Final = bytes({*range(9), *range(14, 32)})
_ROOTS: Final = ("html", "body", "head")
_CHUNK: Final = 4_095  # elements between looks at the clock, less one


def read_tree(markup: bytes, deadline: Deadline) -> Tags | None:
    """Tags with the end of every element, in page order.

    Args:
        markup: trimmed, in UTF-8.
        deadline: when to give up.

    Returns:
        None for a page that libxml2 would read slowly or not to its end: a tag is longer than ``MAX_TAG_CHARS`` bytes, or elements are
        nested deeper than ``MAX_TREE_DEPTH``.

    Raises:
        DeadlineExceeded: the time is up.
    """
    if max(map(len, _TAG.findall(markup)), default=0) > MAX_TAG_CHARS:
        return None
    root = _parse(markup)
    pieces = _pieces(root, deadline) if root is not None else ["", "html", "", "", "body", "", ""]
    # no text of a tree holds a null character
    return Tags(markup, "\0".join(pieces).encode().split(b"\0"), {}) if pieces else None


def _parse(markup: bytes) -> etree._Element | None:
    """The root; None when there is no element. Text behind the end tags of the page is text, as in browsers; no file and no address is read."""
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, recover=True, no_network=True, remove_comments=True, remove_pis=True
    )
    sound = markup.decode("utf-8", "ignore").encode().translate(None, _CONTROLS)
    try:
        return etree.fromstring(_ROOT_END.sub(b"", sound), parser)
    except etree.LxmlError:
        return None


def _pieces(root: etree._Element, deadline: Deadline) -> list[str]:
    """An empty text, then name, attributes and text of each start and end tag; nothing at all for a tree that is too deep."""
    body = root.find("body")
    pieces = ["", "html", _attributes(root), "", "body", "" if body is None else _attributes(body), ""]
    depth = 0
    for count, (event, element) in enumerate(etree.iterwalk(root, events=("start", "end"))):
        if not count & _CHUNK:
            deadline.check()
        name = element.tag
        is_root = name in _ROOTS  # they stand before all others; here they only hold text
        if event == "start":
            depth += 1
            if depth > MAX_TREE_DEPTH:
                return []
            text = element.text
            pieces += ("head", "") if is_root else (name, _attributes(element))
        else:
            depth -= 1
            text = element.tail
            pieces += ("head" if is_root else f"/{name}", "")
        pieces.append("" if text is None else text.replace("&", "&amp;"))
    return pieces


def _attributes(element: etree._Element) -> str:
    items = element.items()
    if not items:
        return ""
    pairs = " ".join([f'{name}="{value}"' for name, value in items])
    if "&" in pairs or pairs.count('"') > 2 * len(items):
        return " ".join(
            [f'{name}="{value.replace("&", "&amp;").replace(chr(34), "&quot;")}"' for name, value in items]
        )
    return pairs
