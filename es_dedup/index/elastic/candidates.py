"""Answers candidate queries: about how many pages have each term, then one search per query, many in one request.

A search is a ``bool`` of constant scores, each as great as its term weighs, so that a page's score is what it shares. No filter
stands beside them: pages that share too little are passed over by ``min_score``, which leaves the server its quickest way of
adding up (one term after the other). Searches are written as text: most of a client's time went into making JSON of them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.candidate_terms import ENOUGH, QueryTerms, TermWeights, ranked, shared_terms
from es_dedup.index.elastic.collection import Collection, all_answered
from es_dedup.index.elastic.read_your_writes import NEWEST, newest_of, postings_of
from es_dedup.model.batches import chunked
from es_dedup.text.ragged import sorted_distinct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.index.elastic.documents import TermValues
    from es_dedup.index.elastic.read_your_writes import PageWriteCache, WrittenBatch
    from es_dedup.index.elastic.schema import Schema
    from es_dedup.model import CandidateQuery, CandidateResult

    Answer = Mapping[str, Any]

TERMS_AT_A_TIME: Final = 2_000  # counted in one request
QUERIES_AT_A_TIME: Final = 100  # in one request; 10 to 100 were measured alike
AT_ONCE: Final = 2  # requests; while one is answered, the next is written and the one before is read
MAX_WINDOW: Final = 10_000  # candidates of one candidate query
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
        self._pages, self._recent, self._schema = documents, recent, schema
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
            return [], self._pages.answers(beside)
        if len(parts) == 1:
            return self._answer(candidate_queries, beside)
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="es-dedup-candidates") as pool:
            answered = list(pool.map(self._answer, parts, [beside, *[()] * (len(parts) - 1)]))
        return list(chain.from_iterable(some for some, _ in answered)), answered[0][1]

    def _answer(
        self, candidate_queries: Sequence[CandidateQuery], beside: Sequence[str]
    ) -> tuple[list[CandidateResult], list[Answer]]:
        terms = QueryTerms.of(candidate_queries)
        labels: dict[int, str] = {}
        for query in candidate_queries if self._schema.keeps_named else ():
            labels.update(query.labels)
        values = self._schema.fields.values_of(terms.distinct, labels)
        # Our own recent pages are taken before the server is asked: a page that becomes searchable in between is in one of the two.
        parts = self._recent.parts()
        counts = (
            self._most(values)
            if self.one_shard
            else _counted(self._pages.answers(_counts(values, range(len(values.texts)))))
        )
        parts = tuple(dict.fromkeys((*parts, *self._recent.parts())))
        recent = postings_of(parts, terms.distinct)
        weighed = terms.weighed(counts + recent.counts)
        bodies = _bodies(candidate_queries, terms, values, weighed, counts)
        # What seems common may be rare, when pages were deleted: it is counted beside the candidate queries that take it for that.
        is_doubtful = (weighed.weights < terms.weights) & self.one_shard
        doubtful = sorted_distinct(terms.places[is_doubtful])
        counting = _counts(values, doubtful.tolist())
        newest = [NEWEST] if parts else []
        sent = [body for body in bodies if body is not None]
        answers = self._pages.answers([*newest, *counting, *sent, *beside] or [NOTHING])
        of_beside = answers[len(answers) - len(beside) :] if beside else []
        if self.one_shard and any(answer.get("_shards", {}).get("total", 1) > 1 for answer in answers):
            self.one_shard = False
            return self._answer(candidate_queries, ())[0], of_beside
        replies = iter(answers)
        unseen = self._unseen(next(replies), parts) if newest else ()
        counts[doubtful] = _counted(islice(replies, len(counting)))
        found = [None if body is None else next(replies) for body in bodies]
        if counting:
            certain = terms.weighed(counts + postings_of(unseen, terms.distinct).counts)
            again = sorted_distinct(terms.rows[certain.weights != weighed.weights]).tolist()
            bodies, weighed = _bodies(candidate_queries, terms, values, certain, counts), certain
            replies = iter(self._pages.answers([body for row in again if (body := bodies[row]) is not None]))
            for row in again:
                found[row] = None if bodies[row] is None else next(replies)
        ids = [page_id for part in parts for page_id in part.ids]
        own: list[dict[str, int]] = [{} for _ in candidate_queries]
        shared = shared_terms(terms.rows, terms.places, weighed.weights, recent)
        for row, page, weight in zip(*(column.tolist() for column in shared), strict=True):
            own[row][ids[page]] = weight
        return [
            ranked(_found(answer, own[row]), query, terms.capped(row, weighed.left_out))
            for row, (answer, query) in enumerate(zip(found, candidate_queries, strict=True))
        ], of_beside

    def _unseen(self, answer: Answer, parts: Sequence[WrittenBatch]) -> Sequence[WrittenBatch]:
        """Of the recent pages those that the searches beside this answer did not see."""
        newest = newest_of(answer)
        self._recent.seen(newest)
        return [part for part in parts if part.last > newest]

    def _most(self, values: TermValues) -> NDArray[np.int64]:
        """For each term at least the number of pages that carry it, out of the statistics of one shard.

        They count deleted pages too until segments are merged, and cost a quarter of counting.
        """
        counts = np.zeros(len(values.texts), dtype=np.int64)
        # places of terms by field and value, in bounded numbers
        documents: list[dict[str, dict[str, int]]] = []
        for some in chunked(range(len(counts)), TERMS_AT_A_TIME):
            documents.append({})
            for place in some:
                documents[-1].setdefault(values.fields[place], {})[values.texts[place]] = place
        if not documents:
            return counts
        docs = [
            {
                "doc": {field: list(texts) for field, texts in places.items()},
                "fields": list(places),
                **STATISTICS_ONLY,
            }
            for places in documents
        ]
        server, name = self._pages.server, self._pages.name
        answers = server.call(
            lambda client: all_answered(
                client.mtermvectors(index=name, docs=docs, filter_path=FREQUENCIES)["docs"]
            )
        )
        for places, answer in zip(documents, answers, strict=True):
            if "error" in answer:
                raise server.unread(answer["error"])
            # Of a term that no page carries nothing is said, and of a document without others only its name.
            for field, known in answer.get("term_vectors", {}).items():
                for text, said in known["terms"].items():
                    counts[places[field][text]] = said["doc_freq"]
        return counts


def _counts(values: TermValues, places: Sequence[int]) -> list[str]:
    """Searches that count the pages with each of some terms."""
    # Where a segment has no deleted pages the server reads these counts from its dictionary of terms.
    return [
        '{"query":{"match_all":{}},"size":0,"aggs":{"n":{"filters":{"filters":['
        + ",".join([values.query(place) for place in some])
        + "]}}}}"
        for some in chunked(places, TERMS_AT_A_TIME)
    ]


def _counted(answers: Iterable[Answer]) -> NDArray[np.int64]:
    """What the searches of ``_counts`` answer."""
    counts: list[int] = []
    for answer in answers:
        counts += [bucket["doc_count"] for bucket in answer["aggregations"]["n"]["buckets"]]
    return np.array(counts, dtype=np.int64)


def _bodies(
    candidate_queries: Sequence[CandidateQuery],
    terms: QueryTerms,
    values: TermValues,
    weighed: TermWeights,
    counts: NDArray[np.int64],
) -> list[str | None]:
    """The search for each query, without the terms that the server has in no page; None where nothing can answer it."""
    (asked,) = np.nonzero((counts[terms.places] > 0) & (weighed.weights > 0))
    weights, rows = weighed.weights[asked], terms.rows[asked]
    clauses = [
        f'{{"constant_score":{{"filter":{values.query(place)},"boost":{weight}}}}}'
        for place, weight in zip(terms.places[asked].tolist(), weights.tolist(), strict=True)
    ]
    sums = np.bincount(rows, weights=weights, minlength=len(candidate_queries)).tolist()
    bounds = np.searchsorted(rows, np.arange(len(candidate_queries) + 1)).tolist()
    return [
        _query_of(query, clauses[start:stop]) if most >= ENOUGH else None
        for query, most, start, stop in zip(candidate_queries, sums, bounds, bounds[1:], strict=False)
    ]


def _query_of(candidate_query: CandidateQuery, clauses: Sequence[str]) -> str:
    # One more to see whether there are more, and one for the page that asks, which is passed over on arrival.
    size = min(candidate_query.limit + 1 + (candidate_query.exclude is not None), MAX_WINDOW)
    return (
        f'{{"query":{{"bool":{{"should":[{",".join(clauses)}]}}}},"min_score":{ENOUGH},"size":{size},'
        f'"sort":[{{"_score":"desc"}},{{"page_id":"asc"}}],{ONLY_SORTED}}}'
    )


def _found(answer: Answer | None, recent: Mapping[str, int]) -> Iterator[tuple[float, str]]:
    """What pages weigh that a search has found, and our own recent ones, and their ids."""
    hits = answer["hits"]["hits"] if answer else ()
    for weight, page_id in (hit["sort"] for hit in hits):
        if page_id not in recent:  # where searches see it by now, they were not asked for all that it carries
            yield weight, page_id
    yield from ((weight, page_id) for page_id, weight in recent.items())
