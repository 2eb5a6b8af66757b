"""Candidates of one method alone: every page's probe against every page's stored terms, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.port import Detector

    Rows = NDArray[np.int64]

CHUNK_HITS: Final = 2_000_000  # postings looked at in one go: about 100 MB


@dataclass(frozen=True, slots=True)
class SelfJoin:
    """What the probes of all pages found.

    Attributes:
        left, right: candidate pairs as places of pages, ``left`` < ``right``; each once, ascending.
        asked: pages that have a probe.
        found: candidates over all of these pages, the asking page itself not counted.
        terms: stored terms over all pages.
        capped_terms: probe terms left out because more pages than the probe allows carry them.
    """

    left: Rows
    right: Rows
    asked: int
    found: int
    terms: int
    capped_terms: int


@dataclass(frozen=True, slots=True)
class _Questions:
    """Groups of all probes: one term a row of ``terms``, ``group`` names the row of ``page`` and ``least``."""

    terms: NDArray[np.uint64]
    group: Rows
    page: Rows
    least: Rows
    most: Rows


def self_join(detector: Detector[Any], features: Sequence[Any]) -> SelfJoin:
    """Join a corpus with itself by one method's probe plan, as an index would execute it page by page.

    Probe limits on the number of answers are not applied; a term that more pages carry than ``Probe.max_df`` is left
    out, as an index does.

    Args:
        detector: the method.
        features: of each page; None for a page that the method skips.
    """
    stored, owners = _stored(detector, features)
    questions = _questions(detector, features)
    low = np.searchsorted(stored, questions.terms)
    counts = np.searchsorted(stored, questions.terms, side="right") - low
    capped = counts > questions.most[questions.group]
    counts[capped] = 0
    parts, found = [], 0
    for start, end in _blocks(questions.group, counts):
        rows, number = counts[start:end], int(counts[start:end].sum())
        first = np.cumsum(rows) - rows
        place = np.repeat(low[start:end] - first, rows) + np.arange(number)
        hits = np.repeat(questions.group[start:end], rows) * len(features) + owners[place]
        pairs, shared = np.unique(hits, return_counts=True)
        group, other = np.divmod(pairs, max(len(features), 1))
        asker = questions.page[group]
        keep = (shared >= questions.least[group]) & (asker != other)
        answers = np.unique(asker[keep] * len(features) + other[keep])
        found += len(answers)
        asker, other = np.divmod(answers, max(len(features), 1))
        parts.append(np.minimum(asker, other) * len(features) + np.maximum(asker, other))
    every = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
    left, right = np.divmod(every, max(len(features), 1))
    asked = len(np.unique(questions.page))
    return SelfJoin(left, right, asked, found, len(stored), int(capped.sum()))


def _stored(detector: Detector[Any], features: Sequence[Any]) -> tuple[NDArray[np.uint64], Rows]:
    terms = [detector.terms(each) if each is not None else () for each in features]
    owners = np.repeat(np.arange(len(terms)), [len(each) for each in terms])
    values = np.array([term for each in terms for term in each], dtype=np.uint64)
    order = np.argsort(values, kind="stable")
    return values[order], owners[order]


def _questions(detector: Detector[Any], features: Sequence[Any]) -> _Questions:
    terms: list[int] = []
    sizes, pages, least, most = [], [], [], []
    for page, each in enumerate(features):
        probe = detector.probe(each) if each is not None else None
        for group in probe.groups if probe else ():
            terms += group.terms
            sizes.append(len(group.terms))
            pages.append(page)
            least.append(group.min_shared)
            most.append(probe.max_df if probe else 0)
    return _Questions(
        np.array(terms, dtype=np.uint64),
        np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.int64)),
        np.array(pages, dtype=np.int64),
        np.array(least, dtype=np.int64),
        np.array(most, dtype=np.int64),
    )


def _blocks(group: Rows, counts: Rows) -> Iterator[tuple[int, int]]:
    """Slices of about ``CHUNK_HITS`` postings that never cut a group in two."""
    total = np.cumsum(counts)
    start, done = 0, 0
    while start < len(group):
        end = max(int(np.searchsorted(total, done + CHUNK_HITS, side="right")), start + 1)
        end = int(np.searchsorted(group, group[end - 1], side="right"))
        yield start, end
        start, done = end, int(total[end - 1])
