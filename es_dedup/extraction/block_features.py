"""Numbers of each block for the block model: columns over all blocks of a page, from prefix sums in page order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.extraction.block_characters import (
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
from es_dedup.extraction.blocks import CONTEXTS, INLINE_MARKS
from es_dedup.extraction.containers import Columns, read_structure
from es_dedup.extraction.context_features import HEADINGS, ContextFeatures
from es_dedup.extraction.page_columns import ALL, DATES, FREE, ONE, PROSE, SHORT, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.extraction.page_columns import Array, Page
    from es_dedup.extraction.token_odds import Odds

_TAGS: Final = ("p", "div", "li", "td", "pre", "blockquote")
_TAG_CODES: Final = {tag: code for code, tag in enumerate((*HEADINGS, *_TAGS))}
_UNUSED_CONTEXTS: Final = frozenset("nav footer form h1 button definitions address paragraph details".split())
_OF_TAGS: Final = np.array([[_TAG_CODES[tag]] for tag in _TAGS])
_TAG_NAMES: Final = " ".join(f"tag_{tag}" for tag in _TAGS)
_CONTEXT_NAMES: Final = " ".join(f"in_{name}" for name in CONTEXTS if name not in _UNUSED_CONTEXTS)
_CONTEXT_BITS: Final = np.array(
    [[1 << bit] for bit, name in enumerate(CONTEXTS) if name not in _UNUSED_CONTEXTS]
)
_INLINE: Final = np.array([[INLINE_MARKS["img"]], [INLINE_MARKS["small"]]])
_MAX_TITLE_CHARS: Final = 300
_MAX_DESCRIPTION_CHARS: Final = 600


def block_features(page: Page, odds: Odds) -> Columns:
    """First pass: what blocks and what is around them look like."""
    return _Features(page, odds).run()


class _Features(ContextFeatures):
    def __init__(self, page: Page, odds: Odds) -> None:
        self.blocks, self.characters, self.about, self.odds = page.blocks, page.characters, page.about, odds
        self.count = len(page.blocks.texts)
        self.columns = Columns(self.count)
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
        self._neighbours()
        self._page()
        return self.columns

    def _texts(self) -> None:
        characters = self.characters
        counts = characters.counts
        self.units = units = characters.units
        self.free = units - characters.linked @ UNITS
        numbers = counts.T.astype(np.float64)
        self.stops, self.commas = stops, commas = numbers[STOP], numbers[COMMA]
        self.density = 1 - ratio(self.free, units)
        inline, images = np.array(self.blocks.inline, np.int64), np.array(self.blocks.images, np.float64)
        contexts = np.array(self.blocks.contexts, np.int64)[self.holders]
        codes = [_TAG_CODES.get(tag, -1) for tag in self.blocks.tags]
        self.tags = np.array(codes, np.int64)[self.holders]
        texts = self.blocks.texts
        self.log_free = np.log1p(self.free)
        self.add("log_units log_free link_density links stops stop_rate comma_rate", (
            np.log1p(units), self.log_free, self.density, np.minimum(characters.links, 20), np.minimum(stops, 20), ratio(stops, units),
            ratio(commas, units),
        ))  # fmt: skip
        rates = ratio(numbers[[DIGIT, UPPER, SEPARATOR]], numbers.sum(axis=0))
        self.add("digit_rate upper_rate separator_rate", rates)
        dates = np.minimum(characters.dates, 5)
        self.add("first_kind last_kind dates", (characters.first, characters.last, dates))
        self.add("has_img has_small", inline & _INLINE > 0)
        self.add("images_before", np.minimum(np.diff(images, prepend=0), 5)[None])
        self.add(_CONTEXT_NAMES, contexts & _CONTEXT_BITS > 0)
        self.add(_TAG_NAMES, self.tags == _OF_TAGS)
        quoted = np.array([text[:1] in ">|" for text in texts])
        twins = np.log1p(_twins(texts, counts[:, DIGIT].tolist()))
        self.add("twins seen_above seen_below quoted", (twins, characters.above, characters.below, quoted))

    def _words(self) -> None:
        """Odds of words of short blocks."""
        blocks = self.characters.word_blocks
        values = self.odds.of_words(self.characters.words).astype(np.float64)
        count = np.bincount(blocks, minlength=self.count).astype(np.float64)
        total = np.bincount(blocks, values, minlength=self.count)
        low, high = np.zeros(self.count), np.zeros(self.count)
        np.minimum.at(low, blocks, values)
        np.maximum.at(high, blocks, values)
        self.word_odds = ratio(total, np.sqrt(count))
        names = "word_odds_mean word_odds_sum word_odds_low word_odds_high"
        self.add(names, (ratio(total, count), total, low, high))

    def _sums(self) -> None:
        prose = np.where((self.stops > 0) & (self.units >= 8) & (self.density < 0.5), self.free, 0.0)
        self.measures = np.array((
            np.ones(self.count), self.units, self.free, self.stops, prose, np.minimum(self.characters.dates, 3.0), self.characters.links,
            self.density > 0.5, self.units < 6, self.commas, self.word_odds,
        ))  # fmt: skip
        self.total = np.zeros((len(self.measures), self.count + 1))
        np.cumsum(self.measures, axis=1, out=self.total[:, 1:])
        self.whole = np.maximum(self.total[:, -1], 1e-9)

    def _place(self) -> None:
        total = self.total[:, :-1]
        names = "place place_from_end log_place units_before prose_before prose_after share"
        self.add(names, (
            self.places / self.count, np.log1p(self.count - 1.0 - self.places), np.log1p(self.places), total[ALL] / self.whole[ALL],
            total[PROSE] / self.whole[PROSE], 1 - self.total[PROSE, 1:] / self.whole[PROSE], self.free / self.whole[FREE],
        ))  # fmt: skip

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
            self.add(f"share_of_{name} cover_of_{name}", (share, cover))
            if name == "title":
                covers = np.minimum(share, 1.0) * cover
        heading = self.tags == _TAG_CODES["h1"]
        score = covers + 0.2 * heading
        self.title = top = int(score.argmax()) if self.count and score.max() > 0.3 else -1
        before = np.cumsum(heading)
        is_heading = top >= 0 and 0 <= self.tags[top] < len(HEADINGS)
        alike = np.cumsum(self.tags == self.tags[top]) if is_heading else np.zeros(self.count)
        found = np.empty((4, self.count))
        if top >= 0:
            distance = self.places - top
            found[0] = np.sign(distance) * np.log1p(np.abs(distance))
            found[1] = self.total[PROSE, 1:] - self.total[PROSE, top + 1]
            before, alike = before - before[top], alike - alike[top]
        else:
            found[:2] = [[-20.0], [-1.0]]
        found[1] /= self.whole[PROSE]
        found[2], found[3] = np.minimum(before, 5), np.clip(alike, -5, 5)
        self.add("from_title prose_from_title h1_before titles_since", found)

    def _page(self) -> None:
        counts = self.characters.counts.sum(axis=0)
        dense = (counts[IDEOGRAPH] + counts[KANA]) / max(int(counts.sum()), 1)
        self.add(_PAGE_NAMES, np.array([[*page_features(self.whole, self.count), dense]]).T)


PAGE_FEATURES: Final = (
    "log_units",
    "log_blocks",
    "link_density",
    "prose",
    "date_rate",
    "short",
    "mean_units",
)
_PAGE_NAMES: Final = " ".join(f"page_{name}" for name in (*PAGE_FEATURES, "dense_script"))


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
    counts = Counter(short)
    return np.array([counts[text] for text in short], np.float64)
