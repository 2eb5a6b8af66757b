"""From runs of text to blocks: characters are decoded, references resolved, white space folded; elements with text become nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.markup import is_wide_space, read_attributes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.markup import Tags
    from es_dedup.extraction.walk import Runs

_ASCII_SPACE: Final = " \t\n\r\x0b\x0c"
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


def read_blocks(tags: Tags, runs: Runs) -> tuple[list[Node], list[Block], int]:
    """Nodes and blocks of a page in page order, and how many elements are open behind the deepest block."""
    nodes: list[Node] = []
    blocks: list[Block] = []
    known = [-1] * len(runs.parents)  # index of the node of each block element
    texts = runs.written.decode("utf-8", "ignore").split("\0")
    linked = runs.linked
    before = deepest = 0
    columns = zip(pairwise(runs.firsts), runs.around, runs.links, runs.depths, strict=True)
    for (first, end), around, links, depth in columns:
        text = texts[first]
        if not text[:1].isalnum():
            while first < end and _is_space(texts[first]):
                first += 1  # noqa: PLW2901 - what is left out before a text is no part of it
            if first == end:
                continue
            text = texts[first]
        if end - first == 1:
            if "&" in text:
                text = unescape(text)
            text = text.strip()
            if "  " in text or not text.isprintable():
                text = clean(text)
            chars = len(text) - text.count(" ")
            link_chars = chars if linked[first] else 0
        else:
            text, chars, link_chars = _joined(texts[first:end], linked[first:end])
        if text:
            node = known[around]
            if node < 0:
                node = _add_nodes(nodes, known, tags, runs, around)
            led = link_chars > 0 and linked[first] > 0
            blocks.append(Block(node, text, chars, link_chars, nodes[node].hidden, links - before, led))
            if depth > deepest:  # noqa: PLR1730 - for each block of a page; a call costs more
                deepest = depth
        before = links
    return nodes, blocks, deepest


def _joined(parts: list[str], linked: Sequence[int]) -> tuple[str, int, int]:
    """Text, length and length of link text of a run of several parts; references to characters end where their part ends."""
    if not parts[-1].strip(_ASCII_SPACE):
        parts.pop()
        linked = linked[:-1]
    text = "".join(parts)
    if "&" in text:
        parts = list(map(unescape, parts))
        text = "".join(parts)
    text = text.strip()
    if "  " in text or not text.isprintable():
        text = clean(text)
    chars = len(text) - text.count(" ")
    if not any(linked):
        return text, chars, 0
    if all(linked):
        return text, chars, chars
    link_text = "".join([part for part, is_linked in zip(parts, linked, strict=True) if is_linked])
    return text, chars, min(chars, _length(link_text))


def _length(text: str) -> int:
    """Of all characters but white space."""
    return len(text) - text.count(" ") if text.isprintable() else sum(map(len, text.split()))


def _is_space(text: str) -> bool:
    written = text.encode()
    return written.isspace() or is_wide_space(written)


def _add_nodes(nodes: list[Node], known: list[int], tags: Tags, runs: Runs, around: int) -> int:
    """The node of a block element, made with those of all elements around it that have none yet."""
    places, parents = runs.places, runs.parents
    chain = [around]
    above = parents[around]
    while above >= 0 and known[above] < 0:
        chain.append(above)
        above = parents[above]
    parent = known[above] if above >= 0 else -1
    hidden = parent >= 0 and nodes[parent].hidden
    for element in reversed(chain):
        tag, written = tags.element(places[element])
        index = known[element] = len(nodes)
        if written:
            names, role, hides = _named(written)
            hidden = hidden or hides
            nodes.append(Node(index, parent, tag, written, hidden, names, role))
        else:
            nodes.append(Node(index, parent, tag, b"", hidden))
        parent = index
    return parent


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
