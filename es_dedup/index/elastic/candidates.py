"""Answers candidate queries: about how many pages have each term, then one search per query, many in one request.

A search is a ``bool`` of constant scores, each as great as its term weighs, so that a page's score is what it shares. No filter
stands beside them: pages that share too little are passed over by ``min_score``, which leaves the server its quickest way of
adding up (one term after the other). Searches are written as text: most of a client's time went into making JSON of them.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.collection import partial_problem
from es_dedup.index.elastic.documents import term_query
from es_dedup.index.elastic.read_your_writes import NEWEST, newest_of, postings_of
from es_dedup.index.elastic.server import pauses, reason_in
from es_dedup.index.term_weights import ENOUGH, by_frequency, common_of, limits_of, weights_of
from es_dedup.model import Candidate, CandidateResult
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from elasticsearch import Elasticsearch

    from es_dedup.index.elastic.collection import Collection
    from es_dedup.index.elastic.documents import Value
    from es_dedup.index.elastic.read_your_writes import PageWriteCache, WrittenBatch, WrittenPostings
    from es_dedup.index.elastic.schema import Schema
    from es_dedup.model import CandidateQuery, Scope

    Answer = Mapping[str, Any]

TERMS_AT_A_TIME: Final = 2_000  # counted in one request
QUERIES_AT_A_TIME: Final = 100  # in one request; 10 to 100 were measured alike
AT_ONCE: Final = 2  # requests; while one is answered, the next is written and the one before is read
REPEATS: Final = 3  # of searches that failed: a busy server is waited for, a lost shard is not
MAX_WINDOW: Final = 10_000  # candidates of one candidate query
LAST_CHARACTER: Final = "\U0010ffff"
NOTHING: Final = '{"query":{"match_none":{}},"size":0}'
STATISTICS_ONLY: Final = {
    "term_statistics": True,
    "field_statistics": False,
    "positions": False,
    "offsets": False,
    "payloads": False,
}
FREQUENCIES: Final = ["docs._index", "docs.error", "docs.term_vectors.*.terms.*.doc_freq"]
# Not even a page's key is read: its id comes with the sort values, and what is stored stays packed.
ONLY_SORTED: Final = '"_source":false,"stored_fields":"_none_","track_total_hits":false'


class CandidateSearcher:
    """Answers the candidate queries of one index; threads may share it.

    Args:
        documents: the pages.
        recent: pages that are looked at beside what searches see.
        schema: tells the fields that hold terms, and whether they hold text where it is given.
    """

    def __init__(self, documents: Collection, recent: PageWriteCache, schema: Schema) -> None:
        self._server, self._index = documents.server, documents.name
        self._recent, self._schema = recent, schema
        # Statistics of a term are those of one shard. Answers tell how many there are, so another generation is noticed.
        self.one_shard = True

    def ask(
        self, candidate_queries: Sequence[CandidateQuery], beside: Sequence[str] = ()
    ) -> tuple[list[CandidateResult], list[Answer]]:
        """One answer per candidate query, in order; see ``Index.candidates_many``.

        Args:
            candidate_queries: what is asked.
            beside: other searches, sent in the same requests; their answers come second.
        """
        parts = list(chunked(candidate_queries, QUERIES_AT_A_TIME))
        if not parts:
            return [], self._search(beside)
        if len(parts) == 1:
            return self._answer(candidate_queries, beside)
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="es-dedup-candidates") as pool:
            answered = list(pool.map(self._answer, parts, [beside, *[()] * (len(parts) - 1)]))
        return list(chain.from_iterable(some for some, _ in answered)), answered[0][1]

    def _answer(
        self, candidate_queries: Sequence[CandidateQuery], beside: Sequence[str]
    ) -> tuple[list[CandidateResult], list[Answer]]:
        asked = [weights_of(candidate_query) for candidate_query in candidate_queries]
        distinct = sorted(set().union(*asked))
        fields = self._schema.fields.by_field(distinct, self._labels(candidate_queries))
        # Our own recent pages are taken before the server is asked: a page that becomes searchable in between is in one of the two.
        recent = self._recent.parts()
        most, problem = self._most(fields) if self.one_shard else self._count(_values(fields))
        if problem:
            return _unanswered(asked, problem), self._search(beside)
        recent = tuple(dict.fromkeys((*recent, *self._recent.parts())))
        postings = postings_of(recent, distinct)
        values = _values(fields, most.keys() | postings.counts().keys())
        searches = _Asked(candidate_queries, asked, most, values, postings)
        sure = not self.one_shard
        # What seems common may be rare, when pages were deleted: it is counted beside the candidate queries that take it for that.
        doubtful = [] if sure else sorted(searches.common())
        counting = _counts([values[term] for term in doubtful])
        bodies = [body for body in searches.bodies if body is not None]
        first = [NEWEST] if recent else []
        answers = self._search([*first, *counting, *bodies, *beside] or [NOTHING])
        if first:
            postings = self._still_recent(answers.pop(0), distinct, recent, postings)
        of_beside = answers[len(counting) + len(bodies) :] if beside else []
        if any(answer.get("_shards", {}).get("total", 1) > 1 for answer in answers) and not sure:
            self.one_shard = False
            return self._answer(candidate_queries, ())[0], of_beside
        exact, problem = _counted(doubtful, answers[: len(counting)])
        unseen = postings.counts() if exact else {}
        exact = {term: count + unseen.get(term, 0) for term, count in exact.items()}
        if problem:
            return _unanswered(asked, problem), of_beside
        found = searches.answers(answers[len(counting) : len(counting) + len(bodies)])
        again = [] if sure else searches.mistaken(exact)
        if again:
            some = [candidate_queries[at] for at in again], [asked[at] for at in again]
            more = _Asked(*some, {**most, **exact}, values, postings, counted=True)
            answers = self._search([body for body in more.bodies if body is not None])
            for at, answer in zip(again, more.answers(answers), strict=True):
                found[at] = answer
        return found, of_beside

    def _still_recent(
        self,
        answer: Answer,
        distinct: Sequence[int],
        recent: Sequence[WrittenBatch],
        postings: WrittenPostings,
    ) -> WrittenPostings:
        """Of the recent pages those that the searches beside this answer did not see."""
        if partial_problem(answer):
            return postings
        newest = newest_of(answer)
        self._recent.seen(newest)
        unseen = [part for part in recent if part.last > newest]
        return postings if len(unseen) == len(recent) else postings_of(unseen, distinct)

    def _labels(self, candidate_queries: Sequence[CandidateQuery]) -> dict[int, str]:
        if not self._schema.keeps_named:
            return {}
        return {
            term: label
            for candidate_query in candidate_queries
            for term, label in candidate_query.labels.items()
        }

    def _count(self, values: Mapping[int, Value]) -> tuple[dict[int, int], str]:
        return _counted(list(values), self._search(_counts(list(values.values()))))

    def _most(self, fields: Mapping[str, Mapping[str, int]]) -> tuple[dict[int, int], str]:
        """For each term that any page carries at least the number of those that do, out of the statistics of one shard.

        They count deleted pages too until segments are merged, and cost a quarter of counting.
        """
        if not fields:
            return {}, ""
        docs = [{"doc": doc, "fields": list(doc), **STATISTICS_ONLY} for doc in _as_documents(fields)]
        answers = self._server.call(
            lambda client: client.mtermvectors(index=self._index, docs=docs, filter_path=FREQUENCIES)
        )["docs"]
        counts: dict[int, int] = {}
        for answer in answers:
            if "error" in answer:
                return {}, reason_in(answer["error"])
            # Of a term that no page carries nothing is said, and of a document without others only its name.
            for field, known in answer.get("term_vectors", {}).items():
                terms = fields[field]
                counts.update({terms[text]: said["doc_freq"] for text, said in known["terms"].items()})
        return {term: count for term, count in counts.items() if count}, ""

    def _search(self, bodies: Sequence[str]) -> list[Answer]:
        """All searches in one request; those that fail are sent again a few times, with pauses."""
        if not bodies:
            return []
        answers = self._send(bodies)
        for pause in islice(pauses(), REPEATS):
            again = [place for place, answer in enumerate(answers) if partial_problem(answer)]
            if not again:
                break
            time.sleep(pause)
            repeated = self._send([bodies[place] for place in again])
            for place, answer in zip(again, repeated, strict=True):
                answers[place] = answer
        return answers

    def _send(self, bodies: Sequence[str]) -> list[Answer]:
        # No answer is asked for twice: to keep it would only take room.
        head = json.dumps(
            {"index": self._index, "allow_partial_search_results": False, "request_cache": False}
        )
        searches: Any = [line for body in bodies for line in (head, body)]  # text goes as it is

        def ask(client: Elasticsearch) -> list[Answer]:
            answers: list[Answer] = client.msearch(searches=searches)["responses"]
            return [answer for _, answer in zip(bodies, answers, strict=True)]

        return self._server.call(ask)


class _Asked:
    """Searches for some candidate queries, by what is known of how many pages carry each term."""

    def __init__(
        self,
        candidate_queries: Sequence[CandidateQuery],
        weights: Sequence[Mapping[int, int]],
        counts: Mapping[int, int],
        values: Mapping[int, Value],
        postings: WrittenPostings,
        *,
        counted: bool = False,
    ) -> None:
        self._queries, self._postings = candidate_queries, postings
        recent = postings.counts()
        if counted:
            every = {**recent, **counts}
        else:
            every = {**counts, **{term: counts.get(term, 0) + count for term, count in recent.items()}}
        # Most terms of a new page are carried by no other: they find nothing.
        weights = [{term: weight for term, weight in terms.items() if every.get(term)} for terms in weights]
        self._halved = [
            {term: most for term, most in common_of(candidate_query).items() if every.get(term, 0) > most}
            for candidate_query in candidate_queries
        ]
        weights = [
            by_frequency(terms, halved, every) if halved else terms
            for terms, halved in zip(weights, self._halved, strict=True)
        ]
        self._weights = weights
        self._limits = [limits_of(candidate_query) for candidate_query in candidate_queries]
        self._common = [
            {term for term in terms if every[term] > limits.get(term, candidate_query.max_df)}
            for candidate_query, terms, limits in zip(candidate_queries, weights, self._limits, strict=True)
        ]
        # Terms that only recent pages carry are left out of the search.
        self.bodies = [
            query_of(
                candidate_query,
                {
                    term_query(values[term]): weight
                    for term, weight in terms.items()
                    if counts.get(term) and term not in common
                },
            )
            for candidate_query, terms, common in zip(candidate_queries, weights, self._common, strict=True)
        ]

    def common(self) -> set[int]:
        """Terms that were left out of any candidate query, or count half, because many pages carry them."""
        return set().union(*self._common, *self._halved)

    def mistaken(self, counts: Mapping[int, int]) -> list[int]:
        """Places of candidate queries with a term that is not that common after all."""
        kinds = zip(self._queries, self._limits, self._common, self._halved, strict=True)
        return [
            place
            for place, (candidate_query, limits, common, halved) in enumerate(kinds)
            if any(counts[term] <= limits.get(term, candidate_query.max_df) for term in common)
            or any(counts[term] <= most for term, most in halved.items())
        ]

    def answers(self, answers: Sequence[Answer]) -> list[CandidateResult]:
        """One answer per candidate query, out of those of the searches that were sent."""
        waiting = iter(answers)
        recent = self._postings.answers(self._weights, self._common)
        return [
            _cut(None if body is None else next(waiting), candidate_query, frozenset(common), own)
            for body, candidate_query, common, own in zip(
                self.bodies, self._queries, self._common, recent, strict=True
            )
        ]


def _unanswered(asked: Sequence[Mapping[int, int]], problem: str) -> list[CandidateResult]:
    """Answers without candidates; to queries without terms this is the whole answer."""
    return [CandidateResult((), problem=problem if terms else "") for terms in asked]


def _as_documents(fields: Mapping[str, Mapping[str, int]]) -> list[dict[str, list[str]]]:
    """Documents that have all values of the fields, each a bounded number."""
    made: list[dict[str, list[str]]] = [{}]
    room = TERMS_AT_A_TIME
    for name, terms in fields.items():
        values = list(terms)
        while values:
            if not room:
                made.append({})
                room = TERMS_AT_A_TIME
            made[-1][name], values = values[:room], values[room:]
            room -= len(made[-1][name])
    return made


def _values(
    fields: Mapping[str, Mapping[str, int]], wanted: AbstractSet[int] | None = None
) -> dict[int, Value]:
    """Field and value of each term, or of those that are wanted."""
    return {
        term: (name, text)
        for name, terms in fields.items()
        for text, term in terms.items()
        if wanted is None or term in wanted
    }


def _counts(values: Sequence[Value]) -> list[str]:
    # Where a segment has no deleted pages the server reads these counts from its dictionary of terms.
    return [
        '{"query":{"match_all":{}},"size":0,"aggs":{"n":{"filters":{"filters":['
        + ",".join([f'{{"term":{term_query(each)}}}' for each in some])
        + "]}}}}"
        for some in chunked(values, TERMS_AT_A_TIME)
    ]


def _counted(distinct: Sequence[int], answers: Iterable[Answer]) -> tuple[dict[int, int], str]:
    counts: list[int] = []
    for answer in answers:
        if problem := partial_problem(answer):
            return {}, problem
        counts += [bucket["doc_count"] for bucket in answer["aggregations"]["n"]["buckets"]]
    return dict(zip(distinct, counts, strict=True)), ""


def query_of(candidate_query: CandidateQuery, weights: Mapping[str, int]) -> str | None:
    """The search for one candidate query, as JSON; None when nothing can answer it.

    Args:
        candidate_query: what is asked.
        weights: of each term that counts, see ``term_query``.
    """
    if sum(weights.values()) < ENOUGH:
        return None
    should = ",".join(
        [
            f'{{"constant_score":{{"filter":{{"term":{query}}},"boost":{weight}}}}}'
            for query, weight in weights.items()
        ]
    )
    filters = [] if candidate_query.scope is None else list(scope_filters(candidate_query.scope))
    inside = f',"filter":{json.dumps(filters)},"minimum_should_match":1' if filters else ""
    # One more to see whether there are more, and one for the page that asks, which is passed over on arrival.
    size = min(candidate_query.limit + 1 + (candidate_query.exclude is not None), MAX_WINDOW)
    return (
        f'{{"query":{{"bool":{{"should":[{should}]{inside}}}}},"min_score":{ENOUGH},"size":{size},'
        f'"sort":[{{"_score":"desc"}},{{"page_id":"asc"}}],{ONLY_SORTED}}}'
    )


def scope_filters(scope: Scope) -> Iterable[dict[str, Any]]:
    """Filters for the pages that lie in the scope."""
    if scope.site is not None:
        yield (
            {"term": {"site": scope.site}}
            if scope.site
            else {"bool": {"must_not": {"exists": {"field": "site"}}}}
        )
    times: dict[str, str] = {}
    if scope.published_from is not None:
        times["gte"] = scope.published_from
    if scope.published_to is not None:
        # A bound of less precision covers all that begins with it: '2024-05' reaches to the last of May.
        times["lte"] = scope.published_to + LAST_CHARACTER
    if times:
        yield {"range": {"published": times}}
    lengths = {"gte": scope.min_length, "lte": scope.max_length}
    if any(bound is not None for bound in lengths.values()):
        yield {"range": {"length": {name: bound for name, bound in lengths.items() if bound is not None}}}


def _cut(
    answer: Answer | None, candidate_query: CandidateQuery, capped: frozenset[int], recent: Mapping[str, int]
) -> CandidateResult:
    if answer is not None and (problem := partial_problem(answer)):
        return CandidateResult((), capped=capped, problem=problem)
    found = [] if answer is None else [hit["sort"] for hit in answer["hits"]["hits"]]
    if recent:
        # Where searches see them by now, they were not asked for all that these pages carry.
        found = [each for each in found if each[1] not in recent]
        found += [[weight, page_id] for page_id, weight in recent.items()]
        found.sort(key=lambda each: (-each[0], each[1]))
    candidates = [
        Candidate(page_id, round(score) / ENOUGH)
        for score, page_id in found
        if page_id != candidate_query.exclude
    ]
    return CandidateResult(
        tuple(candidates[: candidate_query.limit]),
        truncated=len(candidates) > candidate_query.limit,
        capped=capped,
    )
