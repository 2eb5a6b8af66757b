"""From runs of text to blocks: characters are decoded, references resolved, white space folded; elements with text become nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.markup import HIDDEN, is_wide_space, read_attributes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.reading.markup import Elements, Look, Tags
    from es_dedup.extraction.reading.walk import Runs

_ASCII_SPACE: Final = " \t\n\r\x0b\x0c"
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
        mark: its tag and the first word of its names, without digits.
    """

    index: int
    parent: int
    tag: str
    written: bytes = b""
    hidden: bool = False
    names: str = ""
    role: str = ""
    mark: str = ""

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


def read_blocks(runs: Runs) -> tuple[list[Block], int]:
    """Blocks of a page in page order, with the element around each in place of its node, and how many elements are open behind the deepest."""
    blocks: list[Block] = []
    texts = runs.written.decode("utf-8", "ignore").split("\0")
    linked = runs.linked
    before = deepest = 0
    for (first, end), around, (links, depth) in zip(
        pairwise(runs.firsts), runs.around, runs.ends, strict=True
    ):
        if end - first == 1:
            found = whole_text(texts[first], linked[first])
        else:
            found = joined_text(texts[first:end], linked[first:end])
        if found is None:
            continue
        text, chars, link_chars, led = found
        if text:
            blocks.append(Block(around, text, chars, link_chars, False, links - before, led))  # noqa: FBT003
            if depth > deepest:  # noqa: PLR1730 - for each block of a page; a call costs more
                deepest = depth
        before = links
    return blocks, deepest


def read_nodes(
    tags: Tags, elements: Elements, blocks: Sequence[Block]
) -> tuple[list[Node], Sequence[int], Sequence[Look]]:
    """The elements around the blocks, each behind the one around it; blocks are told which is theirs.

    Returns:
        Elements, the number of the look of each, and what looks there are.
    """
    holders, parents, kinds, looks = tags.elements(elements, [block.node for block in blocks])
    nodes: list[Node] = []
    for index, (parent, kind) in enumerate(zip(parents, kinds, strict=True)):
        tag, written, names, role, hidden, mark = looks[kind]
        nodes.append(Node(index, parent, tag, written, hidden, names, role, mark))
    for block, holder in zip(blocks, holders, strict=True):
        block.node = holder
    if any(look[HIDDEN] for look in looks):
        for node in nodes:
            node.hidden = node.hidden or (node.parent >= 0 and nodes[node.parent].hidden)
        for block in blocks:
            block.hidden = nodes[block.node].hidden
    return nodes, kinds, looks


def whole_text(text: str, linked: int) -> tuple[str, int, int, bool] | None:
    """Text, length, length of link text, and whether it begins with a link, of a run of one part; None for white space of any kind."""
    if not text[:1].isalnum() and _is_space(text):
        return None
    if "&" in text:
        text = unescape(text)
    text = text.strip()
    if "  " in text or not text.isprintable():
        text = clean(text)
    chars = len(text) - text.count(" ")
    return (text, chars, chars, chars > 0) if linked else (text, chars, 0, False)


def joined_text(parts: list[str], linked: Sequence[int]) -> tuple[str, int, int, bool] | None:
    """The same of a run of several parts; references to characters end where their part ends."""
    if not parts[0][:1].isalnum():
        first = next((place for place, part in enumerate(parts) if not _is_space(part)), len(parts))
        parts, linked = parts[first:], linked[first:]
        if not parts:
            return None
        if len(parts) == 1:
            return whole_text(parts[0], linked[0])
    if not parts[-1].strip(_ASCII_SPACE):
        parts, linked = parts[:-1], linked[:-1]
    text = "".join(parts)
    if "&" in text:
        parts = list(map(unescape, parts))
        text = "".join(parts)
    text = text.strip()
    if "  " in text or not text.isprintable():
        text = clean(text)
    chars = len(text) - text.count(" ")
    if not any(linked):
        return text, chars, 0, False
    if all(linked):
        return text, chars, chars, chars > 0
    link_chars = min(chars, _length("".join(compress(parts, linked))))
    return text, chars, link_chars, link_chars > 0 and linked[0] > 0


def _length(text: str) -> int:
    """Of all characters but white space."""
    return len(text) - text.count(" ") if text.isprintable() else sum(map(len, text.split()))


def _is_space(text: str) -> bool:
    first = text.lstrip()[:1]
    if first and first != "&":
        return False
    written = text.encode()
    return written.isspace() or is_wide_space(written)


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
