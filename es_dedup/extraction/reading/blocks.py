"""From runs of text to blocks: characters are decoded, references resolved, white space folded; elements with text become nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from itertools import compress, pairwise, repeat
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from es_dedup.extraction.reading.markup import HIDDEN, is_wide_space, read_attributes
from es_dedup.extraction.reading.measures import is_ideograph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from es_dedup.extraction.reading.markup import CutTags, Look, Opened
    from es_dedup.extraction.reading.walk import Runs

_ASCII_SPACE: Final = " \t\n\r\x0b\x0c"
_INVISIBLE: Final = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ud800-\udfff\x00-\x08\x0e-\x1f]+"
)


class Node(NamedTuple):
    """A block element.

    Attributes:
        index: place in ``Document.nodes``; children come after their parent.
        parent: index of the enclosing block element, -1 for the root.
        written: its attributes, as they are written.
        names: its class attribute, its id, both or none, with a space between.
        role: its role attribute.
        hidden: by its own or an enclosing ``hidden`` attribute or style.
        mark: its tag and the first word of its names, without digits.
    """

    index: int  # type: ignore[assignment]  # in place of the method of tuples
    parent: int
    tag: str
    written: bytes = b""
    names: str = ""
    role: str = ""
    hidden: bool = False
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
        hidden: by an element around it.
        text: with single spaces; never empty.
        chars: length without white space.
        link_chars: how many of them stand in links, 0..chars.
        led: it begins with a link.
        links: number of links that begin in it.
    """

    node: int
    hidden: bool
    text: str
    chars: int
    link_chars: int
    led: bool
    links: int


_MAKE_NODE: Final[Callable[[type[Node], Iterable[object]], Node]] = tuple.__new__
"""Without a call in Python: a page has hundreds, of which few are asked for anything. Blocks are asked ten times each, and slots answer faster."""


class ByLook(NamedTuple):
    """Looks in columns, see ``markup.Look``."""

    tags: Sequence[str] = ()
    written: Sequence[bytes] = ()
    names: Sequence[str] = ()
    roles: Sequence[str] = ()
    hidden: Sequence[bool] = ()
    marks: Sequence[str] = ()


@dataclass(slots=True)
class Elements:
    """The elements around the blocks of a page.

    Attributes:
        nodes: each behind the one around it.
        parents: of each, the index of the one around it, -1 for none.
        look_of: of each, which of the looks it has: equal elements have one.
        looks: what looks there are.
        by_look: the same in columns.
        ends: of each, the index behind the last element in it.
        holders: of each block, the index of the element around it.
    """

    nodes: list[Node] = field(default_factory=list)
    parents: Sequence[int] = ()
    look_of: Sequence[int] = ()
    looks: Sequence[Look] = ()
    ends: Sequence[int] = ()
    holders: Sequence[int] = ()
    by_look: ByLook = field(init=False)

    def __post_init__(self) -> None:
        self.by_look = ByLook(*zip(*self.looks, strict=True)) if self.looks else ByLook()


def read_blocks(runs: Runs) -> tuple[list[int], list[tuple[object, ...]], int]:
    """Blocks in page order.

    Returns:
        The element around each, the values of ``Block`` from its text on, and how many elements are open behind the deepest.
    """
    around: list[int] = []
    rows: list[tuple[object, ...]] = []
    texts = runs.written.decode("utf-8", "ignore").split("\0")
    linked = runs.linked
    before = deepest = 0
    for (first, end), element, (links, depth) in zip(
        pairwise(runs.firsts), runs.around, runs.ends, strict=True
    ):
        if end - first == 1:
            found = whole_text(texts[first], linked[first])
        else:
            found = joined_text(texts[first:end], linked[first:end])
        if found is None:
            continue
        if found[0]:
            around.append(element)
            rows.append((*found, links - before))
            if depth > deepest:  # noqa: PLR1730 - for each block of a page; a call costs more
                deepest = depth
        before = links
    return around, rows, deepest


def read_nodes(tags: CutTags, opened: Opened, around: Sequence[int]) -> Elements:
    """The elements around the blocks.

    Args:
        tags: of the page.
        opened: all elements of the page.
        around: of each block, the one around it.
    """
    holders, parents, look_of, looks = tags.elements(opened, around)
    ends = list(range(1, len(parents) + 1))
    for index in range(len(parents) - 1, 0, -1):
        parent = parents[index]
        if parent >= 0 and ends[parent] < ends[index]:
            ends[parent] = ends[index]
    return Elements(make_nodes(parents, look_of, looks), parents, look_of, looks, ends, holders)


def make_nodes(parents: Sequence[int], look_of: Sequence[int], looks: Sequence[Look]) -> list[Node]:
    """Elements of what is known of them."""
    own: Iterable[Look] = map(looks.__getitem__, look_of)
    if any(look[HIDDEN] for look in looks):
        own = _handed_down(parents, look_of, looks)
    return list(map(_MAKE_NODE, repeat(Node), map(add, enumerate(parents), own)))


def _handed_down(parents: Sequence[int], look_of: Sequence[int], looks: Sequence[Look]) -> list[Look]:
    """The look of each element, hidden where an element around it is."""
    inside: list[Look] = [
        (tag, written, names, role, True, mark) for tag, written, names, role, _, mark in looks
    ]
    found: list[Look] = []
    for parent, look in zip(parents, look_of, strict=True):
        found.append(inside[look] if parent >= 0 and found[parent][HIDDEN] else looks[look])
    return found


def make_blocks(elements: Elements, columns: Iterable[Iterable[Any]]) -> list[Block]:
    """Blocks of the columns of ``Block`` from its text on."""
    hidden: Iterable[bool] = repeat(False)  # noqa: FBT003
    if any(elements.by_look.hidden):
        hidden = [elements.nodes[node].hidden for node in elements.holders]
    return list(map(Block, elements.holders, hidden, *columns))


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
        if before and not (is_ideograph(before, len(before) - 1) and is_ideograph(line)):
            joined.append(" ")
        joined.append(line)
        before = line
    return "".join(joined)
