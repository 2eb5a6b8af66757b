"""A parsed page as two flat lists: block elements, and the runs of text between them.

One iterative walk over the tree; everything inherited (hidden, link, hints) is handed down, never looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lxml import etree

if TYPE_CHECKING:
    from es_dedup.extraction.guard import Deadline

MAX_INNER_CHARS: Final = 2_000
"""Headings and titles are short; nothing longer is read as one."""

_INLINE: Final = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr o:p q rb rp rt ruby s "
    "samp small span strike strong sub sup time tt u var wbr g-emoji st1:chsdate".split()
)
_LEFT_OUT: Final = frozenset(
    "head title script style noscript template iframe object embed applet svg math canvas select option button input "
    "textarea datalist audio video map rp rt frameset noframes link meta".split()
)
_NO_DISPLAY: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_IDEOGRAPH: Final = "[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]"
_BROKEN_LINE: Final = re.compile(f"(?<={_IDEOGRAPH})[^\\S\r\n]*+[\r\n]\\s*+(?={_IDEOGRAPH})")
_INVISIBLE: Final = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ud800-\udfff\x00-\x08\x0e-\x1f]+"
)


@dataclass(slots=True, eq=False)
class Node:
    """A block element.

    Attributes:
        index: place in ``Document.nodes``; children come after their parent.
        parent: index of the enclosing block element, -1 for the root.
        element: the parser's element.
        hidden: by its own or an enclosing ``hidden`` attribute or style.
    """

    index: int
    parent: int
    tag: str
    element: etree._Element
    hidden: bool = False


@dataclass(slots=True, eq=False)
class Block:
    """A run of text that no block element or ``<br>`` breaks.

    Attributes:
        node: index of the innermost block element around it.
        text: with single spaces; never empty.
        chars: length without white space.
        link_chars: how many of them stand in links, 0..chars.
    """

    node: int
    text: str
    chars: int
    link_chars: int
    hidden: bool


@dataclass(slots=True)
class Document:
    """Block elements and text blocks in page order."""

    root: etree._Element
    nodes: list[Node] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)


def parse(markup: str) -> etree._Element | None:
    """The element tree of guarded markup, or None when there is no element in it. Reads no file and no network."""
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True, recover=True
    )
    data = markup.encode("utf-8", "replace")
    if not data.strip():
        return None
    try:
        return etree.fromstring(data, parser)
    except etree.LxmlError:
        return None


def clean(text: str) -> str:
    """White space folded to single spaces; line ends between ideographs and invisible characters removed."""
    if "\n" in text or "\r" in text:
        text = _BROKEN_LINE.sub("", text)
    text = " ".join(text.split())
    if not text.isprintable():  # far cheaper than the substitution, and true of nearly every line
        text = " ".join(_INVISIBLE.sub("", text).split())
    return text


def inner_text(element: etree._Element) -> str:
    """Cleaned text inside an element, at most ``MAX_INNER_CHARS`` characters of it."""
    parts: list[str] = []
    length = 0
    for part in element.itertext(with_tail=False):
        text = part if isinstance(part, str) else part.decode("utf-8", "replace")
        parts.append(text)
        length += len(text)
        if length > MAX_INNER_CHARS:
            break
    return clean("".join(parts)[:MAX_INNER_CHARS])


def build(root: etree._Element, deadline: Deadline) -> Document:
    """Walk the tree once.

    Raises:
        DeadlineExceeded: the time is up.
    """
    return _Walk(root, deadline).run()


def is_hidden(element: etree._Element) -> bool:
    """True when the element's own attributes hide it."""
    style = element.get("style")
    return bool(style and _NO_DISPLAY.search(style)) or element.get("hidden") is not None


class _Walk:
    def __init__(self, root: etree._Element, deadline: Deadline) -> None:
        self.document = Document(root)
        self.deadline = deadline
        self.parts: list[str] = []
        self.links: list[str] = []
        self.current = -1
        self.link_depth = 0
        self.pre = 0

    def run(self) -> Document:
        walker = etree.iterwalk(self.document.root, events=("start", "end"))
        for count, (event, element) in enumerate(walker):
            if not count & 4095:
                self.deadline.check()
            tag = element.tag
            if event == "start":
                if tag in _LEFT_OUT:
                    walker.skip_subtree()
                else:
                    self._enter(element, tag)
            else:
                if tag not in _LEFT_OUT:
                    self._leave(tag)
                tail = element.tail
                if tail and (self.parts or not tail.isspace()):
                    self._text(tail)
        self._flush()
        return self.document

    def _enter(self, element: etree._Element, tag: str) -> None:
        if tag in _INLINE:
            self.link_depth += tag == "a"
        elif tag == "br":
            self._flush()
        else:
            self._flush()
            nodes = self.document.nodes
            hidden = is_hidden(element) or (self.current >= 0 and nodes[self.current].hidden)
            nodes.append(Node(len(nodes), self.current, tag, element, hidden))
            self.current = len(nodes) - 1
            self.pre += tag == "pre"
        text = element.text
        if text and (self.parts or not text.isspace()):
            self._text(text)

    def _leave(self, tag: str) -> None:
        if tag in _INLINE:
            self.link_depth -= tag == "a"
        elif tag != "br":
            self._flush()
            self.current = self.document.nodes[self.current].parent
            self.pre -= tag == "pre"

    def _text(self, text: str) -> None:
        if self.pre:
            for line in text.splitlines(keepends=True):
                self._append(line)
                if line.endswith("\n"):
                    self._flush()
        else:
            self._append(text)

    def _append(self, text: str) -> None:
        self.parts.append(text)
        if self.link_depth > 0:
            self.links.append(text)

    def _flush(self) -> None:
        if not self.parts:
            return
        text = clean("".join(self.parts) if len(self.parts) > 1 else self.parts[0])
        if text:
            linked = len("".join("".join(self.links).split())) if self.links else 0
            chars = len(text) - text.count(" ")
            hidden = self.current >= 0 and self.document.nodes[self.current].hidden
            self.document.blocks.append(Block(self.current, text, chars, min(linked, chars), hidden))
        self.parts.clear()
        self.links.clear()
