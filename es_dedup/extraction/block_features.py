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
from es_dedup.extraction.containers import Columns, Structure, grouped, read_structure
from es_dedup.extraction.page_columns import ALL, DATES, FREE, LINKED, ODDS, ONE, PROSE, SHORT, STOPS, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.extraction.page_columns import Array, Page
    from es_dedup.extraction.token_odds import Odds

HEADINGS: Final = ("h1", "h2", "h3", "h4")
_LEVELS: Final = 5
_BIG_SHARE: Final = 0.3
_TITLE_UNITS: Final = 20.0  # the first line of a container, if no longer, says what the container holds
_STEPS: Final = (-2, -1, 1, 2)
_WIDTHS: Final = np.array([[3], [8], [20]])


def _names(of: str, names: str) -> str:
    return " ".join(f"{of}_{name}" for name in names.split())


_DENSITIES: Final = "log_free link_density mean_units"
_OF_SUMS: Final = f"{_DENSITIES} stop_rate share prose_share prose_density date_rate word_odds"
_OF_LEVEL: Final = f"{_OF_SUMS} odds_low odds_high"
_OF_OUTER: Final = f"{_OF_LEVEL} title_odds title_link from_start from_end"
_INNER_NAMES: Final = _names("up0", _OF_LEVEL)
_OUTER_NAMES: Final = " ".join(_names(f"up{level}", _OF_OUTER) for level in range(1, _LEVELS))
_BIG_NAMES: Final = _names("big", f"{_OF_SUMS} odds distance")
_BIG_ROWS: Final = [*range(9), 11]
_KIND_NAMES, _PATH_NAMES = (_names(of, f"{_OF_SUMS} blocks short linked") for of in ("kind", "path"))
_OF_RECORD: Final = "has_title count share prose_share mean_free link_density dated with_prose own_dates from_start share_of_record"
_RECORD_NAMES, _RICH_NAMES = (_names(of, _OF_RECORD) for of in ("record", "rich"))
_OF_STEP: Final = "log_free link_density dates odds level same"
_STEP_NAMES: Final = {step: _names(f"next{step:+d}", _OF_STEP) for step in _STEPS}
_SIDES: Final = [f"{side}{width}" for width in _WIDTHS.flat for side in ("above", "below")]
_WINDOW_NAMES: Final = " ".join(_names(side, _DENSITIES) for side in _SIDES)
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


