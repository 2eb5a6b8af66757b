"""One page, or a few, against all that is stored: candidate queries, candidates, comparison."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.decision.comparison import PagePairs, Pages, PairComparison, compare, days_of, pair_decisions
from es_dedup.decision.term_use import TermUse
from es_dedup.decision.voting import voters_of
from es_dedup.detectors import ccdet, coverage, simhash
from es_dedup.detectors.coverage_pairs import CONTENT, Weights
from es_dedup.detectors.features import FeatureTable, unpack
from es_dedup.detectors.named_fields import labels_of
from es_dedup.detectors.packed_features import packed_query_terms
from es_dedup.model import CandidateQuery, CandidateResult, Edge, PairDecision, TermGroup
from es_dedup.model.batches import by_key
from es_dedup.text.hashing import tagged_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.decision.statistics import Statistics
    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings import Settings

# times ``index.limit``: candidates of a page whose best ones do not settle it, and those of one method
MOST_COMPARED: Final = 8
HOT_TERMS: Final = 12  # of each kind, queried again without the cap when the rarer ones have no candidate
HOT_MAX_DF: Final = 5_000
# grams in more pages than this count half: two of them are a phrase that a site uses again
COMMON_DF: Final = 20
FEW_CAPPED: Final = 16  # one term in so many may be common, as a line that a site puts on all pages, and others still find all
# of a page's terms that are common and cause a second query; most others have no postings
COMMON_SHARE: Final = 0.25
CUT: Final = (
    "none of the best {:,} candidates is related, and there are more: `es-dedup elastic recluster` learns what is boilerplate, which then brings no "
    "pages together; or raise index.limit"
)


@dataclass(frozen=True, slots=True)
class CandidateSearchResult:
    """Some pages with their candidates and the comparison of both.

    Attributes:
        pages: the query pages.
        comparison: their pairs with candidates, the query page on the left.
        capped_terms: query terms left out because they have many postings.
        inconclusive: why candidates may be missing, of the rows of query pages without a related one.
        payloads: of all pages that were compared, as they were compared.
        stored, assigned: records and clusters of the related pages, where they were wanted.
        truncated: pages whose candidate list was cut.
        use: of each query page, the terms that methods queried and the terms left out.
        notes: those that were wanted, by name.
    """

    pages: Pages
    comparison: PairComparison
    capped_terms: int
    truncated: int
    inconclusive: Mapping[int, str]
    payloads: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)
    stored: Mapping[str, FeatureRecord] = field(default_factory=dict)
    assigned: Mapping[str, Assignment] = field(default_factory=dict)
    use: Sequence[TermUse] = ()
    notes: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """Pairs compared."""
        return len(self.comparison.pairs)

    def edges(self) -> list[Edge]:
        """Related pairs as edges, the smaller id on the left; a pair seen from both sides comes twice."""
        return self.comparison.related_rows().edges(self.pages.ids, self.comparison.pairs.right.ids)

    def related(self, row: int, *, verdicts: bool = True) -> list[PairDecision]:
        """Related pairs of one query page, strongest first."""
        decisions = self.comparison.decisions
        pairs = np.flatnonzero((decisions.rule == 0) & (self.comparison.pairs.left_rows == row)).tolist()
        found = pair_decisions(self.comparison, pairs, verdicts=verdicts)
        return sorted(found, key=lambda each: (-each.relation.same, -each.score, each.right))


@dataclass(frozen=True, slots=True)
class CandidateLists:
    """Some pages with their candidates, not yet compared.

    Attributes:
        pages: the query pages.
        answers: to their candidate queries.
        names: of each its exact copies and candidates, the best first; of many the first are compared, see ``compared``.
        partly: rows of pages that may have more candidates than were found.
        use: see ``CandidateSearchResult.use``.
    """

    pages: Pages
    answers: Sequence[CandidateResult]
    names: Sequence[Sequence[str]]
    partly: Sequence[int]
    use: Sequence[TermUse]


class CandidateSearch:
    """Finds and compares stored pages.

    Args:
        index: what is stored.
        settings: detectors and limits.
        statistics: what clauses and grams count.
    """

    def __init__(self, index: Index, settings: Settings, statistics: Statistics) -> None:
        self._index, self.settings, self.statistics = index, settings, statistics

    def load(self, page_ids: Sequence[str]) -> Pages:
        """Stored pages by id, in order; unknown ids are left out."""
        return self._pages(page_ids, self._index.payloads(page_ids))

    def _pages(self, page_ids: Iterable[str], payloads: Mapping[str, tuple[bytes, str]]) -> Pages:
        ids = [page_id for page_id in page_ids if page_id in payloads]
        stored = [payloads[page_id] for page_id in ids]
        days = days_of(published for _, published in stored)
        return Pages(ids, unpack([payload for payload, _ in stored]), days)

    def of_stored(self, page_ids: Sequence[str]) -> CandidateSearchResult:
        """Compare stored pages with all other stored pages."""
        return self.of(self.load(page_ids))

    def of(self, pages: Pages, **wanted: Any) -> CandidateSearchResult:
        """Compare pages, stored or not, with all stored pages that have another id; ``wanted``: see ``compared``."""
        return self.compared(self.find(pages), **wanted)

    def find(self, pages: Pages) -> CandidateLists:
        """First part of ``of``: find candidates by the current index; query pages come last in each other's lists."""
        hashes, limit = pages.table.hashes.tolist(), self.settings.index.limit
        answers, copies, use = self._search(pages, hashes)
        together = frozenset(pages.ids).__contains__
        names = [
            dict.fromkeys(
                (
                    *sorted(copies.get(digest, ()), key=together)[:limit],
                    *sorted(answer.candidates, key=together),
                )
            )
            for digest, answer in zip(hashes, answers, strict=True)
        ]
        for page_id, some in zip(pages.ids, names, strict=True):
            some.pop(page_id, None)
        partly = [
            row
            for row, (digest, answer) in enumerate(zip(hashes, answers, strict=True))
            if len(names[row]) > limit or _many_capped(use[row]) or len(copies.get(digest, ())) > limit
        ]
        return CandidateLists(pages, answers, [list(some) for some in names], partly, use)

    def compared(
        self,
        found: CandidateLists,
        *,
        assigned: bool = False,
        at_hand: Mapping[str, FeatureRecord] = MappingProxyType({}),
        notes: Sequence[str] = (),
    ) -> CandidateSearchResult:
        """Second part of ``of``: read the candidates and compare them; removed ones are skipped.

        Of a long list ``index.limit`` candidates are compared, and the others unless half of these are related, a canonical document among
        them: then the page is one of many copies, whose cluster is known.

        Args:
            found: what ``find`` gave.
            assigned: read records and clusters of the related pages.
            at_hand: records of stored pages that are not read.
            notes: names of notes of the index that are read with the clusters, where ``assigned``.
        """
        pages, answers, limit = found.pages, found.answers, self.settings.index.limit
        names = [dict.fromkeys(some[:limit]) for some in found.names]
        # A page that may have more candidates than were found is also compared with those that stand for the ones found.
        partly = {name for row in found.partly for name in names[row]}
        known = self._index.assignments(partly) if partly else {}
        for row in found.partly:
            names[row].update(dict.fromkeys(known[name].canonical for name in names[row] if name in known))
            names[row].pop(pages.ids[row], None)
        payloads = self._payloads([*names, *found.names], at_hand)
        results = self._compared(pages, names, payloads)
        pairs = list(results.comparison.related_pairs())
        related, canonical = Counter(row for row, _ in pairs), {each.canonical for each in known.values()}
        settled = {row for row, name in pairs if name in canonical and 2 * related[row] >= limit}
        rest = [
            {} if row in settled else dict.fromkeys(name for name in some[limit:] if name not in first)
            for row, (some, first) in enumerate(zip(found.names, names, strict=True))
        ]
        if any(rest):
            every = [some | more for some, more in zip(names, rest, strict=True)]
            results = self._compared(pages, every, payloads)
            pairs = list(results.comparison.related_pairs())
        with_pairs = {row for row, _ in pairs}
        results = replace(
            results,
            capped_terms=sum(answer.capped_terms for answer in answers),
            truncated=sum(answer.truncated for answer in answers),
            inconclusive={
                row: CUT.format(len(some))
                for row, (some, answer) in enumerate(zip(found.names, answers, strict=True))
                if answer.truncated and row not in with_pairs
            },
            payloads=payloads,
            use=found.use,
        )
        if not assigned:
            return results
        ends = dict.fromkeys(name for _, name in pairs)
        unread = [name for name in ends if name not in at_hand]
        stored, clusters, noted = self._index.pages_and_assignments(unread, notes)
        stored |= {name: at_hand[name] for name in ends if name in at_hand}
        return replace(results, stored=stored, assigned=clusters, notes=noted)

    def among(self, pages: Pages, names: Sequence[Iterable[str]]) -> CandidateSearchResult:
        """Compare each page with the stored pages that are named for it; unknown names are skipped."""
        return self._compared(pages, names, self._index.payloads(dict.fromkeys(chain.from_iterable(names))))

    def _compared(
        self, pages: Pages, names: Sequence[Iterable[str]], payloads: Mapping[str, tuple[bytes, str]]
    ) -> CandidateSearchResult:
        stored = self._pages(dict.fromkeys(chain.from_iterable(names)), payloads)
        place = {page_id: row for row, page_id in enumerate(stored.ids)}
        rows = [(row, place[name]) for row, some in enumerate(names) for name in some if name in place]
        left, right = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
        comparison = compare(PagePairs(pages, left, stored, right), self.statistics, self.settings)
        return CandidateSearchResult(pages, comparison, 0, 0, {})

    def _payloads(
        self, names: Sequence[Iterable[str]], at_hand: Mapping[str, FeatureRecord]
    ) -> dict[str, tuple[bytes, str]]:
        every = dict.fromkeys(chain.from_iterable(names))
        known = {name: at_hand[name] for name in every if name in at_hand}
        payloads = {name: (record.payload, record.published) for name, record in known.items()}
        if unread := [name for name in every if name not in known]:
            payloads |= self._index.payloads(unread)
        return payloads

    def _search(
        self, pages: Pages, hashes: Sequence[int]
    ) -> tuple[list[CandidateResult], Mapping[int, Sequence[str]], list[TermUse]]:
        """Candidates by all methods at once, and exact copies.

        Of a page with many common terms some of these are queried too. Of a page with too many candidates each method is queried alone, so
        that none takes the places of another's.

        Last, for each page the terms queried at first, and the terms left out.
        """
        limits = self.settings.index
        groups = term_groups(pages.table, self.settings, self.statistics.weights(pages.table.coverage))
        candidate_queries = [
            CandidateQuery(
                tuple(group),
                limit=MOST_COMPARED * limits.limit + len(hashes),
                max_df=limits.max_df,
                exclude=page_id,
                labels=labels,
            )
            for group, page_id, labels in zip(groups, pages.ids, self._labels(pages), strict=True)
        ]
        answers, copies = self._index.candidates_with_copies(
            candidate_queries, [digest for digest in hashes if digest], limit=limits.limit + 1 + len(hashes)
        )
        use = list(map(TermUse.of_answer, candidate_queries, answers))
        again: dict[int, list[CandidateQuery]] = {}
        for row, (candidate_query, answer) in enumerate(zip(candidate_queries, answers, strict=True)):
            methods = _by_method(candidate_query) if answer.truncated else []
            common = _common(candidate_query, answer)
            if methods or common:
                again[row] = [*methods, *([_hottest(candidate_query)] if common else ())]
        repeated = iter(self._index.candidates_many([*chain.from_iterable(again.values())]) if again else ())
        for row, queries in again.items():
            answers[row] = _joined([answers[row], *islice(repeated, len(queries))])
        return answers, copies, use

    def _labels(self, pages: Pages) -> list[dict[int, str]]:
        """Text of the terms of each page, where the index stores it; of stored pages it is read."""
        if not self._index.keeps_named:
            return [{} for _ in pages.ids]
        named = pages.named
        if len(named) != len(pages.ids):
            stored = self._index.named(pages.ids)
            named = [stored.get(page_id, {}) for page_id in pages.ids]
        return labels_of(pages.table, named, self.settings)


