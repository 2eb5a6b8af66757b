"""A parsed page as two flat lists: block elements, and the runs of text between them.

One iterative walk over the tags; everything inherited (hidden, link, hints) is handed down, never looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.markup import (
    BLOCK,
    BREAK,
    LINK,
    NOTED,
    PLAIN_REACH,
    REACH,
    is_closed,
    is_wide_space,
    number_of,
    read_attributes,
    text_of,
)
from es_dedup.extraction.structured import Structured, read_structured

if TYPE_CHECKING:
    from es_dedup.extraction.guard import Deadline
    from es_dedup.extraction.markup import Tags

_PRE: Final = number_of("pre")
_P: Final = number_of("p")
_LINK_END: Final = ~number_of("a")
_UNNAMED: Final = ("", "", False)
_SLASH: Final = ord("/")
_AND: Final = ord("&")
_SPACE_STARTS: Final = frozenset({*range(33), ord("&"), *range(0x80, 256)} - set(range(0xE4, 0xEA)))
"""Bytes with which a text may begin that is white space and not plain ASCII; ideographs begin with none of them."""

_CHUNK: Final = 4_096  # tags between looks at the clock

_ONLY_NAME: Final = re.compile(rb"""\s++(?:class|id)="([^"&]*+)"\s*+""")
_NO_DISPLAY: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_IDEOGRAPH: Final = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
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
                    for name in {key, *key.split()}:
                        found.setdefault(name.strip().lower()[:80], content)
    return found


def clean(text: str) -> str:
    """White space folded to single spaces; line ends between ideographs and invisible characters removed."""
    text = text.strip()
    if text.isprintable():  # true of most lines, and cheap to see: their only white space is the space
        return " ".join(text.split()) if "  " in text else text
    text = " ".join(text.split()) if text.isascii() else _unbroken(text)
    return text if text.isprintable() else " ".join(_INVISIBLE.sub("", text).split())


def _unbroken(text: str) -> str:
    """White space folded, and none left where a line ends between two ideographs."""
    joined: list[str] = []
    before = ""
    for written in text.replace("\r", "\n").split("\n"):
        line = written.strip()
        if not line:
            continue
        if "  " in line or not line.isprintable():
            line = " ".join(line.split())
        if before and not (_IDEOGRAPH.match(before, len(before) - 1) and _IDEOGRAPH.match(line)):
            joined.append(" ")
        joined.append(line)
        before = line
    return "".join(joined)


def build(tags: Tags, deadline: Deadline) -> Document:
    """Read the tags of a page once.

    Args:
        tags: of trimmed markup.
        deadline: when to give up.

    Raises:
        DeadlineExceeded: the time is up.
    """
    walk = _Walk(tags, deadline)
    walk.run(len(tags.numbers))
    return walk.document


def build_shallow(tags: Tags, deadline: Deadline, max_depth: int) -> Document | None:
    """The same, or None where elements are nested deeper than ``max_depth``."""
    walk = _Walk(tags, deadline)
    return walk.document if walk.run(max_depth) else None


