"""One pass over the tags of a page: which texts stand together, and in which block element.

Everything inherited (what is left out, the link around a text) is handed down, never looked up. No text is decoded here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.markup import (
    BLOCK,
    BREAK,
    LEFT_OUT,
    LINK,
    PLAIN_REACH,
    REACH,
    is_closed,
    number_of,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.reading.guard import Deadline
    from es_dedup.extraction.reading.markup import CutTags

_PRE: Final = number_of("pre")
_P: Final = number_of("p")
_LINK_END: Final = ~number_of("a")
_SLASH: Final = ord("/")
_BREAKING: Final = (BLOCK, BREAK)
_HOLDING: Final = (BLOCK, LEFT_OUT)
_CHUNK: Final = 4_096  # tags between looks at the clock


@dataclass(slots=True)
class Runs:
    """Texts of a page: a *run* is what no block element and no ``<br>`` breaks, its *parts* are the texts between the tags in it.

    A run begins with anything but plain white space; with white space of other kinds it may.

    Attributes:
        written: all parts in page order, as written, in UTF-8, with a null byte between two.
        linked: of each part, 0 where it stands in no link.
        firsts: of each run, its first part; behind the last run the number of parts.
        around: of each run, the innermost block element around it.
        ends: of each run, how many links have begun in the page up to its end, and how many elements are open behind it.
        elements: of each block element, the place of its tag; and the one around it, -1 for the first.
    """

    written: bytes = b""
    linked: Sequence[int] = ()
    firsts: list[int] = field(default_factory=list)
    around: list[int] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)
    elements: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))


def walk(tags: CutTags, deadline: Deadline, max_depth: int) -> Runs | None:
    """Read all tags once; None where elements are open deeper than allowed.

    Raises:
        DeadlineExceeded: the time is up.
    """
    reader = _Walk(tags)
    for start in range(0, len(tags.numbers), _CHUNK):
        deadline.check()
        reader.read(start, start + _CHUNK)
        if len(reader.open) > max_depth:
            return None
    return reader.end()


class _Walk:
    """What is open at one place of a page."""

    def __init__(self, tags: CutTags) -> None:
        self.tags, self.runs = tags, Runs()
        self.parts: list[bytes] = []
        self.linked: list[int] = []
        self.links = 0
        self.within = False  # a run has begun, and nothing has broken it
        self.open: list[int] = []  # numbers of the open elements
        self.blocks: list[int] = [-1]  # the open block elements
        self.left_out = 0  # how many elements are open at the first that is left out; 0 for none
        self.in_link = 0  # how many elements were open at the link that is open; 0 for none
        self.has_pre = _PRE in tags.numbers

    def end(self) -> Runs:
        """What was found, at the end of the page."""
        self._break()
        self.runs.firsts.append(len(self.parts))
        self.runs.written, self.runs.linked = b"\0".join(self.parts), self.linked
        return self.runs

    def read(self, start: int, end: int) -> None:  # noqa: C901, PLR0912, PLR0915 - one loop over all tags; a call for each costs a third more
        """Read some tags."""
        opened, blocks, runs, tags = self.open, self.blocks, self.runs, self.tags
        parts, linked, ends = self.parts, self.linked, runs.ends
        places, parents = runs.elements
        roles, closes = tags.roles, tags.closes
        left_out, in_link, links, within = self.left_out, self.in_link, self.links, self.within
        for place, number, written, text in tags.rows(start, end):
            closing = -1
            if number < 0:
                if opened[-1] == ~number and not left_out:  # the usual case; the others are all in _close
                    opened.pop()
                    blocks.pop()
                    if within:
                        within = False
                        ends.append((links, len(opened)))
                    if in_link > len(opened):
                        in_link = 0
                elif number == _LINK_END:
                    in_link = 0
                else:
                    closing = self._reached(~number, left_out)
            elif number in closes and opened[-1] in closes[number]:
                closing = 1
                while opened[-1 - closing] in closes[number]:
                    closing += 1
            if closing >= 0:
                self.within, self.links = within, links
                left_out, in_link = self._close(closing, left_out, in_link)
                within = self.within
            if number > 0:
                role = roles[number]
                if role in _BREAKING and not left_out:
                    if within:
                        within = False
                        ends.append((links, len(opened)))
                    if role == BLOCK and not (written and written[-1] == _SLASH and is_closed(written)):
                        opened.append(number)
                        parents.append(blocks[-1])
                        blocks.append(len(places))
                        places.append(place)
                elif role == LINK:
                    if not left_out:
                        links += 1
                        closed = written and written[-1] == _SLASH and is_closed(written)
                        in_link = 0 if closed else len(opened)
                elif role in _HOLDING and not (written and written[-1] == _SLASH and is_closed(written)):
                    opened.append(number)
                    left_out = left_out or len(opened)
            if text and not left_out:
                if self.has_pre and _PRE in opened:
                    within = self._lines(text, links, in_link, within=within)
                elif within or not text.isspace():
                    if not within:
                        within = True
                        runs.firsts.append(len(parts))
                        runs.around.append(blocks[-1])
                    parts.append(text)
                    linked.append(in_link)
        self.left_out, self.in_link, self.links, self.within = left_out, in_link, links, within

    def _break(self) -> None:
        """End the run that has begun, if any."""
        if self.within:
            self.within = False
            self.runs.ends.append((self.links, len(self.open)))

    def _close(self, count: int, left_out: int, in_link: int) -> tuple[int, int]:
        """Close the innermost elements; gives what is left out and the link that is open behind them. None closed is a break."""
        if not count:
            self._break()
        for _ in range(count):
            self.open.pop()
            if left_out:
                left_out *= left_out <= len(self.open)
            else:
                self._break()
                self.blocks.pop()
                if in_link > len(self.open):
                    in_link = 0
        return left_out, in_link

    def _reached(self, number: int, left_out: int) -> int:
        """How many elements an end tag closes; -1 where one inside reaches farther, or there is none.

        The end of a paragraph without its beginning stands for an empty one: 0.
        """
        if number in self.open:
            reach = REACH.get(number, PLAIN_REACH)
            for count, inner in enumerate(reversed(self.open), 1):
                if inner == number:
                    return count
                if REACH.get(inner, PLAIN_REACH) > reach:
                    break
        return 0 if number == _P and not left_out else -1

    def _lines(self, text: bytes, links: int, in_link: int, *, within: bool) -> bool:
        """Preformatted text: each line is a run of its own; whether one has begun behind it."""
        self.within, self.links = within, links
        for line in text_of(text).splitlines(keepends=True):
            if not self.within:
                if line.isspace():
                    continue
                self.within = True
                self.runs.firsts.append(len(self.parts))
                self.runs.around.append(self.blocks[-1])
            self.parts.append(line.replace("&", "&amp;").encode("utf-8", "replace"))
            self.linked.append(in_link)
            if line.endswith("\n"):
                self._break()
        return self.within
