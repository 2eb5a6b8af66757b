"""A parsed page as two flat lists: block elements, and the runs of text between them.

One iterative walk over the tree; everything inherited (hidden, link, hints) is handed down, never looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from es_dedup.extraction.structured import Structured, read_structured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.extraction.guard import Deadline

MAX_INNER_CHARS: Final = 2_000
"""Headings and titles are short; nothing longer is read as one."""

_INLINE_TAGS: Final = frozenset(
    "abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr o:p q rb rp rt ruby s "
    "samp small span strike strong sub sup time tt u var wbr g-emoji st1:chsdate".split()
)
_LEFT_OUT_TAGS: Final = frozenset(
    "head title script style noscript template iframe object embed applet svg math canvas select option button input "
    "textarea datalist audio video map rp rt frameset noframes link meta".split()
)
_BLOCK, _INLINE, _LINK, _BREAK, _LEFT_OUT, _INSIDE = range(6)  # the last: inside of what is left out
_ROLES: Final = {
    **dict.fromkeys(_INLINE_TAGS, _INLINE),
    **dict.fromkeys(_LEFT_OUT_TAGS, _LEFT_OUT),
    "a": _LINK,
    "br": _BREAK,
}
"""Every other element is a block."""

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
        names: its class attribute, its id, both or none, with a space between.
        role: its role attribute.
    """

    index: int
    parent: int
    tag: str
    element: etree._Element
    hidden: bool = False
    names: str = ""
    role: str = ""


@dataclass(slots=True, eq=False)
class Block:
    """A run of text that no block element or ``<br>`` breaks.

    Attributes:
        node: index of the innermost block element around it, -1 for none.
        text: with single spaces; never empty.
        chars: length without white space.
        link_chars: how many of them stand in links, 0..chars.
        links: number of links that begin in it.
        led: it begins with a link.
    """

    node: int
    text: str
    chars: int
    link_chars: int
    hidden: bool
    links: int = 0
    led: bool = False


@dataclass(slots=True)
class Document:
    """Block elements with text in them, and text blocks, in page order.

    Attributes:
        root: the parser's root element.
        url: where the page was found, if known.
        scripts: attributes and content of each script, where the scan kept them.
        depth: of the deepest element that was met.
        markup: what was parsed: a glance at it can spare a walk over the tree.
    """

    root: etree._Element
    nodes: list[Node] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    url: str | None = None
    scripts: list[tuple[str, str]] = field(default_factory=list)
    depth: int = 0
    markup: str = ""
    _metas: dict[str, str] | None = None
    _title: str | None = None
    _structured: Structured | None = None

    @property
    def metas(self) -> dict[str, str]:
        """``name``, ``property``, ``itemprop`` and ``http-equiv`` to content; the first of equal names wins."""
        if self._metas is None:
            self._metas = _read_metas(self.root)
        return self._metas

    @property
    def title(self) -> str:
        """Text of the title element; may be empty."""
        if self._title is None:
            element = next(self.root.iter("title"), None)
            self._title = inner_text(element) if element is not None else ""
        return self._title

    @property
    def structured(self) -> Structured:
        """What the page says of itself in JSON-LD."""
        if self._structured is None:
            self._structured = read_structured(self.scripts)
        return self._structured


