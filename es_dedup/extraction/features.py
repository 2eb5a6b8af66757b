"""Numbers of each block for the block model: columns over all blocks of a page, from prefix sums in page order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.extraction.blocks import CONTEXTS, INLINE_MARKS
from es_dedup.extraction.characters import (
    COMMA,
    DIGIT,
    IDEOGRAPH,
    KANA,
    SEPARATOR,
    STOP,
    UNITS,
    UPPER,
    hashed_bigrams,
)  # fmt: skip
from es_dedup.extraction.columns import ALL, DATES, FREE, ONE, PROSE, SHORT, ratio
from es_dedup.extraction.structure import Columns, read_structure
from es_dedup.extraction.surroundings import HEADINGS, Surroundings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.extraction.columns import Array, Page
    from es_dedup.extraction.tokens import Odds

_TAGS: Final = ("p", "div", "li", "td", "pre", "blockquote")
_TAG_CODES: Final = {tag: code for code, tag in enumerate((*HEADINGS, *_TAGS))}
_CONTEXTS: Final = frozenset(
    "header aside article main table list item blockquote pre figure heading link hidden section".split()
)
_MAX_TITLE_CHARS: Final = 300
_MAX_DESCRIPTION_CHARS: Final = 600


def block_features(page: Page, odds: Odds) -> Columns:
    """First pass: what blocks and what is around them look like."""
    return _Features(page, odds).run()


class _Features(Surroundings):
    def __init__(self, page: Page, odds: Odds) -> None:
        self.blocks, self.characters, self.about, self.odds = page.blocks, page.characters, page.about, odds
        self.count = len(page.blocks.texts)
        self.columns = Columns()
        self.add = self.columns.add
        self.holders = np.array(page.blocks.holders, np.int64)
        self.places = np.arange(self.count)

    def run(self) -> Columns:
        self._texts()
        self._words()
        self._sums()
        structure = read_structure(self.blocks, self.total, self.odds)
        self.columns.structure, self.columns.total = structure, self.total
        self._place()
        self._title()
        self._containers(structure)
        self._kinds(structure)
        self._records(structure)
        self._neighbours(structure)
        self._page()
        return self.columns

    def _texts(self) -> None:
        add, counts, linked = self.add, self.characters.counts, self.characters.linked
        self.units = units = counts @ UNITS
        self.free = units - linked @ UNITS
        self.stops = counts[:, STOP].astype(np.float64)
        self.density = 1 - ratio(self.free, units)
        add("log_units", np.log1p(units))
        add("log_free", np.log1p(self.free))
        add("link_density", self.density)
        add("links", np.minimum(self.characters.links, 20).astype(np.float64))
        add("stops", np.minimum(self.stops, 20))
        add("stop_rate", ratio(self.stops, units))
        add("comma_rate", ratio(counts[:, COMMA].astype(np.float64), units))
        for name, kind in (("digit", DIGIT), ("upper", UPPER), ("separator", SEPARATOR)):
            add(
                f"{name}_rate",
                ratio(counts[:, kind].astype(np.float64), counts.sum(axis=1).astype(np.float64)),
            )
        add("first_kind", self.characters.first.astype(np.float64))
        add("last_kind", self.characters.last.astype(np.float64))
        add("dates", np.minimum(self.characters.dates, 5).astype(np.float64))
        inline = np.array(self.blocks.inline, np.int64)
        for name in ("img", "small"):
            add(f"has_{name}", (inline & INLINE_MARKS[name] > 0).astype(np.float64))
        images = np.array(self.blocks.images, np.float64)
        add("images_before", np.minimum(np.diff(images, prepend=0), 5))
        contexts = np.array(self.blocks.contexts, np.int64)[self.holders]
        for bit, name in enumerate(CONTEXTS):
            if name in _CONTEXTS:
                add(f"in_{name}", (contexts >> bit & 1).astype(np.float64))
        codes = [_TAG_CODES.get(tag, -1) for tag in self.blocks.tags]
        self.tags = np.array(codes, np.int64)[self.holders]
        for tag in _TAGS:
            add(f"tag_{tag}", (self.tags == _TAG_CODES[tag]).astype(np.float64))
        texts = self.blocks.texts
        self.twins = _twins(texts, counts[:, DIGIT].tolist())
        add("twins", np.log1p(self.twins))
        add("seen_above", self.characters.above)
        add("seen_below", self.characters.below)
        add("quoted", np.array([text[:1] in ">|" for text in texts], np.float64))

    def _words(self) -> None:
        """Odds of words of short blocks."""
        blocks = self.characters.word_blocks
        values = self.odds.of_words(self.characters.words).astype(np.float64)
        count = np.bincount(blocks, minlength=self.count)
        total = np.bincount(blocks, values, minlength=self.count)
        low, high = np.zeros(self.count), np.zeros(self.count)
        np.minimum.at(low, blocks, values)
        np.maximum.at(high, blocks, values)
        self.word_odds = ratio(total, np.sqrt(count.astype(np.float64)))
        for name, column in (
            ("mean", ratio(total, count.astype(np.float64))),
            ("sum", total),
            ("low", low),
            ("high", high),
        ):
            self.add(f"word_odds_{name}", column)

    def _sums(self) -> None:
        prose = np.where((self.stops > 0) & (self.units >= 8) & (self.density < 0.5), self.free, 0.0)
        self.prose = prose
        measures = np.stack(
            (np.ones(self.count), self.units, self.free, self.stops, prose, np.minimum(self.characters.dates, 3.0),
             self.characters.links.astype(np.float64), (self.density > 0.5).astype(np.float64), (self.units < 6).astype(np.float64),
             self.characters.counts[:, COMMA].astype(np.float64), self.word_odds),
            axis=1,
        )  # fmt: skip
        self.measures = measures
        self.total = np.zeros((self.count + 1, measures.shape[1]))
        np.cumsum(measures, axis=0, out=self.total[1:])
        self.whole = np.maximum(self.total[-1], 1e-9)

    def _place(self) -> None:
        total = self.total[:-1]
        self.add("place", self.places / self.count)
        self.add("place_from_end", np.log1p(self.count - 1.0 - self.places))
        self.add("log_place", np.log1p(self.places))
        self.add("units_before", total[:, ALL] / self.whole[ALL])
        self.add("prose_before", total[:, PROSE] / self.whole[PROSE])
        self.add("prose_after", 1 - self.total[1:, PROSE] / self.whole[PROSE])
        self.add("share", self.free / self.whole[FREE])

    def _title(self) -> None:
        """What blocks share with the page's title and description."""
        bigrams, blocks = self.characters.bigrams, self.characters.bigram_blocks
        own = np.bincount(blocks, minlength=self.count).astype(np.float64)
        covers = np.zeros(self.count)
        cells = _cells(bigrams)
        for name, text, limit in (
            ("title", self.about.title, _MAX_TITLE_CHARS),
            ("description", self.about.description, _MAX_DESCRIPTION_CHARS),
        ):
            wanted = hashed_bigrams(text[:limit])
            shared = np.zeros(self.count)
            if wanted.size:
                possible = np.zeros(1 << 16, bool)  # few pairs of the page pass this; those are looked up
                possible[_cells(wanted)] = True
                places = np.flatnonzero(possible[cells])
                nearest = np.minimum(np.searchsorted(wanted, bigrams[places]), wanted.size - 1)
                places = places[wanted[nearest] == bigrams[places]]
                shared = np.bincount(blocks[places], minlength=self.count).astype(np.float64)
            share, cover = ratio(shared, own), np.minimum(shared / max(wanted.size, 1), 1.0)
            self.add(f"share_of_{name}", share)
            self.add(f"cover_of_{name}", cover)
            if name == "title":
                covers = np.minimum(share, 1.0) * cover
        heading = self.tags == _TAG_CODES["h1"]
        score = covers + 0.2 * heading
        top = int(score.argmax()) if self.count and score.max() > 0.3 else -1
        distance = self.places - top
        self.add(
            "from_title",
            np.sign(distance) * np.log1p(np.abs(distance)) if top >= 0 else np.full(self.count, -20.0),
        )
        after = self.total[1:, PROSE] - self.total[top + 1, PROSE] if top >= 0 else np.full(self.count, -1.0)
        self.add("prose_from_title", after / self.whole[PROSE])
        self.title = top
        before = np.cumsum(heading)
        self.add("h1_before", np.minimum(before - (before[top] if top >= 0 else 0), 5).astype(np.float64))
        is_heading = top >= 0 and 0 <= self.tags[top] < len(HEADINGS)
        alike = np.cumsum(self.tags == self.tags[top]) if is_heading else np.zeros(self.count)
        self.add("titles_since", np.clip(alike - alike[top] if top >= 0 else alike, -5, 5).astype(np.float64))

    def _page(self) -> None:
        for name, value in zip(PAGE_FEATURES, page_features(self.whole, self.count), strict=True):
            self.add(f"page_{name}", np.full(self.count, value))
        counts = self.characters.counts.sum(axis=0)
        self.add(
            "page_dense_script",
            np.full(self.count, (counts[IDEOGRAPH] + counts[KANA]) / max(int(counts.sum()), 1)),
        )


