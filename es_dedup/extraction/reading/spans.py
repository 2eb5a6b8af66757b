"""Tags and runs of a page by the kernels: the same as by ``markup.cut`` and ``walk.walk``, and no tag becomes an object."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.extraction.reading.blocks import Elements, joined_text, make_blocks, make_nodes, whole_text
from es_dedup.extraction.reading.columns import END, FIRST_PART, LINKED, NAME_END, START, Columns
from es_dedup.extraction.reading.document import Document
from es_dedup.extraction.reading.markup import (
    FOUND,
    KNOWN,
    MAX_SEARCHED,
    PLAIN_REACH,
    ROOT,
    Tags,
    look_of,
    mark_of,
    number_of,
)
from es_dedup.extraction.reading.trim import trim_fast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from es_dedup.extraction.reading.markup import Look

_ROOTS: Final = number_of("html"), number_of("body")
_SLOTS: Final = 1_024


class _Attributes(Sequence[bytes]):
    """Attributes of all tags, cut out when they are asked for."""

    def __init__(self, data: bytes, spans: NDArray[np.int64], roots: list[bytes]) -> None:
        self._data, self._spans, self._roots = data, spans, roots

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, int):
            return list(self)[place]
        if 0 <= place < len(self._roots):
            return self._roots[place]
        return self._data[self._spans.item(place, NAME_END) : self._spans.item(place, END)]

    def __iter__(self) -> Iterator[bytes]:
        yield from self._roots
        first = len(self._roots)
        written = map(slice, self._spans[first:, NAME_END].tolist(), self._spans[first:, END].tolist())
        yield from map(self._data.__getitem__, written)

    def __len__(self) -> int:
        return len(self._spans)


class SpannedTags(Tags):
    """Tags that are places in the page.

    Args:
        markup: the page, in UTF-8.
        data: the same behind the tags of the two roots.
        spans: of each tag, see ``compiled.cutting.tag_spans``.
        found: place and number of tags whose places are asked for.
        names: by number, in lower case.
    """

    def __init__(
        self,
        markup: bytes,
        data: bytes,
        spans: NDArray[np.int64],
        found: NDArray[np.int64],
        names: list[str],
    ) -> None:
        places: dict[int, list[int]] = {number: [] for number in FOUND}
        for place, number in found.tolist():
            places[number].append(place)
        super().__init__(markup, places)
        self._data, self._spans, self._names = data, spans, names
        self._bytes = np.frombuffer(data, dtype=np.uint8)
        roots = self._roots = [b"", b""]
        self._attributes = _Attributes(data, spans, roots)
        for root in range(2):
            for place in places[_ROOTS[root]][1:]:
                roots[root] = roots[root] or self._attributes[place].rstrip(b"/")

    @property
    def attributes(self) -> Sequence[bytes]:
        """Of each tag, as written."""
        return self._attributes

    def tag_at(self, place: int) -> tuple[bytes, bytes, bytes]:
        """Name with the slash of an end tag, attributes, and the text behind the tag; all as written."""
        start, _, name_end, end, _ = self._spans[place].tolist()
        behind = self._spans.item(place + 1, START) if place + 1 < len(self) else len(self._data)
        written = self._data[name_end:end] if place >= len(self._roots) else self._roots[place]
        return self._data[start + 1 : name_end], written, self._data[end + 1 : behind]

    def places_with(self, words: tuple[bytes, ...], most: int = MAX_SEARCHED) -> list[int]:
        """Places of tags by what stands in their attributes."""
        from es_dedup.extraction.reading.compiled.marking import places_of  # noqa: PLC0415 - only where numba is installed

        roots = [root for root, written in enumerate(self._roots) if any(map(written.__contains__, words))]
        spans = self._spans[:most]
        found = places_of(self._bytes[: spans[-1, END]], spans, len(self._roots), *_words(words))
        return [*roots, *found.tolist()]

    def elements(
        self, opened: NDArray[np.int64], around: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Elements]:
        """The elements around blocks.

        Args:
            opened: places of the start tags of all elements, and the element around each, -1 for none; shape (elements, 2).
            around: of each block, the element around it.

        Returns:
            Of each element, index of the one around it, number of its look, and index behind the last in it, shape (3, elements); and all of
            it as objects, with the index of the element around each block.
        """
        from es_dedup.extraction.reading.compiled.naming import elements_of  # noqa: PLC0415 - only where numba is installed

        holders, rows, found = elements_of(self._bytes, self._spans, opened, around)
        rows = np.ascontiguousarray(rows.T)
        parents, look_numbers, ends = rows.tolist()
        looks = self._looks(found.tolist())
        nodes = make_nodes(parents, look_numbers, looks)
        return rows, Elements(nodes, parents, look_numbers, looks, ends, holders.tolist())

    def _looks(self, rows: list[list[int]]) -> list[Look]:
        data, tags, roots = self._data, self._names, self._roots
        looks: list[Look] = []
        for place, number, start, end, name, name_end, identity, identity_end, is_plain in rows:
            tag = tags[number]
            if not is_plain or place < len(roots):
                looks.append(look_of(tag, data[start:end] if place >= len(roots) else roots[place]))
                continue
            own = data[name:name_end]
            if identity < identity_end:
                own = own + b" " + data[identity:identity_end] if own else data[identity:identity_end]
            names = own.decode("utf-8", "replace")
            looks.append((tag, data[start:end], names, "", False, mark_of(tag, names) if names else tag))
        return looks

    def __len__(self) -> int:
        """Number of tags."""
        return len(self._spans)


@cache
def _words(words: tuple[bytes, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """See ``compiled.marking.places_of``."""
    return np.frombuffer(b"".join(words), dtype=np.uint8), np.cumsum([0, *map(len, words)])


@cache
def load_kernels() -> None:
    """Bring all kernels of this room into the process: a third of a second, and eighteen once after an installation."""
    trim_fast(b"<p>x<script>y</script>")
    read = read_spans(b"<p>x<b>y</b>&amp;", 9)
    if read:
        read.tags.places_with((b"xyz",))


def read_spans(markup: bytes, max_depth: int) -> Document | None:
    """A page; None where elements are nested too deeply, and for pages with odd preformatted text.

    Args:
        markup: trimmed, in UTF-8.
        max_depth: of open elements.
    """
    from es_dedup.extraction.reading.compiled.cutting import marks_of, tag_spans  # noqa: PLC0415 - only where numba is installed
    from es_dedup.extraction.reading.compiled.decoding import tables as character_tables  # noqa: PLC0415
    from es_dedup.extraction.reading.compiled.joining import texts_of  # noqa: PLC0415
    from es_dedup.extraction.reading.compiled.walking import runs_of  # noqa: PLC0415

    known, tables = _tables(), character_tables()
    written = ROOT + markup
    data = np.frombuffer(written, dtype=np.uint8)
    spans, found, others = tag_spans(
        data, marks_of(data), known.keys, known.meanings, known.is_found, _ROOTS, known.seed
    )
    parts, runs, opened, is_sound = runs_of(data, spans, known.of_tags, known.numbers, tables, max_depth)
    if not is_sound:
        return None
    names = KNOWN.names
    if len(others):
        own = [written[start:end].lower().decode("utf-8", "replace") for start, end in others.tolist()]
        names = [*names, *own]
    tags = SpannedTags(markup, written, spans, found, names)
    texts, rows = texts_of(data, parts, runs, tables)
    read = _texts(_decoded(texts.tobytes()), rows, parts, runs)
    if read.deepest > max_depth:
        return None
    of_nodes, elements = tags.elements(opened, read.around)
    columns = Columns(*read.counts, *of_nodes[:2])
    return Document(tags, elements, make_blocks(elements, read.columns), columns)


@dataclass(slots=True)
class _Texts:
    """What ``blocks.read_blocks`` gives, in columns.

    Attributes:
        around: of each block, the element around it.
        columns: those of ``Block`` from its text on.
        counts: of each block, see ``Columns``: length, length of link text, how many characters are ASCII, how many stops there are; shape (4, blocks).
        deepest: how many elements are open behind the deepest block.
    """

    around: NDArray[np.int64]
    columns: tuple[list[Any], ...]
    counts: tuple[NDArray[np.int64], ...]
    deepest: int


def _texts(
    texts: list[str], rows: NDArray[np.int64], parts: NDArray[np.int64], runs: NDArray[np.int64]
) -> _Texts:
    """Texts as the kernel gives them, with those that it left."""
    from es_dedup.extraction.reading.compiled.joining import (  # noqa: PLC0415 - only where numba is installed
        CHARS,
        KIND,
        LED,
        NARROW,
    )

    _, around, links, depths = np.ascontiguousarray(runs[:-1].T)  # kernels are made for one order in memory
    odd = np.flatnonzero(rows[:, KIND])
    for run in odd.tolist():
        linked = parts[runs.item(run, FIRST_PART) : runs.item(run + 1, FIRST_PART), LINKED].tolist()
        own = texts[run].split("\0")
        found = whole_text(own[0], linked[0]) if len(own) == 1 else joined_text(own, linked)
        if found is None:
            texts[run], links[run] = "", 0
            continue
        texts[run] = found[0]
        rows[run, CHARS : LED + 1] = found[1:]
    rows[odd, NARROW:] = -1
    links = np.diff(np.maximum.accumulate(links), prepend=0)  # those of what is no text are of the next
    if len(odd) and not all(texts):
        kept = np.array([bool(text) for text in texts])
        texts = list(filter(None, texts))
        rows, around, links, depths = rows[kept], around[kept], links[kept], depths[kept]
    _, chars, link_chars, led, narrow, stops = np.ascontiguousarray(rows.T)
    columns = texts, chars.tolist(), link_chars.tolist(), (led > 0).tolist(), links.tolist()
    return _Texts(around, columns, (chars, link_chars, narrow, stops), int(depths.max(initial=0)))


def _decoded(written: bytes) -> list[str]:
    """Texts that end with two null bytes each."""
    try:
        return written.decode().split("\0\0")[:-1]
    except UnicodeDecodeError:
        # what is left of a part without any sound byte must not bring the null bytes around it together
        return [text.decode("utf-8", "ignore") for text in written.split(b"\0\0")[:-1]]


class _Tables:
    """What ``markup`` knows of tags, as arrays."""

    def __init__(self) -> None:
        from es_dedup.extraction.reading.compiled.cutting import hashed  # noqa: PLC0415 - only where numba is installed

        self.seed = secrets.randbits(32)  # no result depends on it
        starts = [name for name in KNOWN.numbers if not name.startswith(b"/") and name]
        bounds = np.cumsum([0, *map(len, starts)])
        keys = np.frombuffer(b"".join(starts), dtype=np.uint8)
        slots = np.full(_SLOTS, -1, dtype=np.int64)
        for key in range(len(starts)):
            slot = hashed(keys, bounds[key], bounds[key + 1], self.seed) % _SLOTS
            while slots[slot] >= 0:
                slot = (slot + 1) % _SLOTS
            slots[slot] = key
        self.keys = keys, bounds, slots
        self.meanings = np.array([[KNOWN.numbers[name], KNOWN.numbers[b"/" + name]] for name in starts])
        count = len(KNOWN.names)
        self.is_found = np.array([number in FOUND for number in range(count)])
        closes = [[old in KNOWN.closes.get(new, ()) for old in range(count)] for new in range(count)]
        reach = [KNOWN.reach.get(number, PLAIN_REACH) for number in range(count)]
        self.of_tags = np.array(KNOWN.roles), np.array(closes), np.array(reach)
        self.numbers = number_of("a"), number_of("p"), number_of("pre"), PLAIN_REACH


@cache
def _tables() -> _Tables:
    return _Tables()
