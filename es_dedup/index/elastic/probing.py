"""Answers probes: how many pages carry each term, then one query per probe, many in one request.

A probe is a ``bool`` of constant scores, each as great as its term weighs, so that a page's score is what it shares. No filter
stands beside them: pages that share too little are passed over by ``min_score``, which leaves the server its quickest way of
adding up (one term after the other). Searches are written as text: most of a client's time went into making JSON of them.
"""

from __future__ import annotations

import json
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.elastic.reading import partial
from es_dedup.index.elastic.server import pauses
from es_dedup.index.elastic.tokens import tokens_of
from es_dedup.index.weighing import ENOUGH, weights_of
from es_dedup.model import Candidate, ProbeAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.index.elastic.server import Server
    from es_dedup.model import Probe, Scope

    Answer = Mapping[str, Any]

TERMS_AT_A_TIME: Final = 2_000  # counted in one request
PROBES_AT_A_TIME: Final = 100  # in one request; 10 to 100 were measured alike
REPEATS: Final = 3  # of searches that failed: a busy server is waited for, a lost shard is not
MAX_WINDOW: Final = 10_000  # candidates of one probe
LAST_CHARACTER: Final = "\U0010ffff"
# Not even a page's key is read: its id comes with the sort values, and what is stored stays packed.
ONLY_SORTED: Final = '"_source":false,"stored_fields":"_none_","track_total_hits":false'


def count_terms(server: Server, index: str, terms: Iterable[int]) -> tuple[dict[int, int], str]:
    """For each term the number of pages that carry it, and why that is not known; the reason is empty when it is."""
    distinct = sorted(set(terms))
    return _counted(distinct, _search(server, index, _counts(distinct)))


def _counts(distinct: Sequence[int]) -> list[str]:
    # Where a segment has no deleted pages the server reads these counts from its dictionary of terms.
    tokens = tokens_of(np.array(distinct, dtype=np.uint64))
    parts = [tokens[at : at + TERMS_AT_A_TIME] for at in range(0, len(tokens), TERMS_AT_A_TIME)]
    return [
        '{"query":{"match_all":{}},"size":0,"aggs":{"n":{"filters":{"filters":['
        + ",".join([f'{{"term":{{"terms":"{token}"}}}}' for token in part])
        + "]}}}}"
        for part in parts
    ]


def _counted(distinct: Sequence[int], answers: Iterable[Answer]) -> tuple[dict[int, int], str]:
    counts: list[int] = []
    for answer in answers:
        if problem := partial(answer):
            return {}, problem
        counts += [bucket["doc_count"] for bucket in answer["aggregations"]["n"]["buckets"]]
    return dict(zip(distinct, counts, strict=True)), ""


def probe_many(
    server: Server, index: str, probes: Sequence[Probe], beside: Sequence[str] = ()
) -> tuple[list[ProbeAnswer], list[Answer]]:
    """One answer per probe, in order; see ``FeatureIndex.probe_many``.

    Args:
        server: where to.
        index: alias or index.
        probes: what is asked.
        beside: other searches, sent in the same requests; their answers come second.
    """
    answers: list[ProbeAnswer] = []
    others: list[Answer] = [] if probes else _search(server, index, beside)
    for start in range(0, len(probes), PROBES_AT_A_TIME):
        some, more = _answer(server, index, probes[start : start + PROBES_AT_A_TIME], () if start else beside)
        answers += some
        others += more
    return answers, others


def _answer(
    server: Server, index: str, probes: Sequence[Probe], beside: Sequence[str]
) -> tuple[list[ProbeAnswer], list[Answer]]:
    asked = [weights_of(probe) for probe in probes]
    distinct = sorted(set().union(*asked))
    bodies = _counts(distinct)
    told = _search(server, index, [*bodies, *beside])
    counts, problem = _counted(distinct, told[: len(bodies)])
    others = told[len(bodies) :]
    if problem:
        return [ProbeAnswer((), problem=problem if terms else "") for terms in asked], others
    found: list[str | None] = []
    capped: list[int] = []
    # A term that no page carries can be left out of the query; it was looked up already.
    token = dict(zip(present := [term for term in distinct if counts[term]], _tokens(present), strict=True))
    for probe, terms in zip(probes, asked, strict=True):
        common = [term for term in terms if counts[term] > probe.max_df]
        rare = {token[term]: weight for term, weight in terms.items() if 0 < counts[term] <= probe.max_df}
        capped.append(len(common))
        found.append(query_of(probe, rare))
    waiting = [place for place, body in enumerate(found) if body is not None]
    hits = dict(
        zip(waiting, _search(server, index, [body for body in found if body is not None]), strict=True)
    )
    return [_cut(hits.get(place), probe, capped[place]) for place, probe in enumerate(probes)], others


def _tokens(terms: Sequence[int]) -> list[str]:
    return tokens_of(np.array(terms, dtype=np.uint64))


def query_of(probe: Probe, weights: Mapping[str, int]) -> str | None:
    """The search for one probe, as JSON; None when nothing can answer it.

    Args:
        probe: what is asked.
        weights: of each term that counts, as it is stored.
    """
    if sum(weights.values()) < ENOUGH:
        return None
    should = ",".join(
        [
            f'{{"constant_score":{{"filter":{{"term":{{"terms":"{token}"}}}},"boost":{weight}}}}}'
            for token, weight in weights.items()
        ]
    )
    filters = [] if probe.scope is None else list(_inside(probe.scope))
    inside = f',"filter":{json.dumps(filters)},"minimum_should_match":1' if filters else ""
    # One more to see whether there are more, and one for the page that asks, which is passed over on arrival.
    size = min(probe.limit + 1 + (probe.exclude is not None), MAX_WINDOW)
    return (
        f'{{"query":{{"bool":{{"should":[{should}]{inside}}}}},"min_score":{ENOUGH},"size":{size},'
        f'"sort":[{{"_score":"desc"}},{{"page_id":"asc"}}],{ONLY_SORTED}}}'
    )


def _inside(scope: Scope) -> Iterable[dict[str, Any]]:
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


def _search(server: Server, index: str, bodies: Sequence[str]) -> list[Answer]:
    """All searches in one request; those that fail are sent again a few times, with pauses."""
    if not bodies:
        return []
    answers = _send(server, index, bodies)
    for pause in islice(pauses(), REPEATS):
        again = [place for place, answer in enumerate(answers) if partial(answer)]
        if not again:
            break
        time.sleep(pause)
        repeated = _send(server, index, [bodies[place] for place in again])
        for place, answer in zip(again, repeated, strict=True):
            answers[place] = answer
    return answers


def _send(server: Server, index: str, bodies: Sequence[str]) -> list[Answer]:
    head = json.dumps({"index": index, "allow_partial_search_results": False})
    searches: Any = [line for body in bodies for line in (head, body)]  # text goes as it is
    return list(server.call(lambda client: client.msearch(searches=searches))["responses"])


def _cut(answer: Answer | None, probe: Probe, capped: int) -> ProbeAnswer:
    if answer is None:
        return ProbeAnswer((), capped_terms=capped)
    if problem := partial(answer):
        return ProbeAnswer((), capped_terms=capped, problem=problem)
    found = [hit["sort"] for hit in answer["hits"]["hits"]]
    candidates = [
        Candidate(page_id, round(score) / ENOUGH) for score, page_id in found if page_id != probe.exclude
    ]
    return ProbeAnswer(
        tuple(candidates[: probe.limit]), truncated=len(candidates) > probe.limit, capped_terms=capped
    )
