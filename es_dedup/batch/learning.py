"""What clusters rest on: corpus statistics, learned from a corpus in memory or in files, and the decision settings in force."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup import native
from es_dedup.batch.columns import Column, value_ranges
from es_dedup.batch.memory import release_memory
from es_dedup.decision.statistics import (
    LEARN_PAGES,
    MASK_BITS,
    PostingSample,
    RowFeatures,
    Statistics,
    form_titles,
    numbered_clauses,
    weigh,
)
from es_dedup.detectors.ccdet import PeriodTable, learn_noise
from es_dedup.detectors.features import unpack
from es_dedup.settings.recorded import (
    STATISTICS,
    clustered_with,
    decision_differences,
    decisions_in,
    with_recorded,
)
from es_dedup.text.ragged import sorted_distinct, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.batch.corpus import Corpus
    from es_dedup.errors import Difference
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings
    from es_dedup.settings.sections import CcdetConfig

# features that the Python form weighs at a time, about 150 bytes each; the native core takes 8
MOST_IN_MEMORY: Final = 1_000_000


def learn(corpus: Corpus, config: CcdetConfig, *, most_pages: int = LEARN_PAGES) -> Statistics:
    """The statistics of a corpus; the same pages in any order give the same.

    Args:
        corpus: its pages; features of those that are learned from are read a range of values at a time where it is in files.
        config: pruning of period signatures.
        most_pages: of more pages those with the smallest place keys are learned from.
    """
    learned_from = np.zeros(len(corpus), dtype=np.bool_)
    learned_from[np.argsort(corpus.place_keys, kind="stable")[:most_pages]] = True
    at_hand = corpus.folder is None and native.core is not None  # weighed where they are
    nothing = np.zeros(0, dtype=np.int64)
    samples = [PostingSample.of(unpack([]), nothing, corpus.place_keys[:0], nothing, corpus.days[:0])]
    numbered = [np.zeros((3, 0), dtype=np.int64)]
    known: dict[str, int] = {}
    site_of = np.array([known.setdefault(site, len(known)) for site in corpus.sites], dtype=np.int64)
    in_memory: tuple[RowFeatures, ...] = ()
    with ExitStack() as stack:
        grams, clauses, periods = (
            stack.enter_context(closing(Column(corpus.folder, name, np.uint64)))
            for name in ("grams", "clauses", "periods")
        )
        for first, whole in corpus.batches():
            rows = np.flatnonzero(learned_from[first : first + len(whole)])
            cover = whole.coverage
            of_pages = (
                RowFeatures.of(cover.grams, cover.gram_masks, cover.gram_offsets, rows),
                RowFeatures.of(cover.clauses, cover.clause_masks, cover.clause_offsets, rows),
            )
            if at_hand:  # the only batch
                in_memory = of_pages
            else:
                for column, features in zip((grams, clauses), of_pages, strict=True):
                    column.add(features.packed, features.ends - features.starts)
            some = take(whole.periods, rows)
            periods.add(some.signatures, np.diff(some.offsets))
            keys, days = corpus.place_keys[first + rows], corpus.days[first + rows]
            numbered.append(numbered_clauses(cover, rows, int(learned_from[:first].sum())))
            samples.append(PostingSample.of(whole, rows, keys, site_of[first + rows], days))
        sample = PostingSample.joined(samples)
        of_forms = form_titles(sample.title_sums, sample.sites, np.concatenate(numbered, axis=1))
        placeholders = sorted_distinct(np.concatenate((sample.placeholders(), of_forms)))
        sample = sample._replace(titled=sample.titled & ~np.isin(sample.title_sums, placeholders))
        sites = [corpus.sites[row] for row in np.flatnonzero(learned_from).tolist()]
        most = corpus.most or (None if native.core else MOST_IN_MEMORY)
        if at_hand:
            weighed = [weigh(each, sample) for each in in_memory]
        else:
            weighed = [_weights(each, sample, most) for each in (grams, clauses)]
        noise = _noise(periods, sites, config, most)
    del samples, sample
    release_memory()
    return Statistics(*weighed[0], *weighed[1], noise, placeholders, len(corpus))


def store_statistics(index: Index, statistics: Statistics, packed: bytes, settings: Settings) -> None:
    """Put statistics in force, with the decision settings of those who decide by them.

    Args:
        index: to write to; the caller keeps other writers out.
        statistics: as learned.
        packed: the same as bytes.
        settings: the index records those that decide.
    """
    note = clustered_with(statistics.version, statistics.pages, settings)
    index.save_statistics(packed, {STATISTICS: note})


def _weights(
    column: Column, sample: PostingSample, most: int | None
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Grams or clauses that recur, ascending, and what each counts."""
    weighed = []
    for low, high in value_ranges([column], most, 1 << MASK_BITS):
        weighed.append(weigh(RowFeatures.unpacked(*column.between(low, high)), sample))
        if most is not None:
            release_memory()
    values, weights = map(np.concatenate, zip(*weighed, strict=True))
    return values, weights


def _noise(column: Column, sites: Sequence[str], config: CcdetConfig, most: int | None) -> NDArray[np.uint64]:
    """Period signatures that are the template of one site, ascending."""
    signatures = []
    for low, high in value_ranges([column], most):
        values, offsets = column.between(low, high)
        signatures.append(learn_noise(PeriodTable.whole(offsets, values), sites, config))
    return np.concatenate(signatures)


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """Statistics and settings that the clusters of an index were made with, so that new pages are decided on alike.

    Attributes:
        note: text of the note ``STATISTICS`` that they were read by.
        settings: those of the caller, with the decision settings that the index records.
        differences: the decision settings of the caller that are not in force.
        statistics: as stored.
    """

    note: str | None
    settings: Settings
    differences: tuple[Difference, ...]
    statistics: Statistics

    @classmethod
    def read(
        cls, index: Index, given: Settings, note: str | None, known: EffectiveSettings | None = None
    ) -> EffectiveSettings:
        """What is stored; ``known`` while the note still is what it was.

        Raises:
            ValueError: the statistics are damaged.
        """
        if known is not None and known.note == note:
            return known
        recorded = decisions_in(note)
        stored = index.load_statistics()
        return cls(
            note,
            with_recorded(given, recorded),
            decision_differences(recorded, given),
            Statistics.from_bytes(stored) if stored else Statistics.empty(),
        )