def term_groups(
    table: FeatureTable, settings: Settings, weights: Weights | None = None
) -> list[list[TermGroup]]:
    """Query terms of each enabled detector, for each page of a table.

    Args:
        table: features of the pages.
        settings: which detectors query.
        weights: what grams and clauses count; those that are template bring no pages together, as in a scan.
    """
    groups: list[list[TermGroup]] = [[] for _ in range(len(table))]
    if coverage.Coverage.name in settings.detectors:
        grams, clauses = coverage.query_grams(table.coverage), coverage.query_clauses(table.coverage)
        if weights is not None:
            grams, clauses = grams.only(weights.grams >= CONTENT), clauses.only(weights.clauses >= CONTENT)
        for tag, sample, least in (
            (coverage.GRAM_TAG, grams, coverage.MIN_SHARED_GRAMS),
            (coverage.CLAUSE_TAG, clauses, 1),
        ):
            for row, terms in enumerate(_rows(tag, sample.values, sample.offsets)):
                if terms:
                    groups[row].append(_of_coverage(terms, least))
    if ccdet.Ccdet.name in settings.detectors:
        few, most = settings.ccdet.min_features, query_signature_count(settings)
        for row, terms in enumerate(_rows(ccdet.TAG, table.periods.signatures, table.periods.offsets)):
            if len(terms) >= few:
                some = terms[:most]
                least = min(settings.ccdet.min_common, len(some))
                groups[row].append(TermGroup(some, least, method=ccdet.Ccdet.name))
    if simhash.Simhash.name in settings.detectors:
        bits = settings.simhash.max_hamming_distance
        deciding = simhash.Simhash.name in voters_of(settings)
        for row in np.flatnonzero(table.has_words).tolist():
            terms = simhash.query_terms(int(table.fingerprints[row]), bits)
            # An equal band alone is chance in a large index (of 65,536 values each); for a candidate of no other term
            # the decision rules have no evidence. Where the method itself decides, every pair within its threshold is found.
            least = 2 if groups[row] and not deciding else 1
            groups[row].append(TermGroup(terms, least, method=simhash.Simhash.name))
    return [own + packed_query_terms(table.packed, row, settings) for row, own in enumerate(groups)]


