"""One page, or a few, against all that is stored: probes, candidates, comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.detectors import ccdet, coverage, simhash
from es_dedup.detectors.features import unpack
from es_dedup.detectors.others import asked_by_others
from es_dedup.judgement.compare import Pages, compare, judged_pair
from es_dedup.judgement.judge import RELATIONS
from es_dedup.judgement.limits import limits_of
from es_dedup.model import Edge, Probe, TermGroup
from es_dedup.text.hashing import tagged_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from es_dedup.config import Settings
    from es_dedup.detectors.coverage import Sampled
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.index.port import Index
    from es_dedup.judgement.compare import Comparison
    from es_dedup.judgement.statistics import Statistics
    from es_dedup.model import JudgedPair, ProbeAnswer

HOT_TERMS: Final = 12  # of each kind, asked again without the cap when the rarer ones found nothing
HOT_MAX_DF: Final = 5_000


@dataclass(frozen=True, slots=True)
class Looked:
    """Candidates of some pages, compared.

    Attributes:
        asked: the pages.
        comparison: their pairs with candidates, the asked page on the left.
        capped_terms: probe terms left out because many pages carry them.
        inconclusive: rows of asked pages whose candidate list was cut, or of which a part of the index did not answer,
            without a related page in it.
        unanswered: rows of which a part of the index did not answer.
        truncated: pages whose candidate list was cut.
    """

    asked: Pages
    comparison: Comparison
    capped_terms: int
    truncated: int
    inconclusive: frozenset[int]
    settings: Settings
    statistics: Statistics
    unanswered: frozenset[int] = frozenset()

    @property
    def pairs(self) -> int:
        """Pairs compared."""
        return len(self.comparison.left_rows)

    def edges(self) -> list[Edge]:
        """Related pairs as edges, the smaller id on the left; a pair seen from both sides comes twice."""
        judged = self.comparison.judgements
        made = []
        for pair in np.flatnonzero(judged.rule == 0).tolist():
            left = self.asked.ids[int(self.comparison.left_rows[pair])]
            right = self.comparison.right.ids[int(self.comparison.right_rows[pair])]
            relation, score = RELATIONS[int(judged.relation[pair])], round(float(judged.score[pair]), 4)
            made.append(
                Edge(left, right, relation, score)
                if left < right
                else Edge(right, left, relation.reversed, score)
            )
        return made

    def related(self, row: int, *, verdicts: bool = True) -> list[JudgedPair]:
        """Related pairs of one asked page, strongest first."""
        judged = self.comparison.judgements
        pairs = np.flatnonzero((judged.rule == 0) & (self.comparison.left_rows == row)).tolist()
        found = [
            judged_pair(self.comparison, pair, self.settings, self.statistics, verdicts=verdicts)
            for pair in pairs
        ]
        return sorted(found, key=lambda each: (-each.relation.same, -each.score, each.right))


class Lookup:
    """Finds and compares stored pages.

    Args:
        index: what is stored.
        settings: detectors and limits.
        statistics: what clauses and grams count.
        day_of: day number of a stored time.
    """

    def __init__(
        self, index: Index, settings: Settings, statistics: Statistics, day_of: Callable[[str], int]
    ) -> None:
        self._index, self._settings, self._day_of = index, settings, day_of
        self.statistics = statistics

    def load(self, page_ids: Sequence[str]) -> Pages:
        """Stored pages by id, in order; unknown ids are left out."""
        found = self._index.payloads(page_ids)
        ids = [page_id for page_id in page_ids if page_id in found]
        stored = [found[page_id] for page_id in ids]
        days = [self._day_of(published) for _, published in stored]
        return Pages(ids, unpack([payload for payload, _ in stored]), np.array(days, dtype=np.int64))

    def of_stored(self, page_ids: Sequence[str]) -> Looked:
        """Stored pages against all others."""
        return self.of(self.load(page_ids))

    def of(self, asked: Pages, also: Sequence[Sequence[str]] = ()) -> Looked:
        """Pages, stored or not, against all stored pages with another id.

        Args:
            asked: the pages.
            also: for each page further stored pages to compare it with; empty: none.
        """
        answers = self._ask(asked)
        names = self._names(asked, answers)
        if also:
            names = [list(dict.fromkeys((*some, *more))) for some, more in zip(names, also, strict=True)]
        found = self.among(asked, names)
        related = set(found.comparison.left_rows[found.comparison.judgements.rule == 0].tolist())
        cut = [row for row, answer in enumerate(answers) if answer.truncated]
        silent = [row for row, answer in enumerate(answers) if answer.problem]
        return replace(
            found,
            capped_terms=sum(answer.capped_terms for answer in answers),
            truncated=len(cut),
            inconclusive=frozenset((*cut, *silent)) - related,
            unanswered=frozenset(silent) - related,
        )

    def among(self, asked: Pages, names: Sequence[Iterable[str]]) -> Looked:
        """Pages against stored pages that are named for each; names that are not stored are passed over."""
        stored = self.load(list(dict.fromkeys(chain.from_iterable(names))))
        place = {page_id: row for row, page_id in enumerate(stored.ids)}
        left = [row for row, some in enumerate(names) for name in some if name in place]
        right = [place[name] for some in names for name in some if name in place]
        comparison = compare(
            asked,
            np.array(left, dtype=np.int64),
            stored,
            np.array(right, dtype=np.int64),
            self.statistics,
            limits_of(self._settings.judge.preset),
        )
        return Looked(asked, comparison, 0, 0, frozenset(), self._settings, self.statistics)

    def _names(self, asked: Pages, answers: Sequence[ProbeAnswer]) -> list[list[str]]:
        """Exact copies and candidates of each page and, where there are more than the limit, who stands for them."""
        limit = self._settings.index.limit
        hashes = asked.table.hashes.tolist()
        copies = self._index.pages_with_hash([value for value in hashes if value], limit=limit + 1)
        wanted = []
        for page_id, digest, answer in zip(asked.ids, hashes, answers, strict=True):
            same = copies.get(digest, ())
            names = dict.fromkeys((*same[:limit], *(candidate.page_id for candidate in answer.candidates)))
            if answer.truncated or len(same) > limit:
                names.update((each.representative, None) for each in self._index.assignments(names).values())
            names.pop(page_id, None)
            wanted.append(list(names))
        return wanted

    def _ask(self, asked: Pages) -> list[ProbeAnswer]:
        """Rare terms first; a page whose terms are nearly all common asks again for its common ones."""
        limits = self._settings.index
        groups = [probe_groups(asked.table, row, self._settings) for row in range(len(asked.table))]
        probes = [
            Probe(tuple(group), limit=limits.limit, max_df=limits.max_df, exclude=page_id)
            for group, page_id in zip(groups, asked.ids, strict=True)
        ]
        answers = self._index.probe_many(probes)
        again = [row for row, answer in enumerate(answers) if _mostly_capped(probes[row], answer)]
        if again:
            hot = [_hottest(probes[row], limits.limit) for row in again]
            for row, answer in zip(again, self._index.probe_many(hot), strict=True):
                answers[row] = answer
        return answers


def probe_groups(table: FeatureTable, row: int, settings: Settings) -> list[TermGroup]:
    """What each enabled detector asks for one page."""
    groups: list[TermGroup] = []
    one = table if len(table) == 1 else table.take(np.array([row]))
    if coverage.Coverage.name in settings.detectors:
        for tag, chosen, least in (
            (coverage.GRAM_TAG, coverage.probed_grams(one.coverage), coverage.MIN_SHARED_GRAMS),
            (coverage.CLAUSE_TAG, coverage.probed_clauses(one.coverage), 1),
        ):
            groups += _group(tag, chosen, least)
    if ccdet.Ccdet.name in settings.detectors and len(one.periods.signatures) >= settings.ccdet.min_features:
        terms = tagged_terms(ccdet.TAG, one.periods.signatures[: ccdet.PROBE_TERMS])
        groups.append(TermGroup(tuple(terms.tolist()), min(settings.ccdet.min_common, len(terms))))
    if simhash.Simhash.name in settings.detectors and bool(one.has_words[0]):
        terms_ = simhash.probe_terms(int(one.fingerprints[0]), settings.simhash.max_hamming_bits)
        groups.append(TermGroup(terms_, 1))
    return groups + asked_by_others(table.others, row, settings)


def _group(tag: int, chosen: Sampled, least: int) -> list[TermGroup]:
    terms: NDArray[np.uint64] = tagged_terms(tag, chosen.values)
    if not len(terms):
        return []
    few = len(terms) < 2 * least
    return [TermGroup(tuple(terms.tolist()), 1 if few else least)]


def _mostly_capped(probe: Probe, answer: ProbeAnswer) -> bool:
    """A wire story that hundreds of pages carry has only common terms; so has a page of template alone."""
    asked = sum(len(group.terms) for group in probe.groups)
    return not answer.problem and not answer.candidates and 2 * answer.capped_terms >= asked


def _hottest(probe: Probe, limit: int) -> Probe:
    groups = tuple(TermGroup(group.terms[:HOT_TERMS], group.min_shared) for group in probe.groups)
    return Probe(groups, limit=limit, max_df=HOT_MAX_DF, exclude=probe.exclude)
