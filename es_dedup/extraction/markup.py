"""Markup as a flat list of tags and texts, and what HTML says of each tag: role, what it closes, how far its end reaches.

No tree is built. Pages have five times as many elements as elements that matter here, and an object for each of them costs more
than reading the markup. What closes what is as in libxml2, so the blocks are those of its tree (``tests/reference/blocks``).
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK, INLINE, LINK, BREAK, NOTHING, LEFT_OUT = range(6)
"""Roles of elements. ``BREAK`` and ``NOTHING`` never hold anything: a line break, and an image or the like."""

MAX_INNER_CHARS: Final = 2_000
"""Headings and titles are short; nothing longer is read as one."""

_TAG: Final = re.compile(
    rb"""<(/?[a-zA-Z][^\s/>]*+)([^>=]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?[^>=]*+)*+)>"""
)
_ATTRIBUTE: Final = re.compile(
    r"""([^\s=>/][^\s=>/]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+"""
)
_REFERENCE: Final = re.compile(r"&#?\w{1,32};")  # in values a name without semicolon is part of an address
_UNQUOTED_END: Final = re.compile(rb"""=\s*+[^\s"'>][^\s>]*+$""")

_INLINE_TAGS: Final = (
    "abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr o:p q rb ruby s samp small span strike "
    "strong sub sup time tt u var g-emoji st1:chsdate"
)
_LEFT_OUT_TAGS: Final = (
    "title script style noscript template iframe object applet svg math canvas select option button "
    "textarea datalist audio video map rp rt frameset noframes"
)
_VOID_BREAKS: Final = "br hr base basefont col frame isindex param"
_VOID_NOTHING: Final = "head img input link meta"  # a head holds no text once its title is taken out
# New tag: the tags that it closes while one of them is the innermost.
_CLOSES: Final = {
    "a": "a",
    "address": "p ul",
    "blockquote": "p",
    "caption": "p",
    "center": "b font i p",
    "col": "caption p",
    "colgroup": "caption colgroup p",
    "dd": "address dir dt menu p pre",
    "dir": "p",
    "div": "p",
    "dl": "address dir dt menu p pre",
    "dt": "address dd dir menu p pre",
    "fieldset": "a h1 h2 h3 h4 h5 h6 legend p pre",
    "form": "address dir dl form h1 h2 h3 h4 h5 h6 menu ol p pre ul",
    "frameset": "p",
    **dict.fromkeys("h1 h2 h3 h4 h5 h6 hr ol xmp title".split(), "p"),
    "li": "address dl h1 h2 h3 h4 h5 h6 li p pre",
    "menu": "p ul",
    "optgroup": "option",
    "option": "option",
    "p": "b big h1 h2 h3 h4 h5 h6 i p s small strike tt u",
    "pre": "p ul",
    "table": "a h1 h2 h3 h4 h5 h6 p pre",
    "tbody": "caption colgroup p tbody td tfoot th thead tr",
    "td": "a b font i p span td th u",
    "tfoot": "caption colgroup p tbody td th thead tr",
    "th": "a b font i p span td th u",
    "thead": "caption colgroup",
    "tr": "caption colgroup p td th tr",
    "ul": "address dir menu p pre",
}
_ROOT: Final = b"<html><body>"  # in every page; its own tags only say what these two are called
_MAX_SPACE: Final = 200
PLAIN_REACH: Final = 100
_REACH: Final = {
    "div": 150,
    "td": 160,
    "th": 160,
    "tr": 170,
    "thead": 180,
    "tbody": 180,
    "tfoot": 180,
    "table": 190,
    "body": 200,
    "html": 220,
}
"""An end tag closes nothing through an open element that reaches farther than its own."""


class _Names:
    """Numbers of tag names, with what is known of each."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.roles: list[int] = []
        for names, role in (
            ("html body " + " ".join((*_CLOSES, *_CLOSES.values(), *_REACH)), BLOCK),
            (_INLINE_TAGS, INLINE),
            ("a", LINK),
            (_VOID_BREAKS, BREAK),
            (_VOID_NOTHING + " wbr embed", NOTHING),
            (_LEFT_OUT_TAGS, LEFT_OUT),
            ("address article aside dd details dl figcaption figure footer header main nav section summary", BLOCK),
        ):
            for name in names.split():
                self._add(name, role)
        closes = {self.numbers[new.encode()]: old.split() for new, old in _CLOSES.items()}
        self.closes = {new: frozenset(self.numbers[name.encode()] for name in old) for new, old in closes.items()}
        self.reach = {self.numbers[name.encode()]: reach for name, reach in _REACH.items()}
        self.names = list(self.numbers)
        for name, number in list(self.numbers.items()):
            self.numbers[b"/" + name] = ~number

    def _add(self, name: str, role: int) -> None:
        number = self.numbers.setdefault(name.encode(), len(self.roles))
        if number == len(self.roles):
            self.roles.append(role)
        else:
            self.roles[number] = role


_KNOWN: Final = _Names()
CLOSES: Final = _KNOWN.closes
REACH: Final = _KNOWN.reach


def number_of(name: str) -> int:
    """The number that stands for a known tag."""
    return _KNOWN.numbers[name.encode()]


_FOUND: Final = frozenset(map(number_of, "meta link h1 time video audio object embed".split()))


class _Numbers(dict[bytes, int]):
    """Numbers of the tags of one page, as they are written; names never heard of get numbers of their own."""

    def __init__(self) -> None:
        super().__init__(_KNOWN.numbers)
        self.roles = _KNOWN.roles.copy()
        self.names = _KNOWN.names.copy()

    def __missing__(self, tag: bytes) -> int:
        lower = tag.lower()
        is_end = lower.startswith(b"/")
        name = lower[1:] if is_end else lower
        number = dict.get(self, name)
        if number is None:
            number = self[name] = len(self.names)
            self.names.append(name)
            self.roles.append(BLOCK)
        self[tag] = number = ~number if is_end else number
        return number


class Tags:
    """The tags of a page in order, each with its attributes and the text up to the next one; ``html`` and ``body`` before all others.

    Attributes:
        numbers: of each tag; of an end tag the complement (``~``) of it.
        attributes: of each tag, as written, in UTF-8.
        texts: behind each tag, as written.
        names: by number, in lower case.
        roles: by number.
    """

    def __init__(self, markup: bytes) -> None:
        pieces = _TAG.split(_ROOT + markup)
        numbers = _Numbers()
        self.markup = markup
        self.numbers = list(map(numbers.__getitem__, pieces[1::3]))
        self.attributes: list[bytes] = pieces[2::3]
        self.texts: list[bytes] = pieces[3::3]
        self.names, self.roles = numbers.names, numbers.roles
        self._found: dict[int, list[int]] = {number: [] for number in _FOUND}
        for place in [place for place, number in enumerate(self.numbers) if number in _FOUND]:
            self._found[self.numbers[place]].append(place)

    def places(self, *names: str) -> list[int]:
        """Places of the start tags of some of the names ``meta link h1 time video audio object embed``, in page order."""
        return sorted(place for name in names for place in self._found[number_of(name)])

    def name_at(self, place: int) -> str:
        """Name of a tag in lower case; empty for an end tag."""
        number = self.numbers[place]
        return "" if number < 0 else self.names[number].decode("utf-8", "replace")

    def attributes_at(self, place: int) -> dict[str, str]:
        """Attributes of a tag."""
        return read_attributes(self.attributes[place])

    def inner_text(self, place: int) -> str:
        """Text inside an element, at most ``MAX_INNER_CHARS`` bytes of it, as written; empty for a tag that never holds any."""
        number = self.numbers[place]
        if self.roles[number] in (BREAK, NOTHING):
            return ""
        return "".join(map(text_of, self._inside(place, number)))[:MAX_INNER_CHARS]

    def _inside(self, place: int, number: int) -> Iterator[bytes]:
        depth = length = 0
        for at in range(place, len(self.numbers)):
            depth += (self.numbers[at] == number) - (self.numbers[at] == ~number)
            if depth <= 0 or length > MAX_INNER_CHARS:
                return
            yield self.texts[at]
            length += len(self.texts[at])


def is_closed(attributes: bytes) -> bool:
    """The tag ends with a slash, which is no part of an unquoted value."""
    return attributes.endswith(b"/") and not _UNQUOTED_END.search(attributes)


def is_wide_space(written: bytes) -> bool:
    """Nothing but white space of any kind, in a text that is short and not plain ASCII."""
    if len(written) > _MAX_SPACE or (written.isascii() and b"&" not in written):
        return False
    return text_of(written).isspace()


def text_of(written: bytes) -> str:
    """Characters of a text or a value, with references to characters resolved."""
    text = written.decode("utf-8", "ignore")
    return unescape(text) if "&" in text else text


def read_attributes(written: bytes) -> dict[str, str]:
    """Names in lower case to values; the first of equal names counts."""
    found: dict[str, str] = {}
    for name, double, single, plain in _ATTRIBUTE.findall(text := written.decode("utf-8", "replace")):
        found.setdefault(name.lower(), double or single or plain)
    if "&" in text:
        return {name: _REFERENCE.sub(lambda match: unescape(match[0]), value) for name, value in found.items()}
    return found