def _read_metas(root: etree._Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in root.iter("meta"):
        content = (element.get("content") or "").strip()
        if content:
            for attribute in ("property", "name", "itemprop", "http-equiv"):
                if key := element.get(attribute):
                    found.setdefault(key.strip().lower()[:80], content)
    return found


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


class _Walk:
    def __init__(self, root: etree._Element, deadline: Deadline) -> None:
        self.document = Document(root)
        self.deadline = deadline
        self.parts: list[str] = []
        self.linked: list[str] = []
        self.links = 0
        self.stack: list[etree._Element] = []  # open block elements
        self.indices: list[int] = []  # their nodes; -1 while there is no text in them

    def run(self) -> Document:  # noqa: C901, PLR0912, PLR0915 - one loop over all elements; a call for each costs a third more
        document, parts, linked = self.document, self.parts, self.linked
        stack, indices, flush, roles = self.stack, self.indices, self._flush, _ROLES
        opened: list[etree._Element] = []
        opened_roles: list[int] = []
        in_link = in_pre = deepest = 0
        for count, element in enumerate(_elements(document.root)):
            if not count & 4095:
                self.deadline.check()
            above = element.getparent() if element is not None else None
            while opened and opened[-1] is not above:
                closed, role = opened.pop(), opened_roles.pop()
                if role == _BLOCK:
                    if parts:
                        flush()
                    stack.pop()
                    indices.pop()
                    in_pre -= in_pre > 0 and closed.tag == "pre"
                elif role == _LINK:
                    in_link -= 1
                elif role == _INSIDE:
                    continue
                text = closed.tail
                if text and in_pre:
                    self._lines(text, linked=in_link > 0)
                elif text and (parts or not text.isspace()):
                    parts.append(text)
                    if in_link:
                        linked.append(text)
            if element is None:
                break
            tag: Any = element.tag
            role = _INSIDE if opened and opened_roles[-1] >= _LEFT_OUT else roles.get(tag, _BLOCK)
            opened.append(element)
            opened_roles.append(role)
            if role >= _LEFT_OUT:
                continue
            if len(opened) > deepest:  # noqa: PLR1730 - a call of max() for each element
                deepest = len(opened)
            if role == _BLOCK:
                if parts:
                    flush()
                stack.append(element)
                indices.append(-1)
                in_pre += tag == "pre"
            elif role == _LINK:
                in_link += 1
                self.links += 1
            elif role == _BREAK and parts:
                flush()
            text = element.text
            if text and in_pre:
                self._lines(text, linked=in_link > 0)
            elif text and (parts or not text.isspace()):
                parts.append(text)
                if in_link:
                    linked.append(text)
        flush()
        document.depth = deepest
        return document

    def _lines(self, text: str, *, linked: bool) -> None:
        """Preformatted text: each line is a run of its own."""
        if not self.parts and text.isspace():
            return
        for line in text.splitlines(keepends=True):
            self.parts.append(line)
            if linked:
                self.linked.append(line)
            if line.endswith("\n"):
                self._flush()

    def _current(self) -> int:
        """The innermost open block element; nodes are made when the first text stands in them."""
        indices, nodes = self.indices, self.document.nodes
        level = len(indices)
        while level and indices[level - 1] < 0:
            level -= 1
        above = indices[level - 1] if level else -1
        for new in range(level, len(indices)):
            nodes.append(_node(self.stack[new], above, nodes))
            above = indices[new] = len(nodes) - 1
        return above

    def _flush(self) -> None:
        parts, linked = self.parts, self.linked
        if not parts:
            return
        if text := clean("".join(parts) if len(parts) > 1 else parts[0]):
            chars = len(text) - text.count(" ")
            link_chars = 0
            if linked:
                link_chars = chars if len(linked) == len(parts) else min(chars, _length(linked))
            current = self.indices[-1] if self.indices else -1
            if current < 0:
                current = self._current()
            hidden = current >= 0 and self.document.nodes[current].hidden
            led = bool(linked) and linked[0] is parts[0]
            self.document.blocks.append(Block(current, text, chars, link_chars, hidden, self.links, led))
        parts.clear()
        linked.clear()
        self.links = 0


def _length(parts: list[str]) -> int:
    """Of all characters but white space."""
    text = "".join(parts)
    return len(text) if text.isalnum() else sum(map(len, text.split()))


def _elements(root: etree._Element) -> Iterator[etree._Element | None]:
    """All elements in page order but those in the head, and None to close what is open."""
    parts = ((child,) if child.tag == "head" else child.iter() for child in root)
    return chain((root,), *parts, (None,))


def _node(element: etree._Element, parent: int, nodes: list[Node]) -> Node:
    """All attributes are read at once: a call for each costs more than the walk itself."""
    hidden = parent >= 0 and nodes[parent].hidden
    names = identity = role = ""
    attributes: Any = element.items()  # in HTML always str
    for key, value in attributes:
        if key == "class":
            names = value
        elif key == "id":
            identity = value
        elif key == "style":
            hidden = hidden or bool(_NO_DISPLAY.search(value))
        elif key == "hidden":
            hidden = True
        elif key == "role":
            role = value
    if identity:
        names = f"{names} {identity}" if names else identity
    return Node(len(nodes), parent, element.tag, element, hidden, names, role)
