"""Markup as a flat list of tags and texts, and what HTML says of each tag: role, what it closes, how far its end reaches.

``cut`` builds no tree. Pages have five times as many elements as elements that matter here, and an object for each of them costs more
than reading the markup. What closes what is as in libxml2, so the blocks are those of its tree (``tests/reference/blocks``). ``tree``
gives the same list from that tree itself.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import lru_cache
from html import unescape
from itertools import compress
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


BLOCK, LINK, BREAK, LEFT_OUT, NOTED = range(5)
"""Roles of elements. ``BREAK`` never holds anything; ``NOTED`` ones are inline, and looked for later."""

NOTHING: Final = 0
"""Number of all tags that neither break a text nor link it: ``<b>``, ``</b>``, ``<img>`` and the like."""

MAX_INNER_CHARS: Final = 2_000
"""Headings and titles are short; nothing longer is read as one."""

MAX_ATTRIBUTES_BYTES: Final = 20_000
"""Of one tag."""

_TAG: Final = re.compile(
    rb"""<(/?[a-zA-Z][^ \t\n\r\f/>]*+)([^>=]*+(?:=(?:"[^"]*+"|[ \t\n\r\f]*+(?:"[^"]*+"|'[^']*+')?)[^>=]*+)*+)(?:>|\Z)"""
)
"""A tag whose quotations hold every later ``>`` takes the rest of the page, as in browsers: to look on behind its name would be quadratic."""

_ATTRIBUTE: Final = re.compile(r"""([^\s=>/][^\s=>/]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+""")
_REFERENCE: Final = re.compile(r"&#?\w{1,32};")  # in values a name without semicolon is part of an address

_INLINE_TAGS: Final = (
    "abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr o:p q rb ruby s samp small span strike "
    "strong sub sup tt u var wbr g-emoji st1:chsdate img input head"
)
_NOTED_TAGS: Final = "meta link time embed"
_LEFT_OUT_TAGS: Final = (
    "title script style noscript template iframe object applet svg math canvas select option button "
    "textarea datalist audio video map rp rt frameset noframes"
)
_BREAKS: Final = "br hr base basefont col frame isindex param"
# New tag: the tags that it closes while one of them is the innermost.
_CLOSES: Final = {
    **dict.fromkeys("address menu pre".split(), "p ul"),
    **dict.fromkeys("blockquote caption center dir div h1 h2 h3 h4 h5 h6 hr ol".split(), "p"),
    "col": "caption p",
    "colgroup": "caption colgroup p",
    **dict.fromkeys("dd dl".split(), "address dir dt menu p pre"),
    "dt": "address dd dir menu p pre",
    "fieldset": "h1 h2 h3 h4 h5 h6 legend p pre",
    "form": "address dir dl form h1 h2 h3 h4 h5 h6 menu ol p pre ul",
    "li": "address dl h1 h2 h3 h4 h5 h6 li p pre",
    **dict.fromkeys("optgroup option".split(), "option"),
    "p": "h1 h2 h3 h4 h5 h6 p",
    "table": "h1 h2 h3 h4 h5 h6 p pre",
    "tbody": "caption colgroup p tbody td tfoot th thead tr",
    **dict.fromkeys("td th".split(), "p td th"),
    "tfoot": "caption colgroup p tbody td th thead tr",
    "thead": "caption colgroup",
    "tr": "caption colgroup p td th tr",
    "ul": "address dir menu p pre",
}
_ONLY_NAME: Final = re.compile(rb"""\s++(?:class|id)="([^"&]*+)"\s*+""")
_NO_DISPLAY: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DIGITS: Final = {ord(digit): None for digit in "0123456789"}
_UNNAMED: Final = ("", "", False)
Opened: TypeAlias = "tuple[Sequence[int], Sequence[int]]"
"""Places of the start tags of block elements, and the element around each, -1 for none; shape (2, elements)."""

Look: TypeAlias = "tuple[str, bytes, str, str, bool, str]"
"""Of an element: name, attributes as written, class and id, role, whether it is hidden by them, and its mark."""

HIDDEN: Final = 4
"""Place of what a look says of that."""

ROOT: Final = b"<html><body>"  # in every page; its own tags only say what these two are called
_MAX_SPACE: Final = 200
_AND: Final = ord("&")  # a single byte is looked for five times as fast as bytes of length one
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

_EMPTY: Final = frozenset(b"img input meta link br hr embed base basefont col frame isindex param".split())


class _Names:
    """Numbers of tag names, with what is known of each."""

    def __init__(self) -> None:
        roles = dict.fromkeys(
            ("", "html", "body", *" ".join((*_CLOSES, *_CLOSES.values(), *_REACH)).split()), BLOCK
        )
        roles |= dict.fromkeys(_LEFT_OUT_TAGS.split(), LEFT_OUT)
        roles |= dict.fromkeys(_BREAKS.split(), BREAK)
        roles |= dict.fromkeys(_NOTED_TAGS.split(), NOTED)
        roles["a"] = LINK
        self.names = list(roles)
        self.roles = list(roles.values())
        self.numbers = {name.encode(): number for number, name in enumerate(roles)}
        self.closes = {
            self.numbers[new.encode()]: frozenset(self.numbers[name.encode()] for name in old.split())
            for new, old in _CLOSES.items()
        }
        self.reach = {self.numbers[name.encode()]: reach for name, reach in _REACH.items()}
        held = (BLOCK, LINK, LEFT_OUT)
        ends = {b"/" + name: ~number for name, number in self.numbers.items() if self.roles[number] in held}
        self.numbers |= ends
        self.numbers[b"/html"] = NOTHING  # the whole page never ends
        for name in map(str.encode, [*_INLINE_TAGS.split(), *self.names]):
            self.numbers.setdefault(name, NOTHING)
            self.numbers.setdefault(b"/" + name, NOTHING)


KNOWN: Final = _Names()
REACH: Final = KNOWN.reach


def number_of(name: str) -> int:
    """The number that stands for a known tag."""
    return KNOWN.numbers[name.encode()]


FOUND: Final = frozenset(map(number_of, "html body meta link h1 time video audio object embed".split()))
"""Numbers of start tags whose places are asked for."""


MAX_SEARCHED: Final = 4_000
"""Tags: what a page says of itself in its body stands near the head of the text."""


class _Numbers(dict[bytes, int]):
    """Numbers of the tags of one page, as they are written; names never heard of get numbers of their own."""

    def __init__(self) -> None:
        super().__init__(KNOWN.numbers)
        self.roles = KNOWN.roles.copy()
        self.names = KNOWN.names.copy()

    def __missing__(self, tag: bytes) -> int:
        lower = tag.lower()
        number = self.get(lower)
        if number is None:
            name = lower.removeprefix(b"/")
            number = self.get(name)
            if number is None:
                number = self[name] = len(self.names)
                self.names.append(name.decode("utf-8", "replace"))
                self.roles.append(BLOCK)
            number = number if name == lower else ~number
        self[tag] = number
        return number


class Tags(ABC):
    """The tags of a page in order, each with its attributes and the text up to the next one; ``html`` and ``body`` before all others.

    Attributes:
        markup: the page, in UTF-8.
    """

    def __init__(self, markup: bytes, found: Mapping[int, list[int]]) -> None:
        self.markup = markup
        self._found = found

    @property
    @abstractmethod
    def attributes(self) -> Sequence[bytes]:
        """Of each tag, as written."""

    @abstractmethod
    def tag_at(self, place: int) -> tuple[bytes, bytes, bytes]:
        """Name with the slash of an end tag, attributes, and the text behind the tag; all as written."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of tags."""

    def places(self, *names: str) -> list[int]:
        """Places of the start tags of some of the names ``html body meta link h1 time video audio object embed``, in page order."""
        return sorted(place for name in names for place in self._found[number_of(name)])

    @abstractmethod
    def places_with(self, words: tuple[bytes, ...], most: int = MAX_SEARCHED) -> list[int]:
        """Places of the tags in whose attributes, as written, one of the words stands; in page order.

        Args:
            words: of at least three bytes each.
            most: tags that are looked at.
        """

    def name_at(self, place: int) -> str:
        """Name of a tag in lower case; of an end tag with the slash."""
        return self.tag_at(place)[0].lower().decode("utf-8", "replace")

    def attributes_at(self, place: int) -> dict[str, str]:
        """Attributes of a tag."""
        return read_attributes(self.attributes[place])

    def inner_text(self, place: int) -> str:
        """Text inside an element, at most ``MAX_INNER_CHARS`` bytes of it, as written; empty for a tag that never holds any."""
        return "".join(map(text_of, self._inside(place)))[:MAX_INNER_CHARS]

    def _inside(self, place: int) -> Iterator[bytes]:
        name = self.tag_at(place)[0].lower()
        depth = length = 0
        if name in _EMPTY:
            return
        for at in range(place, len(self)):
            tag, attributes, text = self.tag_at(at)
            tag = tag.lower()
            depth += (tag == name and not is_closed(attributes)) - (tag == b"/" + name)
            if depth <= 0 or length > MAX_INNER_CHARS:
                return
            yield text
            length += len(text)


class CutTags(Tags):
    """Tags as lists.

    Args:
        markup: the page, in UTF-8.
        pieces: an empty one, then name, attributes and text of each tag.
        closes: by the number of a start tag, the elements that it closes; empty where every end is written.

    Attributes:
        written: each tag's name as written, with the slash of an end tag.
        numbers: of each tag; of an end tag the complement (``~``) of it; ``NOTHING`` for many.
        texts: behind each tag, as written.
        names: by number, in lower case.
        roles: by number.
    """

    def __init__(self, markup: bytes, pieces: list[bytes], closes: Mapping[int, frozenset[int]]) -> None:
        numbers = _Numbers()
        self.closes = closes
        self.written: list[bytes] = pieces[1::3]
        self.numbers = list(map(numbers.__getitem__, self.written))
        self._attributes: list[bytes] = pieces[2::3]
        self.texts: list[bytes] = pieces[3::3]
        self.names, self.roles = numbers.names, numbers.roles
        found: dict[int, list[int]] = {number: [] for number in FOUND}
        for place in compress(range(len(self.numbers)), map(FOUND.__contains__, self.numbers)):
            found[self.numbers[place]].append(place)
        super().__init__(markup, found)
        self._merge_roots()

    def _merge_roots(self) -> None:
        """The attributes of the first ``html`` and ``body`` that a page has itself, for those before all tags."""
        for place in self.places("html", "body")[2:]:
            root = self.numbers[place] - 1
            self._attributes[root] = self._attributes[root] or self._attributes[place].rstrip(b"/")
            self.numbers[place] = NOTHING

    @property
    def attributes(self) -> list[bytes]:
        """Of each tag, as written."""
        return self._attributes

    def rows(self, start: int, end: int) -> Iterator[tuple[int, int, bytes, bytes]]:
        """Place, number, attributes and text of some tags, up to the last one."""
        return zip(
            range(start, min(end, len(self.numbers))),
            self.numbers[start:end],
            self._attributes[start:end],
            self.texts[start:end],
            strict=True,
        )

    def tag_at(self, place: int) -> tuple[bytes, bytes, bytes]:
        """Name with the slash of an end tag, attributes, and the text behind the tag; all as written."""
        return self.written[place], self._attributes[place], self.texts[place]

    def places_with(self, words: tuple[bytes, ...], most: int = MAX_SEARCHED) -> list[int]:
        """Places of tags by what stands in their attributes."""
        written = b"\x00".join(self._attributes[:most])  # asking each tag takes ten times as long
        found: set[int] = set()
        for word in words:
            place = counted = 0
            at = written.find(word)
            while at >= 0:
                place += written.count(b"\x00", counted, at)
                counted = at
                found.add(place)
                at = written.find(word, at + len(word))
        return sorted(found)

    def elements(
        self, elements: Opened, around: Sequence[int]
    ) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[Look]]:
        """Some elements with those around them, in the order in which they are met, each behind the one around it.

        Args:
            elements: of the page.
            around: some of them, in page order.

        Returns:
            Of each of ``around`` its place among the elements that are returned; of each of these the one around it, and the number of its
            look; what elements look like.
        """
        names, numbers, attributes = self.names, self.numbers, self._attributes
        places, parents = elements
        known = [-1] * len(places) + [-1]  # the last stands for no element
        above: list[int] = []
        kinds: list[int] = []
        looks: dict[tuple[int, bytes], int] = {}
        for inner in around:
            element, chain = inner, []
            while element >= 0 and known[element] < 0:
                chain.append(element)
                element = parents[element]
            while chain:
                element = chain.pop()
                known[element] = len(above)
                place = places[element]
                above.append(known[parents[element]])
                kinds.append(looks.setdefault((numbers[place], attributes[place]), len(looks)))
        own = [look_of(names[number], written) for number, written in looks]
        return [known[element] for element in around], above, kinds, own

    def __len__(self) -> int:
        """Number of tags."""
        return len(self.numbers)


