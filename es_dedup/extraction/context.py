"""Numbers of the second pass: what the first pass says of the blocks around each block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from es_dedup.extraction.columns import ratio
from es_dedup.extraction.structure import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.extraction.columns import Page

    Array = NDArray[Any]


def context_features(page: Page, columns: Columns, before: Array) -> Columns:
    """Second pass: the first pass's probabilities, weighted by length, of neighbours, of blocks alike and of containers.

    Args:
        page: of the blocks.
        columns: of the first pass, with the structure they were made of.
        before: probabilities of the first pass.
    """
    return _Context(page, columns, before).run()


class _Context:
    def __init__(self, page: Page, columns: Columns, before: Array) -> None:
        self.structure, self.before, self.count = columns.structure, before, len(before)
        self.holders = np.array(page.blocks.holders, np.int64)
        self.places = np.arange(self.count)
        self.units = np.expm1(columns.values[columns.names.index("log_units")]) + 1
        self.weights, self.mass = np.zeros(self.count + 1), np.zeros(self.count + 1)
        np.cumsum(self.units, out=self.weights[1:])
        np.cumsum(self.units * before, out=self.mass[1:])
        self.whole = max(float(self.mass[-1]), 1e-9)
        self.columns = Columns()
        self.add = self.columns.add

    def run(self) -> Columns:
        self.add("first", self.before)
        self._neighbours()
        self._alike()
        self._containers()
        self._records()
        self._page()
        return self.columns

    def _mean(self, first: Array, last: Array) -> Array:
        """Mean probability of the blocks from one place to another, by length."""
        return ratio(self.mass[last] - self.mass[first], self.weights[last] - self.weights[first])

    def _neighbours(self) -> None:
        places, count = self.places, self.count
        for step in (-3, -2, -1, 1, 2, 3):
            moved = places + step
            near = (moved >= 0) & (moved < count)
            self.add(f"first{step:+d}", np.where(near, self.before[np.clip(moved, 0, count - 1)], -1.0))
        for width in (3, 8, 25):
            above, below = np.maximum(places - width, 0), np.minimum(places + width + 1, count)
            self.add(f"first_above{width}", self._mean(above, places))
            self.add(f"first_below{width}", self._mean(places + 1, below))
        self.add("mass_before", self.mass[:-1] / self.whole)
        self.add("mass_after", 1 - self.mass[1:] / self.whole)

    def _alike(self) -> None:
        for name, kinds in (("kind", self.structure.kinds), ("path", self.structure.paths)):
            groups = kinds[self.holders]
            own, part = np.bincount(groups, self.units), np.bincount(groups, self.units * self.before)
            self.add(f"first_{name}", part[groups] / own[groups])
            rest = own[groups] - self.units
            others = ratio(part[groups] - self.units * self.before, rest)
            self.add(f"first_{name}_others", np.where(rest > 0.5, others, -1.0))
            self.add(f"mass_{name}", part[groups] / self.whole)

    def _containers(self) -> None:
        structure, container = self.structure, self.holders
        for level in range(5):
            first, last = structure.first[container], structure.last[container]
            self.add(f"first_up{level}", self._mean(first, last))
            self.add(f"mass_up{level}", (self.mass[last] - self.mass[first]) / self.whole)
            container = structure.wider[container]

    def _records(self) -> None:
        structure, groups = self.structure, self.structure.record_groups
        mass = np.bincount(groups, self.mass[structure.last] - self.mass[structure.first])
        weights = np.bincount(groups, self.weights[structure.last] - self.weights[structure.first])
        for name, records in (("record", structure.nearest_record), ("rich", structure.rich_record)):
            record = records[self.holders]
            inside, place = record >= 0, np.maximum(record, 0)
            group = groups[place]
            own = self._mean(structure.first[place], structure.last[place])
            self.add(f"first_{name}", np.where(inside, own, -1.0))
            self.add(f"first_{name}_group", np.where(inside, ratio(mass[group], weights[group]), -1.0))
            self.add(f"mass_{name}_group", np.where(inside, mass[group] / self.whole, -1.0))

    def _page(self) -> None:
        """Where the blocks that are likely to be main text stand."""
        structure, places = self.structure, self.places
        core = structure.innermost(self.mass[structure.last] - self.mass[structure.first] >= 0.8 * self.whole)
        first, last = structure.first[core], structure.last[core]
        self.add("first_core", np.where(places < first, -1.0, np.where(places >= last, 1.0, 0.0)))
        self.add("first_core_share", np.full(self.count, self._mean(first, last)))
        sure = np.flatnonzero(self.before > 0.5)
        start, end = (int(sure[0]), int(sure[-1])) if sure.size else (0, -1)
        for name, place in (("from_first_sure", start), ("from_last_sure", end)):
            self.add(name, np.sign(places - place) * np.log1p(np.abs(places - place)))
        self.add("mean_first", np.full(self.count, self.whole / float(self.weights[-1])))
