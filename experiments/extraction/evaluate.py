"""Agreement of a model's choices with gold text, by source or site."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.extraction.block_model import Reading
from es_dedup.extraction.block_selection import choose
from experiments.extractors import agreement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from experiments.extraction.pages import LabelledPage

MISS: Final = 0.3
"""A page with a smaller F1 is missed as a whole."""

RESAMPLED: Final = 2_000


def page_agreement(page: LabelledPage, probabilities: NDArray[np.float64], thread: float) -> float:
    """F1 of the blocks that are chosen by their probabilities, against the page's gold text."""
    chosen = choose(Reading(probabilities, thread), page.page.characters.lengths)
    return agreement(
        page.gold, "\n".join(page.page.blocks.text(int(place)) for place in np.flatnonzero(chosen))
    )


def by_group(groups: Iterable[str], found: Iterable[float]) -> dict[str, dict[str, float]]:
    """Pages, mean F1 and number of missed pages of each group, in alphabetical order.

    Args:
        groups: name of the group of each page.
        found: its F1.
    """
    scores: dict[str, list[float]] = defaultdict(list)
    for name, score in zip(groups, found, strict=True):
        scores[name].append(score)
    return {
        name: {"pages": len(own), "f1": round(fmean(own), 4), "missed": sum(score < MISS for score in own)}
        for name, own in sorted(scores.items())
    }


def by_source(pages: Sequence[LabelledPage], found: Sequence[float]) -> dict[str, dict[str, float]]:
    """The same by source; rendered pages of all programs are one."""
    return by_group((page.source.split("/")[0] for page in pages), found)


def interval(pages: Sequence[LabelledPage], found: Sequence[float]) -> dict[str, tuple[float, float]]:
    """Of each source the 5 % and 95 % quantiles of the mean over resampled sites: pages of one site are no independent samples.

    Args:
        pages: measured.
        found: F1 of each.
    """
    by_site: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for page, score in zip(pages, found, strict=True):
        by_site[page.source.split("/")[0]][page.site].append(score)
    random = np.random.default_rng(0)
    intervals = {}
    for source, sites in by_site.items():
        sums, counts = (np.array([of(each) for each in sites.values()]) for of in (sum, len))
        drawn = random.integers(0, len(sums), (RESAMPLED, len(sums)))
        means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
        low, high = np.quantile(means, [0.05, 0.95])
        intervals[source] = (round(float(low), 4), round(float(high), 4))
    return intervals