def cut(markup: bytes) -> CutTags:
    """The tags of trimmed markup as they are written, in time linear in its length."""
    return CutTags(markup, _TAG.split(ROOT + markup), KNOWN.closes)


def is_closed(attributes: bytes) -> bool:
    """The tag ends with a slash, which is no part of an unquoted value."""
    if not attributes.endswith(b"/"):
        return False
    last = attributes.rsplit(None, 1)[-1]
    return b"=" not in last or last.endswith((b'"/', b"'/"))


def is_wide_space(written: bytes) -> bool:
    """Nothing but white space of any kind, in a text that is short and not plain ASCII."""
    if len(written) > _MAX_SPACE or (written.isascii() and _AND not in written):
        return False
    return text_of(written).isspace()


def text_of(written: bytes) -> str:
    """Characters of a text or a value, with references to characters resolved."""
    text = written.decode("utf-8", "ignore")
    return unescape(text) if "&" in text else text


def read_attributes(written: bytes) -> dict[str, str]:
    """Names in lower case to values; the first of equal names counts. What stands behind ``MAX_ATTRIBUTES_BYTES`` is not read."""
    text = written[:MAX_ATTRIBUTES_BYTES].decode("utf-8", "replace")
    values = reversed(_ATTRIBUTE.findall(text))
    found = {name.lower(): double or single or plain for name, double, single, plain in values}
    if "&" in text:
        return {
            name: _REFERENCE.sub(lambda match: unescape(match[0]), value) for name, value in found.items()
        }
    return found


def look_of(tag: str, written: bytes) -> Look:
    """What an element looks like."""
    names, role, hides = _named(written) if written else _UNNAMED
    return tag, written, names, role, hides, mark_of(tag, names) if names else tag


@lru_cache(maxsize=16_384)
def mark_of(tag: str, names: str) -> str:
    """Tag and first word of class or id, without digits."""
    words = names[:100].split(None, 1)
    return f"{tag}.{words[0].translate(_DIGITS)}" if words else tag


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
