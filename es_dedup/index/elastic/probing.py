"""Answers probes: how many pages carry each term, then one query per probe, many in one request.

A probe is a ``bool`` of constant scores, so that a page's score is the number of terms it shares; ranked by score, then page id,
the answer is the one that counting gives.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.elastic.reading import partial
from es_dedup.index.elastic.server import pauses
from es_dedup.index.elastic.tokens import tokens_of
from es_dedup.model import Candidate, ProbeAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.index.elastic.server import Server
    from es_dedup.model import Probe, Scope

TERMS_AT_A_TIME: Final = 2_000  # counted in one request
PROBES_AT_A_TIME: Final = 100  # in one request; 10 to 100 were measured alike
REPEATS: Final = 3  # of searches that failed: a busy server is waited for, a lost shard is not
MAX_WINDOW: Final = 10_000  # candidates of one probe
LAST_CHARACTER: Final = "\U0010ffff"


def count_terms(server: Server, index: str, terms: Iterable[int]) -> tuple[dict[int, int], str]:
    """For each term the number of pages that carry it, and why that is not known; the reason is empty when it is."""
    distinct = np.array(sorted(set(terms)), dtype=np.uint64)
    parts = [distinct[at : at + TERMS_AT_A_TIME] for at in range(0, len(distinct), TERMS_AT_A_TIME)]
    counts: dict[int, int] = {}
    for part, answer in zip(parts, _search(server, index, [_count(part) for part in parts]), strict=True):
        if problem := partial(answer):
            return {}, problem
        buckets = answer["aggregations"]["n"]["buckets"]
        counts.update(zip(part.tolist(), (bucket["doc_count"] for bucket in buckets), strict=True))
    return counts, ""


def _count(terms: NDArray[np.uint64]) -> dict[str, Any]:
    # Where a segment has no deleted pages the server reads these counts from its dictionary of terms.
    filters = [{"term": {"terms": token}} for token in tokens_of(terms)]
    return {"query": {"match_all": {}}, "size": 0, "aggs": {"n": {"filters": {"filters": filters}}}}


def probe_many(server: Server, index: str, probes: Sequence[Probe]) -> list[ProbeAnswer]:
    """One answer per probe, in order; see ``FeatureIndex.probe_many``."""
    answers: list[ProbeAnswer] = []
    for start in range(0, len(probes), PROBES_AT_A_TIME):
        answers += _answer(server, index, probes[start : start + PROBES_AT_A_TIME])
    return answers


def _answer(server: Server, index: str, probes: Sequence[Probe]) -> list[ProbeAnswer]:
    asked = [{term for group in probe.groups for term in group.terms} for probe in probes]
    counts, problem = count_terms(server, index, set().union(*asked))
    if problem:
        return [ProbeAnswer((), problem=problem if terms else "") for terms in asked]
    capped = [
        {term for term in terms if counts[term] > probe.max_df}
        for probe, terms in zip(probes, asked, strict=True)
    ]
    # A term that no page carries can be left out of the query; it was looked up already.
    absent = {term for term, count in counts.items() if not count}
    bodies = [query_of(probe, over | absent) for probe, over in zip(probes, capped, strict=True)]
    waiting = [place for place, body in enumerate(bodies) if body is not None]
    found = dict(zip(waiting, _search(server, index, [bodies[place] for place in waiting]), strict=True))
    return [_cut(found.get(place), probe, len(capped[place])) for place, probe in enumerate(probes)]


def query_of(probe: Probe, left_out: set[int]) -> dict[str, Any] | None:
    """The search for one probe; None when nothing can answer it.

    Args:
        probe: what is asked.
        left_out: terms that do not count.
    """
    groups: list[tuple[set[int], int]] = []
    for group in probe.groups:
        kept, least = set(group.terms) - left_out, max(1, group.min_shared)
        if len(kept) >= least:
            groups.append((kept, least))
    if not groups:
        return None
    counted = {term for group in probe.groups for term in group.terms} - left_out
    token = dict(zip(sorted(counted), tokens_of(np.array(sorted(counted), dtype=np.uint64)), strict=True))
    shares: dict[str, Any] = {
        "should": [{"constant_score": {"filter": {"term": {"terms": word}}}} for word in token.values()]
    }
    filters = [] if probe.scope is None else list(_inside(probe.scope))
    if len(groups) == 1 and groups[0][0] == counted:
        shares["minimum_should_match"] = groups[0][1]
    elif any(least > 1 for _, least in groups) or set().union(*(kept for kept, _ in groups)) != counted:
        filters.append(_any_group(groups, token))
    else:
        shares["minimum_should_match"] = 1
    if filters:
        shares["filter"] = filters
    if probe.exclude is not None:
        shares["must_not"] = [{"term": {"page_id": probe.exclude}}]
    return {
        "query": {"bool": shares},
        "size": min(probe.limit + 1, MAX_WINDOW),
        "sort": [{"_score": "desc"}, {"page_id": "asc"}],
        "_source": False,
        # Not even a page's key is read: its id comes with the sort values, and what is stored stays packed.
        "stored_fields": "_none_",
        "track_total_hits": False,
    }


def _any_group(groups: Iterable[tuple[set[int], int]], token: Mapping[int, str]) -> dict[str, Any]:
    """Pages with enough terms of any one group; groups of which one term is enough are asked for together."""
    single = sorted({token[term] for kept, least in groups if least == 1 for term in kept})
    ways: list[dict[str, Any]] = [{"terms": {"terms": single}}] if single else []
    ways += (
        {
            "bool": {
                "should": [{"term": {"terms": token[term]}} for term in sorted(kept)],
                "minimum_should_match": least,
            }
        }
        for kept, least in groups
        if least > 1
    )
    return ways[0] if len(ways) == 1 else {"bool": {"should": ways, "minimum_should_match": 1}}


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


def _search(
    server: Server, index: str, bodies: Sequence[Mapping[str, Any] | None]
) -> list[Mapping[str, Any]]:
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


def _send(server: Server, index: str, bodies: Sequence[Mapping[str, Any] | None]) -> list[Mapping[str, Any]]:
    head = {"index": index, "allow_partial_search_results": False}
    searches = [line for body in bodies for line in (head, body or {})]
    return list(server.call(lambda client: client.msearch(searches=searches))["responses"])


def _cut(answer: Mapping[str, Any] | None, probe: Probe, capped: int) -> ProbeAnswer:
    if answer is None:
        return ProbeAnswer((), capped_terms=capped)
    if problem := partial(answer):
        return ProbeAnswer((), capped_terms=capped, problem=problem)
    hits = answer["hits"]["hits"]
    candidates = tuple(Candidate(hit["sort"][1], round(hit["sort"][0])) for hit in hits[: probe.limit])
    return ProbeAnswer(candidates, truncated=len(hits) > probe.limit, capped_terms=capped)