PAGE_FEATURES: Final = (
    "log_units",
    "log_blocks",
    "link_density",
    "prose",
    "date_rate",
    "short",
    "mean_units",
)


def page_features(whole: Array, count: int) -> list[float]:
    """Numbers of a whole page, from the sums over its blocks."""
    return [
        float(np.log1p(whole[ALL])), float(np.log1p(count)), float(1 - whole[FREE] / whole[ALL]), float(whole[PROSE] / whole[ALL]),
        float(whole[DATES] / whole[ONE]), float(whole[SHORT] / whole[ONE]), float(np.log1p(whole[ALL] / whole[ONE])),
    ]  # fmt: skip


def _cells(bigrams: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """A number below 65,536 of each pair, by its two characters."""
    parts: NDArray[np.uint16] = bigrams.astype("<u8", copy=False).view("<u2").reshape(-1, 4)
    return np.asarray((parts[:, 1] << 3) ^ parts[:, 0], np.uint16)


def _twins(texts: Sequence[str], digits: Sequence[int]) -> Array:
    """How often each text stands in the page, digits aside."""
    table = str.maketrans("123456789", "000000000")
    short = [
        text[:80].translate(table) if many else text[:80] for text, many in zip(texts, digits, strict=True)
    ]
    seen: dict[str, int] = {}
    for text in short:
        seen[text] = seen.get(text, 0) + 1
    return np.array([seen[text] for text in short], np.float64)