def query_signature_count(settings: Settings) -> int:
    """How many period signatures a page's candidate query holds.

    The query of a long page finds a short page inside it only by the few signatures of the short one; so all are queried,
    but where the coverage method finds such pairs too and CCDet does not decide.
    """
    covered = coverage.Coverage.name in settings.detectors and ccdet.Ccdet.name not in voters_of(settings)
    return settings.ccdet.query_signatures or (ccdet.QUERY_TERMS if covered else ccdet.MOST_SIGNATURES)


def _of_coverage(terms: tuple[int, ...], least: int) -> TermGroup:
    """Query group of grams or clauses; of a page with few grams, terms with many postings are queried, too."""
    if len(terms) < 2 * least:
        return TermGroup(terms, 1, method=coverage.Coverage.name)
    common = COMMON_DF if least > 1 and len(terms) >= coverage.QUERY_GRAMS[0] else None
    return TermGroup(terms, least, common, method=coverage.Coverage.name)


def _rows(tag: int, values: NDArray[Any], offsets: NDArray[np.int64]) -> list[tuple[int, ...]]:
    """Each row's values as terms."""
    terms: list[int] = tagged_terms(tag, values).tolist()
    bounds = offsets.tolist()
    return [tuple(terms[start:end]) for start, end in pairwise(bounds)]


