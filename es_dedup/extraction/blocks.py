"""A parsed page as flat lists: containers (block elements) and blocks (runs of text between their borders)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from es_dedup.extraction.white_space import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

LINK_START: Final = "\ufdd0"
LINK_END: Final = "\ufdd1"
"""Around link text in ``Blocks.texts``: two code points that are no characters, so no page has a use for them."""

CONTEXTS: Final = (
    "nav", "header", "footer", "aside", "article", "main", "form", "table", "list", "item", "blockquote", "pre",
    "figure", "h1", "heading", "button", "link", "hidden", "definitions", "section", "address", "paragraph", "details",
)  # fmt: skip
"""What a block may stand in, one bit each."""

_BIT: Final = {name: 1 << place for place, name in enumerate(CONTEXTS)}
HIDDEN_CONTEXT: Final = _BIT["hidden"]
HEADING_CONTEXTS: Final = _BIT["h1"] | _BIT["heading"]
_TAG_BITS: Final = {
    **{name: _BIT[name] for name in "nav header footer aside article main form table blockquote pre figure h1 button section address".split()},
    **dict.fromkeys(("h2", "h3", "h4", "h5", "h6"), _BIT["heading"]),
    "ul": _BIT["list"], "ol": _BIT["list"], "menu": _BIT["list"], "li": _BIT["item"], "dl": _BIT["definitions"],
    "p": _BIT["paragraph"], "details": _BIT["details"], "figcaption": _BIT["figure"], "a": _BIT["link"],
    "listing": _BIT["pre"], "xmp": _BIT["pre"], "plaintext": _BIT["pre"],
}  # fmt: skip
_ROLES: Final = {"navigation": "nav", "banner": "header", "contentinfo": "footer", "complementary": "aside", "main": "main",
                 "article": "article", "search": "form", "menu": "nav", "menubar": "nav", "button": "button"}  # fmt: skip

_SKIPPED: Final = frozenset(
    "script style noscript template svg iframe object embed applet textarea select option optgroup datalist input canvas audio video map "
    "head title noembed noframes frameset param source track area base link meta".split()
)
_INLINE: Final = frozenset(
    "a abbr acronym b bdi bdo big blink cite code data del dfn em font i ins kbd label mark nobr output q rb rp rt rtc ruby s samp small span "
    "strike strong sub sup time tt u var wbr img picture math mi mn mo mrow msub msup".split()
)
INLINE_MARKS: Final = {"b": 1, "strong": 1, "em": 2, "i": 2, "code": 4, "tt": 4, "time": 8, "img": 16, "small": 32, "label": 64,
                       "sup": 128, "cite": 2}  # fmt: skip
_UNSIGNED: Final = (None, None, None, None)
_BREAKS: Final = frozenset(("br", "hr"))
_CONTAINER, _INLINE_PART, _BREAK, _NO_PART = range(4)
_PARTS: Final[dict[Any, int]] = {
    **dict.fromkeys(_INLINE, _INLINE_PART), **dict.fromkeys(_BREAKS, _BREAK),
    **dict.fromkeys((*_SKIPPED, etree.Comment, etree.ProcessingInstruction, etree.Entity), _NO_PART),
}  # fmt: skip
_HIDDEN: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:^|[\s;])(?:left|top|text-indent|margin-left)\s*:\s*-\d{3}|"
    r"(?:^|[\s;])(?:max-)?(?:height|width|font-size|opacity)\s*:\s*0(?:px)?\s*(?:;|$)",
    re.IGNORECASE,
)
_DIGITS: Final = re.compile(r"\d+")
MARKS_REMOVED: Final = str.maketrans("", "", LINK_START + LINK_END)
_NO_TEXT: Final = f"{LINK_START}{LINK_END} \n"
_PARAGRAPHS: Final = re.compile(r"\n[ \t\r]*\n")
MAX_SIGNATURE_CHARS: Final = 200


@dataclass(slots=True)
class Blocks:
    """Containers and blocks in page order; lists of one container or block each run in parallel.

    Attributes:
        elements: each container; the first is the root.
        tags: its tag.
        parents: its parent's place; -1 for the root.
        signatures: its class, id, role and itemprop in small letters, without digits; as a place in ``names``.
        contexts: bits of ``CONTEXTS`` of the container and of those around it.
        paths: number of its path: tags and signatures from the root to it.
        path_starts: the first container of each path.
        first: place of the first block in or behind the start of the container.
        last: place behind the last block in the container.
        names: distinct signatures.
        texts: text of each block, with ``LINK_START`` and ``LINK_END`` around link text.
        holders: place of the innermost container of each block.
        inline: bits of ``INLINE_MARKS`` that stand in the block.
        inline_signatures: signature of the block's first inline element that has one, a place in ``names``; 0 for none.
        images: images in the page before each block.
    """

    elements: list[_Element] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    signatures: list[int] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)
    paths: list[int] = field(default_factory=list)
    path_starts: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    holders: list[int] = field(default_factory=list)
    inline: list[int] = field(default_factory=list)
    inline_signatures: list[int] = field(default_factory=list)
    images: list[int] = field(default_factory=list)

    def text(self, place: int) -> str:
        """Text of a block without marks of links."""
        return self.texts[place].replace(LINK_START, "").replace(LINK_END, "")


def read_blocks(root: _Element) -> Blocks:
    """Containers and blocks of a tree, by one walk without recursion."""
    return _Walk().run(root)


class _Walk:
    """State of one walk: open elements on a stack, the text of the open block in pieces."""

    def __init__(self) -> None:
        self.blocks = Blocks(names=[""])
        self.places: dict[str, int] = {"": 0}
        self.known: dict[tuple[str | None, ...], int] = {_UNSIGNED: 0}
        self.path_places: dict[tuple[int, str, int], int] = {}
        self.pieces: list[str] = []
        self.marks = self.inline_signature = self.image_count = 0
        self.in_link = False

    def run(self, root: _Element) -> Blocks:  # noqa: C901, PLR0912 - one loop; a call for each element costs as much as the loop
        blocks, pieces, texts, last = self.blocks, self.pieces, self.blocks.texts, self.blocks.last
        container = self._open(root, root.tag, -1)
        stack: list[tuple[Iterator[_Element], int, str | None, bool]] = []
        children: Iterator[_Element] = iter(root)
        if root.text and not root.text.isspace():
            pieces.append(root.text)
        while True:
            for element in children:
                tag, tail = element.tag, element.tail
                part = _PARTS.get(tag, _CONTAINER)
                if part <= _INLINE_PART:
                    inner, starts_link = container, False
                    if part:
                        self._inline(element, tag)
                        starts_link = tag == "a" and not self.in_link
                        if starts_link:
                            self.in_link = True
                            pieces.append(LINK_START)
                    else:
                        self._flush(container)
                        inner = self._open(element, tag, container)
                    if (text := element.text) and (pieces or not text.isspace()):
                        pieces.append(text)
                    if len(element):
                        stack.append((children, container, tail, starts_link))
                        children, container = iter(element), inner
                        break
                    if not part:
                        self._flush(inner)
                        last[inner] = len(texts)
                    elif starts_link:
                        self._end_link()
                elif part == _BREAK:
                    self._flush(container)
                if tail and (pieces or not tail.isspace()):
                    pieces.append(tail)
            else:
                if last[container] < 0 and (not stack or stack[-1][1] != container):
                    self._flush(container)
                    last[container] = len(texts)
                if not stack:
                    return blocks
                children, container, tail, ends_link = stack.pop()
                if ends_link:
                    self._end_link()
                if tail and (pieces or not tail.isspace()):
                    pieces.append(tail)

    def _end_link(self) -> None:
        self.in_link = False
        self.pieces.append(LINK_END)

    def _signature(self, element: _Element, names: list[str]) -> int:
        get = element.get
        key = (
            get("class") if "class" in names else None,
            get("id") if "id" in names else None,
            get("itemprop") if "itemprop" in names else None,
            get("role") if "role" in names else None,
        )
        place = self.known.get(key)
        if place is None:
            name = key[0] or ""
            for mark, value in zip("#=@", key[1:], strict=True):
                if value:
                    name = f"{name} {mark}{value}"
            # digits are numbers of posts and of widgets: what differs in them alone is of one kind
            short = _DIGITS.sub("0", name[:MAX_SIGNATURE_CHARS])
            place = self.places.get(short)
            if place is None:
                place = self.places[short] = len(self.blocks.names)
                self.blocks.names.append(short)
            self.known[key] = place
        return place

    def _open(self, element: _Element, tag: str, parent: int) -> int:
        blocks = self.blocks
        place, signature = len(blocks.tags), 0
        context = _TAG_BITS.get(tag, 0)
        path = -1
        if parent >= 0:
            context |= blocks.contexts[parent]
            path = blocks.paths[parent]
        if self.in_link:
            context |= _BIT["link"]
        names: Any = element.keys()
        if names:
            if "role" in names and (role := element.get("role")) in _ROLES:
                context |= _BIT[_ROLES[role]]
            if "hidden" in names or ("style" in names and _HIDDEN.search(element.get("style", ""))):
                context |= _BIT["hidden"]
            signature = self._signature(element, names)
        key = (path, tag, signature)
        known = self.path_places.get(key)
        if known is None:
            known = self.path_places[key] = len(blocks.path_starts)
            blocks.path_starts.append(place)
        blocks.paths.append(known)
        blocks.signatures.append(signature)
        blocks.elements.append(element)
        blocks.tags.append(tag)
        blocks.parents.append(parent)
        blocks.contexts.append(context)
        blocks.first.append(len(blocks.texts))
        blocks.last.append(-1)
        return place

    def _inline(self, element: _Element, tag: str) -> None:
        mark = INLINE_MARKS.get(tag)
        if mark is not None:
            self.marks |= mark
            if mark == INLINE_MARKS["img"]:
                self.image_count += 1
        if not self.inline_signature and tag != "img":
            names: Any = element.keys()
            if names:
                self.inline_signature = self._signature(element, names)

    def _flush(self, container: int) -> None:
        """End the open block, if it has text."""
        pieces = self.pieces
        if pieces:
            raw = "".join(pieces)
            pieces.clear()
            if self.in_link:
                raw += LINK_END
            if self.blocks.contexts[container] & _BIT["pre"]:
                for part in _parts(raw):
                    self._add(part, container)
            else:
                self._add(" ".join(raw.split()) if raw.isascii() else fold(raw), container)
            if self.in_link:
                pieces.append(LINK_START)
        self.marks = self.inline_signature = 0

    def _add(self, text: str, container: int) -> None:
        if not text.strip(_NO_TEXT):
            return
        blocks = self.blocks
        blocks.texts.append(text)
        blocks.holders.append(container)
        blocks.inline.append(self.marks)
        blocks.inline_signatures.append(self.inline_signature)
        blocks.images.append(self.image_count)


def _parts(raw: str) -> list[str]:
    """Preformatted text cut at blank lines and where quoted lines of a message begin or end."""
    parts: list[str] = []
    for paragraph in _PARAGRAPHS.split(raw):
        lines: list[str] = []
        quoted = False
        for line in paragraph.split("\n"):
            is_quoted = line.lstrip(" \t\ufdd0").startswith((">", "|"))
            if lines and is_quoted != quoted:
                parts.append("\n".join(lines))
                lines = []
            quoted = is_quoted
            if stripped := line.rstrip():
                lines.append(stripped)
        if lines:
            parts.append("\n".join(lines))
    return parts
