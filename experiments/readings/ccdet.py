"""Other readings of CCDet: noise by idf, and counts that pruning leaves as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors.ccdet import Ccdet, PeriodTable, Shared, period_table
from es_dedup.text.normalise import normalise_many

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from es_dedup.detectors.ccdet import PeriodFeatures
    from es_dedup.model import Content

MIN_IDF: Final = 3.0


class CcdetIdf(Ccdet):
    """Noise is what is frequent anywhere, whatever the site."""

    name = "ccdet_idf"

    def learned(self, contents: Sequence[Content]) -> Self:
        """A detector of the same settings with the signatures of low idf in these pages as noise."""
        texts = normalise_many([content.text for content in contents])
        table = period_table(texts, self._config.window)
        return type(self)(self._config, noise_by_idf(table, MIN_IDF, min_pages=self._config.prune_min_pages))


class CcdetKeptCounts(Ccdet):
    """Noise is not shared, but counts on both sides, as the source may have done: it lowers CCS."""

    name = "ccdet_kept_counts"

    def shared(self, left: PeriodFeatures, right: PeriodFeatures) -> Shared:
        """What two pages share beside noise, and what they have with it."""
        bound = np.uint64(min(left.bound, right.bound))
        below = [int(np.searchsorted(side.signatures, bound, side="right")) for side in (left, right)]
        return Shared(super().shared(left, right).common, left.total, right.total, *below)


def noise_by_idf(table: PeriodTable, min_idf: float, *, min_pages: int = 1) -> NDArray[np.uint64]:
    """Signatures with ln(N / df) below ``min_idf``: frequent anywhere, whatever the site.

    Args:
        table: signatures of the pages.
        min_idf: at least 0.
        min_pages: a signature of fewer pages is never noise; in a small corpus everything has a low idf.

    Source:
        CCDet, the variant without site marks; it names no formula of the idf, the plain one is taken.
    """
    distinct, frequency = np.unique(table.signatures, return_counts=True)
    rare = np.log(max(len(table), 1) / frequency) >= min_idf
    return distinct[~rare & (frequency >= min_pages)]
