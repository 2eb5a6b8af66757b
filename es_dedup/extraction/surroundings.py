"""Numbers of what is around each block: containers, blocks alike, repeated siblings, neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.extraction.columns import ALL, DATES, FREE, LINKED, ODDS, ONE, PROSE, SHORT, STOPS, ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.extraction.blocks import Blocks
    from es_dedup.extraction.characters import Characters
    from es_dedup.extraction.columns import Array
    from es_dedup.extraction.structure import Structure
    from es_dedup.extraction.tokens import Odds

HEADINGS: Final = ("h1", "h2", "h3", "h4")
_LEVELS: Final = 5
_BIG_SHARE: Final = 0.3
_TITLE_UNITS: Final = (
    20.0  # the first line of a container, where it is as short as this, says what the container holds
)


class Surroundings:
    """The part of the features that looks around; what it looks at is set by the class made of it."""

    blocks: Blocks
    characters: Characters
    odds: Odds
    add: Callable[[str, Array], None]
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
    word_odds: Array
    measures: Array
    total: Array
    whole: Array

    def _of_sums(self, sums: Array, name: str, *, full: bool = True) -> None:
        """Densities of sums over some blocks around each block."""
        self.add(f"{name}_log_free", np.log1p(np.maximum(sums[:, FREE], 0)))
        self.add(f"{name}_link_density", 1 - ratio(sums[:, FREE], sums[:, ALL]))
        self.add(f"{name}_mean_units", np.log1p(ratio(sums[:, ALL], sums[:, ONE])))
        if full:
            self.add(f"{name}_stop_rate", ratio(sums[:, STOPS], sums[:, ALL]))
            self.add(f"{name}_share", sums[:, FREE] / self.whole[FREE])
            self.add(f"{name}_prose_share", sums[:, PROSE] / self.whole[PROSE])
            self.add(f"{name}_prose_density", ratio(sums[:, PROSE], sums[:, ALL]))
            self.add(f"{name}_date_rate", ratio(sums[:, DATES], sums[:, ONE]))
            self.add(f"{name}_word_odds", ratio(sums[:, ODDS], sums[:, ONE]))

    def _containers(self, structure: Structure) -> None:
        container = self.holders
        for level in range(_LEVELS):
            sums = structure.sums[container]
            self._of_sums(sums, f"up{level}")
            self.add(f"up{level}_odds_low", structure.odds_low[container])
            self.add(f"up{level}_odds_high", structure.odds_high[container])
            if level:
                title = structure.first[container]
                titled = (self.units[title] <= _TITLE_UNITS) & (title < self.places)
                self.add(f"up{level}_title_odds", np.where(titled, self.word_odds[title], 0.0))
                self.add(f"up{level}_title_link", np.where(titled, self.density[title], -1.0))
                self.add(f"up{level}_from_start", np.log1p(self.places - structure.first[container]))
                self.add(f"up{level}_from_end", np.log1p(structure.last[container] - 1.0 - self.places))
            container = structure.wider[container]
        big = structure.nearest(structure.sums[:, FREE] >= _BIG_SHARE * self.whole[FREE])[self.holders]
        self._of_sums(structure.sums[big], "big")
        self.add("big_odds", structure.odds_sum[big])
        self.add("big_distance", structure.depth[self.holders] - structure.depth[big])
        for share in (0.5, 0.8):
            core = structure.innermost(structure.sums[:, PROSE] >= share * self.whole[PROSE])
            first, last = structure.first[core], structure.last[core]
            self.add(
                f"core{share}", np.where(self.places < first, -1.0, np.where(self.places >= last, 1.0, 0.0))
            )
            self.add(f"core{share}_share", np.full(self.count, structure.sums[core, FREE] / self.whole[FREE]))
            self.add(f"core{share}_depth", structure.depth[self.holders] - structure.depth[core])
        for name in ("chain_low", "chain_high", "chain_sum", "depth"):
            self.add(name, getattr(structure, name)[self.holders].astype(np.float64))
        inline = [
            self.odds.of_name(self.blocks.names[place]) if place else (0.0, 0.0, 0.0)
            for place in self.blocks.inline_signatures
        ]
        for column, name in enumerate(("low", "high")):
            self.add(f"inline_odds_{name}", np.array([odds[column] for odds in inline]))

    def _group_sums(self, groups: Array) -> Array:
        size = int(groups.max()) + 1
        return np.stack([np.bincount(groups, column, minlength=size) for column in self.measures.T], axis=1)

    def _kinds(self, structure: Structure) -> None:
        for name, kinds in (("kind", structure.kinds), ("path", structure.paths)):
            groups = kinds[self.holders]
            sums = self._group_sums(groups)[groups]
            self._of_sums(sums, name)
            self.add(f"{name}_blocks", np.log1p(sums[:, ONE]))
            self.add(f"{name}_short", ratio(sums[:, SHORT], sums[:, ONE]))
            self.add(f"{name}_linked", ratio(sums[:, LINKED], sums[:, ONE]))
        self.kinds = structure.kinds[self.holders]

    def _records(self, structure: Structure) -> None:
        """Repeated siblings: posts of a thread, items of a list, rows."""
        for name, records in (("record", structure.nearest_record), ("rich", structure.rich_record)):
            record = records[self.holders]
            inside = record >= 0
            place = np.where(inside, record, 0)
            group = structure.record_groups[place]
            sums, own = structure.group_sums[group], structure.sums[place]

            def put(label: str, values: Array, *, name: str = name, inside: Array = inside) -> None:
                self.add(f"{name}_{label}", np.where(inside, values, -1.0))

            put("has_title", (structure.first[place] <= self.title) & (self.title < structure.last[place]))
            put("count", np.log1p(structure.group_counts[group]))
            put("share", sums[:, FREE] / self.whole[FREE])
            put("prose_share", sums[:, PROSE] / self.whole[PROSE])
            put("mean_free", np.log1p(ratio(sums[:, FREE], structure.group_counts[group])))
            put("link_density", 1 - ratio(sums[:, FREE], sums[:, ALL]))
            put("dated", structure.group_dated[group])
            put("with_prose", structure.group_prose[group])
            put("own_dates", np.minimum(own[:, DATES], 5.0))
            put("from_start", np.log1p(np.maximum(self.places - structure.first[place], 0)))
            put("share_of_record", ratio(self.free, own[:, FREE]))

    def _neighbours(self, structure: Structure) -> None:
        shown = {
            "log_free": np.log1p(self.free), "link_density": self.density, "dates": np.minimum(self.characters.dates, 2.0), "odds": structure.odds_sum[self.holders],
            "level": structure.depth[self.holders].astype(np.float64),
        }  # fmt: skip
        heading = (self.tags >= 0) & (self.tags < len(HEADINGS))
        for step in (-2, -1, 1, 2):
            places = self.places + step
            inside = (places >= 0) & (places < self.count)
            clipped = np.clip(places, 0, self.count - 1)
            for name, column in shown.items():
                self.add(f"next{step:+d}_{name}", np.where(inside, column[clipped], -1.0))
            self.add(f"next{step:+d}_same", (inside & (self.kinds[clipped] == self.kinds)).astype(np.float64))
        for width in (3, 8, 20):
            above, below = np.maximum(self.places - width, 0), np.minimum(self.places + width + 1, self.count)
            self._of_sums(self.total[self.places] - self.total[above], f"above{width}", full=False)
            self._of_sums(self.total[below] - self.total[self.places + 1], f"below{width}", full=False)
        # the last heading: odds of its words, how far it is, what it is of
        last = np.maximum.accumulate(np.where(heading, self.places, -1))
        inside = last >= 0
        self.add("heading_distance", np.where(inside, np.log1p(self.places - last), -1.0))
        self.add("heading_odds", np.where(inside, self.word_odds[last], 0.0))
        self.add("heading_link", np.where(inside, self.density[last], -1.0))
