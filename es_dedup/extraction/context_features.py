"""Features of the context of each block: containers, blocks alike, repeated siblings, neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.extraction.containers import grouped
from es_dedup.extraction.page_columns import ALL, DATES, FREE, LINKED, ODDS, ONE, PROSE, SHORT, STOPS, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_dedup.extraction.block_characters import Characters
    from es_dedup.extraction.blocks import Blocks
    from es_dedup.extraction.containers import Structure
    from es_dedup.extraction.page_columns import Array
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


class ContextFeatures:
    """Features of the containers, siblings and neighbours of blocks; the subclass sets the arrays that they are computed from."""

    blocks: Blocks
    characters: Characters
    odds: Odds
    add: Callable[[str, Array | Sequence[Array]], None]
    count: int
    title: int
    holders: Array
    tags: Array
    places: Array
    kinds: Array
    units: Array
    free: Array
    stops: Array
    density: Array
    log_free: Array
    shown: Array
    word_odds: Array
    measures: Array
    total: Array
    whole: Array

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


def _densities(count: Array, units: Array, free: Array) -> tuple[Array, Array, Array]:
    """Unlinked units, link density and mean length, by sums over blocks."""
    return np.log1p(np.maximum(free, 0)), 1 - ratio(free, units), np.log1p(ratio(units, count))