class _Walk:
    """What is open at one place of a page."""

    def __init__(self, tags: Tags, deadline: Deadline) -> None:
        self.document = Document(tags)
        self.tags, self.deadline = tags, deadline
        self.parts: list[bytes] = []
        self.linked: list[bytes] = []
        self.links = 0
        self.open: list[int] = []  # numbers of the open elements
        self.blocks: list[
            int
        ] = []  # of the open block elements: the place of the tag, or ~node once there is text in them
        self.left_out = 0  # how many elements are open at the first that is left out; 0 for none
        self.in_link = 0  # how many elements were open at the link that is open; 0 for none
        self.has_pre = _PRE in tags.numbers

    def run(self, max_depth: int) -> bool:
        """Read all tags; False where they are nested deeper than allowed."""
        for start in range(0, len(self.tags.numbers), _CHUNK):
            self.deadline.check()
            self._read(start, start + _CHUNK)
            if max(len(self.open), self.document.depth) > max_depth:
                return False
        self._flush()
        return True

    def _read(self, start: int, end: int) -> None:  # noqa: C901, PLR0912, PLR0915 - one loop over all tags; a call for each costs a third more
        parts, linked, opened, blocks = self.parts, self.linked, self.open, self.blocks
        flush, roles, closes = self._flush, self.tags.roles, self.tags.closes
        left_out, in_link, has_pre = self.left_out, self.in_link, self.has_pre
        tags = self.tags
        for place, number, written, text in zip(
            range(start, min(end, len(tags.numbers))),
            tags.numbers[start:end],
            tags.attributes[start:end],
            tags.texts[start:end],
            strict=True,
        ):
            if number < 0:
                if opened[-1] == ~number and not left_out:  # the usual case; the others are all in _close
                    opened.pop()
                    if parts:
                        flush()
                    blocks.pop()
                    if in_link and in_link > len(opened):
                        in_link = 0
                elif number == _LINK_END:
                    in_link = 0
                elif closing := self._reached(~number):
                    left_out, in_link = self._close(closing, left_out, in_link)
                elif ~number == _P and not left_out:  # without its beginning it stands for an empty paragraph
                    flush()
            elif number:
                if number in closes and opened[-1] in closes[number]:
                    closing = 1
                    while opened[-1 - closing] in closes[number]:
                        closing += 1
                    left_out, in_link = self._close(closing, left_out, in_link)
                role = roles[number]
                if role == BREAK:
                    if not left_out:
                        flush()
                elif role == BLOCK and not left_out:
                    if parts:
                        flush()
                    if not (written and written[-1] == _SLASH and is_closed(written)):
                        opened.append(number)
                        blocks.append(place)
                elif role != NOTED:
                    holds = not (written and written[-1] == _SLASH and is_closed(written))
                    if left_out:
                        if holds and role != LINK:
                            opened.append(number)
                    elif role == LINK:
                        self.links += 1
                        in_link = len(opened) if holds else 0
                    elif holds:
                        opened.append(number)
                        left_out = len(opened)
            if text and not left_out:
                if has_pre and _PRE in opened:
                    self._lines(text, linked=in_link > 0)
                elif parts or not (text.isspace() or (text[0] in _SPACE_STARTS and is_wide_space(text))):
                    parts.append(text)
                    if in_link:
                        linked.append(text)
        self.left_out, self.in_link = left_out, in_link

    def _close(self, count: int, left_out: int, in_link: int) -> tuple[int, int]:
        """Close the innermost elements; gives what is left out and the link that is open behind them."""
        for _ in range(count):
            self.open.pop()
            if left_out:
                left_out *= left_out <= len(self.open)
            else:
                self._flush()
                self.blocks.pop()
                if in_link > len(self.open):
                    in_link = 0
        return left_out, in_link

    def _reached(self, number: int) -> int:
        """How many elements an end tag closes: none where one inside reaches farther."""
        if number not in self.open:
            return 0
        reach = REACH.get(number, PLAIN_REACH)
        for count, inner in enumerate(reversed(self.open), 1):
            if inner == number:
                return count
            if REACH.get(inner, PLAIN_REACH) > reach:
                break
        return 0

    def _lines(self, text: bytes, *, linked: bool) -> None:
        """Preformatted text: each line is a run of its own."""
        if not self.parts and (text.isspace() or is_wide_space(text)):
            return
        for line in text_of(text).splitlines(keepends=True):
            written = line.replace("&", "&amp;").encode("utf-8", "replace")
            self.parts.append(written)
            if linked:
                self.linked.append(written)
            if line.endswith("\n"):
                self._flush()

    def _current(self) -> int:
        """The innermost open block element; nodes are made when the first text stands in them."""
        blocks, nodes, tags = self.blocks, self.document.nodes, self.tags
        numbers, tag_names, attributes = tags.numbers, tags.names, tags.attributes
        level = len(blocks)
        while level and blocks[level - 1] >= 0:
            level -= 1
        above = ~blocks[level - 1] if level else -1
        hidden = above >= 0 and nodes[above].hidden
        for inner in range(level, len(blocks)):
            place = blocks[inner]
            written = attributes[place]
            index = len(nodes)
            if written:
                names, role, hides = _named(written)
                hidden = hidden or hides
                nodes.append(Node(index, above, tag_names[numbers[place]], written, hidden, names, role))
            else:
                nodes.append(Node(index, above, tag_names[numbers[place]], b"", hidden))
            blocks[inner] = ~index
            above = index
        return above

    def _flush(self) -> None:
        parts, linked = self.parts, self.linked
        if not parts:
            return
        if len(parts) == 1:
            whole = parts[0]
        else:
            if parts[-1].isspace():
                if linked and linked[-1] is parts[-1]:
                    linked.pop()
                parts.pop()
            whole = b"".join(parts)
        # references to characters end where their text ends
        text = "".join(map(text_of, parts)) if _AND in whole else whole.decode("utf-8", "ignore")
        text = text.strip()
        if "  " in text or not text.isprintable():
            text = clean(text)
        if text:
            chars = len(text) - text.count(" ")
            link_chars, led = 0, False
            if linked:
                link_chars = chars if len(linked) == len(parts) else min(chars, _length(linked))
                led = link_chars > 0 and linked[0] is parts[0]
            current = ~self.blocks[-1]
            if current < 0:
                current = self._current()
            document = self.document
            document.blocks.append(
                Block(current, text, chars, link_chars, document.nodes[current].hidden, self.links, led)
            )
            document.depth = max(document.depth, len(self.open))
        parts.clear()
        if linked:
            linked.clear()
        self.links = 0


def _length(parts: list[bytes]) -> int:
    """Of all characters but white space."""
    whole = b"".join(parts)
    text = "".join(map(text_of, parts)) if _AND in whole else whole.decode("utf-8", "ignore")
    return len(text) - text.count(" ") if text.isprintable() else sum(map(len, text.split()))


@lru_cache(maxsize=4_096)
def _named(written: bytes) -> tuple[str, str, bool]:
    """Class and id, role, and whether the element is hidden; repeated elements have equal attributes."""
    if only := _ONLY_NAME.fullmatch(written):
        return only[1].decode("utf-8", "replace"), "", False
    attributes = read_attributes(written)
    names, identity = attributes.get("class", ""), attributes.get("id", "")
    if identity:
        names = f"{names} {identity}" if names else identity
    hides = "hidden" in attributes or bool(_NO_DISPLAY.search(attributes.get("style", "")))
    return names, attributes.get("role", ""), hides
