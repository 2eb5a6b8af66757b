"""Small pages to compare: sentences from a seed, titles and days, and the decision rules on a pair of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from es_dedup.batch.corpus import Corpus, corpus_of
from es_dedup.batch.learning import learn
from es_dedup.clustering.order import PageKey
from es_dedup.decision.comparison import PagePairs, Pages, compare, pair_decisions
from es_dedup.decision.statistics import Statistics
from es_dedup.decision.thresholds import BALANCED, Thresholds
from es_dedup.detectors.features import FeatureTable, featurise
from es_dedup.model import PairDecision
from es_dedup.settings import Settings
from tests.texts import article

SETTINGS = Settings()


@dataclass(frozen=True)
class Small:
    """A page to compare: sentences, a title, and the day it was published, 0 for unknown."""

    lines: tuple[str, ...]
    title: str = ""
    day: int = 0
    site: str = ""


def lines(seed: int, count: int) -> tuple[str, ...]:
    """Sentences of about 22 characters without numbers; one seed gives the same ones."""
    return tuple(article(seed * 1000 + place, sentences=1) for place in range(count))


def numbered(seed: int, count: int, start: int) -> tuple[str, ...]:
    """Sentences that differ in their numbers only, for one seed."""
    return tuple(
        f"{line[:8]}共有{start + place}项{line[-8:-1]}。" for place, line in enumerate(lines(seed, count))
    )


def table_of(pages: Sequence[Small]) -> FeatureTable:
    """Features of the pages."""
    return featurise(["\n".join(page.lines) for page in pages], [page.title for page in pages], SETTINGS)


def rows_of(pages: Sequence[Small]) -> Pages:
    """The pages as the decision rules take them."""
    days = np.array([page.day for page in pages], dtype=np.int64)
    return Pages([f"page-{row}" for row in range(len(pages))], table_of(pages), days)


def decide_pair(
    left: Small, right: Small, statistics: Statistics | None = None, thresholds: Thresholds = BALANCED
) -> PairDecision:
    """The decision on the pair."""
    known = statistics or Statistics.empty()
    pages = rows_of([left, right])
    comparison = compare(PagePairs(pages, np.array([0]), pages, np.array([1])), known, SETTINGS, thresholds)
    return pair_decisions(comparison, [0])[0]


def keys_of(pages: Sequence[Small], names: Sequence[str] | None = None) -> list[PageKey]:
    """Sort keys of the pages; ``names`` are their ids."""
    ids = names or [f"page-{row}" for row in range(len(pages))]
    days = [date.fromordinal(page.day).isoformat() if page.day else "" for page in pages]
    return [PageKey(name, day, page.site) for name, day, page in zip(ids, days, pages, strict=True)]


def corpus(pages: Sequence[Small], names: Sequence[str] | None = None) -> Corpus:
    """The pages in memory."""
    return corpus_of(keys_of(pages, names), table_of(pages))


def learned(pages: Sequence[Small], names: Sequence[str] | None = None) -> Statistics:
    """Statistics of the pages."""
    return learn(corpus(pages, names), SETTINGS.ccdet)