def _many_capped(use: TermUse) -> bool:
    """Whether candidates may be missing because many of a page's terms are too common to be queried."""
    return use.left_out.total() * FEW_CAPPED > use.queried.total()


def _common(candidate_query: CandidateQuery, answer: CandidateResult) -> bool:
    """Whether a page's query terms are common: those of a wire story that hundreds of pages print, or of a template."""
    terms = sum(len(group.terms) for group in candidate_query.groups)
    return answer.capped_terms >= COMMON_SHARE * terms > 0


def _hottest(candidate_query: CandidateQuery) -> CandidateQuery:
    groups = tuple(
        replace(group, terms=group.terms[:HOT_TERMS], common_df=None) if group.max_df is None else group
        for group in candidate_query.groups
    )
    return replace(candidate_query, groups=groups, max_df=HOT_MAX_DF)


def _by_method(candidate_query: CandidateQuery) -> list[CandidateQuery]:
    methods = by_key((group.method, group) for group in candidate_query.groups)
    return [replace(candidate_query, groups=tuple(groups)) for groups in methods.values()]


def _joined(answers: Sequence[CandidateResult]) -> CandidateResult:
    """The answers to a page's queries as one list: the best candidate of each answer, then the second of each, and so on."""
    ranked = chain.from_iterable(zip_longest(*(answer.candidates for answer in answers)))
    return CandidateResult(
        tuple(dict.fromkeys(filter(None, ranked))),
        truncated=any(answer.truncated for answer in answers[1:]),
        capped=frozenset().union(*(answer.capped for answer in answers)),
    )
