"""A parsed page as two flat lists: block elements, and the runs of text between them.

One iterative walk over the tree; everything inherited (hidden, link, hints) is handed down, never looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.markup import (
    BLOCK,
    BREAK,
    CLOSES,
    INLINE,
    LEFT_OUT,
    LINK,
    NOTHING,
    PLAIN_REACH,
    REACH,
    Tags,
    is_closed,
    is_wide_space,
    number_of,
    read_attributes,
    text_of,
)
from es_dedup.extraction.structured import Structured, read_structured

if TYPE_CHECKING:
    from es_dedup.extraction.guard import Deadline

_HTML, _BODY, _PRE = number_of("html"), number_of("body"), number_of("pre")
_VOID: Final = frozenset({BREAK, NOTHING})
_CHUNK: Final = 8_192  # tags between looks at the clock

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
        written: its attributes, as they are written.
        hidden: by its own or an enclosing ``hidden`` attribute or style.
        names: its class attribute, its id, both or none, with a space between.
        role: its role attribute.
    """

    index: int
    parent: int
    tag: str
    written: bytes = b""
    hidden: bool = False
    names: str = ""
    role: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """All attributes; names in lower case."""
        return read_attributes(self.written)


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
        tags: all tags of the page, without the title's.
        url: where the page was found, if known.
        scripts: attributes and content of each script, where the scan kept them.
        charset: of the scripts.
        depth: of the deepest element that was met.
        title: text of the title element; may be empty.
    """

    tags: Tags
    nodes: list[Node] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    url: str | None = None
    scripts: list[tuple[bytes, bytes]] = field(default_factory=list)
    charset: str = "utf-8"
    depth: int = 0
    title: str = ""
    _metas: dict[str, str] | None = None
    _structured: Structured | None = None

    @property
    def metas(self) -> dict[str, str]:
        """``name``, ``property``, ``itemprop`` and ``http-equiv`` to content; the first of equal names wins."""
        if self._metas is None:
            self._metas = _read_metas(self.tags)
        return self._metas

    @property
    def structured(self) -> Structured:
        """What the page says of itself in JSON-LD."""
        if self._structured is None:
            self._structured = read_structured(self.scripts, self.charset)
        return self._structured


def _read_metas(tags: Tags) -> dict[str, str]:
    found: dict[str, str] = {}
    for place in tags.places("meta"):
        attributes = tags.attributes_at(place)
        content = attributes.get("content", "").strip()
        if content:
            for attribute in ("property", "name", "itemprop", "http-equiv"):
                if key := attributes.get(attribute):
                    found.setdefault(key.strip().lower()[:80], content)
    return found


def clean(text: str) -> str:
    """White space folded to single spaces; line ends between ideographs and invisible characters removed."""
    if "\n" in text or "\r" in text:
        text = _BROKEN_LINE.sub("", text)
    text = " ".join(text.split())
    if not text.isprintable():  # far cheaper than the substitution, and true of nearly every line
        text = " ".join(_INVISIBLE.sub("", text).split())
    return text


def build(markup: bytes, deadline: Deadline, *, max_depth: int | None = None) -> Document | None:
    """Read markup once, tag by tag.

    Args:
        markup: trimmed, in UTF-8.
        deadline: when to give up.
        max_depth: of open elements.

    Returns:
        None when elements are nested deeper.

    Raises:
        DeadlineExceeded: the time is up.
    """
    return _Walk(Tags(markup), deadline, max_depth).run()


class _Walk:
    """What is open at one place of a page."""

    def __init__(self, tags: Tags, deadline: Deadline, max_depth: int | None) -> None:
        self.document = Document(tags)
        self.tags, self.deadline, self.max_depth = tags, deadline, max_depth
        self.parts: list[bytes] = []
        self.linked: list[bytes] = []
        self.links = 0
        self.open = [_HTML, _BODY]
        self.blocks = [_HTML, _BODY]  # open block elements
        self.written = [b"", b""]  # their attributes
        self.indices = [-1, -1]  # their nodes; -1 while there is no text in them
        self.left_out = 0  # how many elements are open at the first that is left out; 0 for none
        self.in_link = self.in_pre = 0
        self.names = [name.decode("utf-8", "replace") for name in tags.names]

    def run(self) -> Document | None:
        tags = self.tags
        if tags.first and not (tags.first.isspace() or is_wide_space(tags.first)):
            self.parts.append(tags.first)
        for start in range(0, len(tags.numbers), _CHUNK):
            self.deadline.check()
            end = start + _CHUNK
            self._read(tags.numbers[start:end], tags.attributes[start:end], tags.texts[start:end])
            if self.max_depth is not None and self.document.depth > self.max_depth:
                return None
        self._flush()
        return self.document

    def _read(  # noqa: C901, PLR0912, PLR0915 - one loop over all tags; a call for each costs a third more
        self, numbers: list[int], attributes: list[bytes], texts: list[bytes]
    ) -> None:
        parts, linked, opened = self.parts, self.linked, self.open
        blocks, written, indices, flush = self.blocks, self.written, self.indices, self._flush
        roles, closes = self.tags.roles, CLOSES
        deepest = self.document.depth
        for number, names, text in zip(numbers, attributes, texts, strict=True):
            if number >= 0:
                role = roles[number]
                if number in closes:
                    closed = closes[number]
                    while opened[-1] in closed:
                        self._close()
                if self.left_out:
                    if role not in _VOID and number > _BODY and not (names and is_closed(names)):
                        opened.append(number)
                    continue
                if role == BLOCK:
                    if number <= _BODY:
                        self._root(number, names)
                    else:
                        if parts:
                            flush()
                        if not (names and is_closed(names)):
                            opened.append(number)
                            blocks.append(number)
                            written.append(names)
                            indices.append(-1)
                            self.in_pre += number == _PRE
                            if len(opened) > deepest:
                                deepest = len(opened)
                elif role == BREAK:
                    if parts:
                        flush()
                elif role == LINK:
                    self.links += 1
                    if not (names and is_closed(names)):
                        opened.append(number)
                        self.in_link += 1
                elif role == LEFT_OUT:
                    if not (names and is_closed(names)):
                        opened.append(number)
                        self.left_out = len(opened)
                        continue
                elif role == INLINE and not (names and is_closed(names)):
                    opened.append(number)
            else:
                number = ~number
                if opened[-1] == number:
                    self._close()
                elif number in opened:
                    self._close_through(number)
                if self.left_out:
                    continue
            if text:
                if self.in_pre:
                    self._lines(text)
                elif parts or not (text.isspace() or is_wide_space(text)):
                    parts.append(text)
                    if self.in_link:
                        linked.append(text)
        self.document.depth = deepest

    def _close(self) -> None:
        """Close the innermost element."""
        if self.left_out:
            if len(self.open) == self.left_out:
                self.left_out = 0
            self.open.pop()
            return
        number = self.open.pop()
        role = self.tags.roles[number]
        if role == BLOCK:
            if self.parts:
                self._flush()
            self.blocks.pop()
            self.written.pop()
            self.indices.pop()
            self.in_pre -= self.in_pre > 0 and number == _PRE
        elif role == LINK:
            self.in_link -= 1

    def _close_through(self, number: int) -> None:
        """Close elements up to the innermost one of a name, if no open element inside it reaches farther."""
        reach = REACH.get(number, PLAIN_REACH)
        for count, inner in enumerate(reversed(self.open)):
            if inner == number:
                if number != _HTML:
                    for _ in range(count + 1):
                        self._close()
                return
            if REACH.get(inner, PLAIN_REACH) > reach:
                return

    def _root(self, number: int, names: bytes) -> None:
        """``<html>`` and ``<body>`` are open in every page; the first of each says what they are called."""
        if number < len(self.blocks) and self.blocks[number] == number and not self.written[number]:
            self.written[number] = names

    def _lines(self, text: bytes) -> None:
        """Preformatted text: each line is a run of its own."""
        if not self.parts and (text.isspace() or is_wide_space(text)):
            return
        for line in text_of(text).splitlines(keepends=True):
            written = line.encode("utf-8", "replace").replace(b"&", b"&amp;")
            self.parts.append(written)
            if self.in_link:
                self.linked.append(written)
            if line.endswith("\n"):
                self._flush()

    def _current(self) -> int:
        """The innermost open block element; nodes are made when the first text stands in them."""
        indices, nodes, names = self.indices, self.document.nodes, self.names
        level = len(indices)
        while level and indices[level - 1] < 0:
            level -= 1
        above = indices[level - 1] if level else -1
        for new in range(level, len(indices)):
            nodes.append(_node(names[self.blocks[new]], self.written[new], above, nodes))
            above = indices[new] = len(nodes) - 1
        return above

    def _flush(self) -> None:
        parts, linked = self.parts, self.linked
        if not parts:
            return
        if text := clean(_joined(parts)):
            chars = len(text) - text.count(" ")
            link_chars = 0
            if linked:
                link_chars = chars if len(linked) == len(parts) else min(chars, _length(linked))
            current = self.indices[-1]
            if current < 0:
                current = self._current()
            hidden = self.document.nodes[current].hidden
            led = bool(linked) and linked[0] is parts[0]
            self.document.blocks.append(Block(current, text, chars, link_chars, hidden, self.links, led))
        parts.clear()
        linked.clear()
        self.links = 0


def _joined(parts: list[bytes]) -> str:
    """References to characters end where their text ends."""
    whole = b"".join(parts) if len(parts) > 1 else parts[0]
    if b"&" in whole:
        return "".join(map(text_of, parts))
    return whole.decode("utf-8", "ignore")


def _length(parts: list[bytes]) -> int:
    """Of all characters but white space."""
    text = _joined(parts)
    return len(text) if text.isalnum() else sum(map(len, text.split()))


def _node(tag: str, written: bytes, parent: int, nodes: list[Node]) -> Node:
    hidden = parent >= 0 and nodes[parent].hidden
    if not written:
        return Node(len(nodes), parent, tag, written, hidden)
    names, role, hides = _named(written)
    return Node(len(nodes), parent, tag, written, hidden or hides, names, role)


@lru_cache(maxsize=4_096)
def _named(written: bytes) -> tuple[str, str, bool]:
    """Class and id, role, and whether the element is hidden; repeated elements have equal attributes."""
    attributes = read_attributes(written)
    names, identity = attributes.get("class", ""), attributes.get("id", "")
    if identity:
        names = f"{names} {identity}" if names else identity
    hides = "hidden" in attributes or bool(_NO_DISPLAY.search(attributes.get("style", "")))
    return names, attributes.get("role", ""), hides