class _Features:
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

    def _of_sums(self, sums: Array) -> Array:
        """Densities of sums over some blocks: a row for each of ``_OF_SUMS``."""
        one, units, free, prose = sums[ONE], sums[ALL], sums[FREE], sums[PROSE]
        return np.array((
            *_densities(one, units, free), ratio(sums[STOPS], units), free / self.whole[FREE], prose / self.whole[PROSE], ratio(prose, units),
            ratio(sums[DATES], one), ratio(sums[ODDS], one),
        ))  # fmt: skip

    def _containers(self, structure: Structure) -> None:
        odds = structure.odds_low, structure.odds_high, structure.odds_sum
        containers = np.concatenate((self._of_sums(structure.sums), odds))
        ancestors = [self.holders]
        for _ in range(1, _LEVELS):
            ancestors.append(structure.wider[ancestors[-1]])
        levels = np.stack(ancestors)
        first, last = structure.first[levels[1:]], structure.last[levels[1:]]
        titled = (self.units[first] <= _TITLE_UNITS) & (first < self.places)
        found = np.empty((_LEVELS, 15, self.count))
        found[:, :11] = containers[:11].take(levels, axis=1).swapaxes(0, 1)
        found[1:, 11] = np.where(titled, self.word_odds[first], 0.0)
        found[1:, 12] = np.where(titled, self.density[first], -1.0)
        found[1:, 13] = np.log1p(self.places - first)
        found[1:, 14] = np.log1p(last - 1.0 - self.places)
        self.add(_INNER_NAMES, found[0, :11])
        self.add(_OUTER_NAMES, found[1:].reshape(-1, self.count))
        depth = structure.depth[self.holders]
        big = structure.nearest(structure.sums[FREE] >= _BIG_SHARE * self.whole[FREE])[self.holders]
        self.add(_BIG_NAMES, (*containers[_BIG_ROWS].take(big, axis=1), depth - structure.depth[big]))
        for share in (0.5, 0.8):
            core = structure.innermost(structure.sums[PROSE] >= share * self.whole[PROSE])
            side = np.where(self.places >= structure.last[core], 1.0, 0.0)
            side[self.places < structure.first[core]] = -1.0
            own = np.full(self.count, structure.sums[FREE, core] / self.whole[FREE])
            names = f"core{share} core{share}_share core{share}_depth"
            self.add(names, (side, own, depth - structure.depth[core]))
        chains = structure.chain_low, structure.chain_high, structure.chain_sum, structure.depth
        self.add("chain_low chain_high chain_sum depth", np.array(chains).take(self.holders, axis=1))
        inline = structure.named[self.blocks.inline_signatures]
        self.add("inline_odds_low inline_odds_high", inline[:, :2].T)
        dates, odds_here = np.minimum(self.characters.dates, 2.0), structure.odds_sum[self.holders]
        self.shown = np.array((self.log_free, self.density, dates, odds_here, depth))

    def _kinds(self, structure: Structure) -> None:
        for names, kinds in ((_KIND_NAMES, structure.kinds), (_PATH_NAMES, structure.paths)):
            groups = kinds[self.holders]
            sums = grouped(self.measures, groups, int(groups.max()) + 1)
            one = sums[ONE]
            more = np.log1p(one), ratio(sums[SHORT], one), ratio(sums[LINKED], one)
            self.add(names, np.concatenate((self._of_sums(sums), more)).take(groups, axis=1))
        self.kinds = structure.kinds[self.holders]

    def _records(self, structure: Structure) -> None:
        """Repeated siblings: posts of a thread, items of a list, rows."""
        sums, counts = structure.group_sums, structure.group_counts
        groups = np.array((
            np.log1p(counts), sums[FREE] / self.whole[FREE], sums[PROSE] / self.whole[PROSE], np.log1p(ratio(sums[FREE], counts)),
            1 - ratio(sums[FREE], sums[ALL]), structure.group_dated, structure.group_prose,
        ))  # fmt: skip
        both = (_RECORD_NAMES, structure.nearest_record), (_RICH_NAMES, structure.rich_record)
        for names, records in both:
            record = records[self.holders]
            inside = record >= 0
            place = np.where(inside, record, 0)
            first = structure.first[place]
            found = np.empty((11, self.count))
            found[0] = (first <= self.title) & (self.title < structure.last[place])
            found[1:8] = groups.take(structure.record_groups[place], axis=1)
            found[8] = np.minimum(structure.sums[DATES, place], 5.0)
            found[9] = np.log1p(np.maximum(self.places - first, 0))
            found[10] = ratio(self.free, structure.sums[FREE, place])
            self.add(names, np.where(inside, found, -1.0))

    def _neighbours(self) -> None:
        count, reach = self.count, max(_STEPS)
        shown = np.full((6, count + 2 * reach), -1.0)
        shown[:5, reach:-reach], shown[5, reach:-reach] = self.shown, self.kinds
        for step in _STEPS:
            found = shown[:, reach + step : reach + step + count].copy()
            found[5] = found[5] == self.kinds
            self.add(_STEP_NAMES[step], found)
        total = self.total[[ONE, ALL, FREE]]
        above, below = np.maximum(self.places - _WIDTHS, 0), np.minimum(self.places + _WIDTHS + 1, count)
        sides = total[:, None, :-1] - total[:, above], total[:, below] - total[:, None, 1:]
        windows = np.stack(sides, axis=2)
        self.add(_WINDOW_NAMES, np.stack(_densities(*windows), axis=2).reshape(-1, count))
        # the last heading: odds of its words, how far it is, what it is of
        heading = (self.tags >= 0) & (self.tags < len(HEADINGS))
        last = np.maximum.accumulate(np.where(heading, self.places, -1))
        inside = last >= 0
        self.add("heading_distance heading_odds heading_link", (
            np.where(inside, np.log1p(self.places - last), -1.0), np.where(inside, self.word_odds[last], 0.0),
            np.where(inside, self.density[last], -1.0),
        ))  # fmt: skip

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


def _densities(count: Array, units: Array, free: Array) -> tuple[Array, Array, Array]:
    """Unlinked units, link density and mean length, by sums over blocks."""
    return np.log1p(np.maximum(free, 0)), 1 - ratio(free, units), np.log1p(ratio(units, count))


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
