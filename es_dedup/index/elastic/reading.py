"""Reading documents: by key at once, or by query in pages; a partial answer is never taken for a whole one."""

from __future__ import annotations

from functools import partial as partial_
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexUnavailable
from es_dedup.index.elastic.server import BUSY, Unanswered, reason_in, searched
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from elasticsearch import Elasticsearch

    from es_dedup.index.elastic.server import Server

    Document = Mapping[str, Any]
    Fields = Sequence[str] | bool

KEYS_AT_A_TIME: Final = 1_000
KEYS_OF_SEVERAL: Final = 2_000  # out of several of our own indices; a batch of 100 pages asks for about 1,400
WINDOW: Final = 10_000  # hits of one search; Elasticsearch's own limit
SILENT: Final = frozenset(
    {
        "circuit_breaking_exception",
        "es_rejected_execution_exception",
        "illegal_index_shard_state_exception",
        "no_shard_available_action_exception",
        "node_closed_exception",
        "node_disconnected_exception",
        "node_not_connected_exception",
        "shard_not_found_exception",
        "unavailable_shards_exception",
    }
)
"""Errors of single documents that pass: a shard is starting, moving or busy, or its node has gone."""
VALUES_AT_A_TIME: Final = 1_000  # of one ``terms`` query


def documents(
    server: Server, index: str, keys: Iterable[str], *, fields: Fields = True
) -> Iterator[Document]:
    """Documents with these ``_id`` as they are now, those that are not there left out; ``get`` answers.

    Raises:
        IndexUnavailable: some could not be read.
    """
    for some in chunked(keys, KEYS_AT_A_TIME):
        yield from documents_of_several(server, (index, some, fields))[0]


def documents_of_several(server: Server, *places: tuple[str, Sequence[str], Fields]) -> list[list[Document]]:
    """Documents by ``_id`` out of several indices, in one request for each ``KEYS_OF_SEVERAL`` keys.

    Args:
        server: where to.
        places: of each index its name, the keys, and the fields that are read of its documents.

    Raises:
        IndexUnavailable: some could not be read.
    """
    found: list[list[Document]] = [[] for _ in places]
    asked = [
        (
            place,
            {"_index": index, "_id": key, "_source": fields if isinstance(fields, bool) else list(fields)},
        )
        for place, (index, keys, fields) in enumerate(places)
        for key in keys
    ]
    for some in chunked(asked, KEYS_OF_SEVERAL):
        answers = server.call(partial_(mget, [each for _, each in some]))
        for (place, _), answer in zip(some, answers, strict=True):
            if "error" in answer:
                problem = f"some pages could not be read: {reason_in(answer['error'])}"
                raise IndexUnavailable(server.name, problem)
            if answer["found"]:
                found[place].append(answer)
    return found


def mget(asked: Sequence[Document], client: Elasticsearch) -> list[Document]:
    """Documents by index and ``_id``, for ``Server.call``; one that is not there, and one of no index, has an answer, too.

    Raises:
        Unanswered: a shard did not answer.
    """
    found = list(client.mget(docs=asked).body["docs"])
    for error in (each["error"] for each in found if "error" in each):
        if isinstance(error, dict) and error.get("type") in SILENT:
            raise Unanswered(f"some pages could not be read: {reason_in(error)}")
    return found


def pages_of_hits(  # noqa: PLR0913 - what a search says
    server: Server,
    index: str,
    query: Mapping[str, Any],
    sort: Sequence[Any],
    *,
    after: Sequence[Any] | None = None,
    size: int = WINDOW,
    fields: Fields = True,
    values: Sequence[str] = (),
) -> Iterator[Sequence[Document]]:
    """All hits of a query in a strict order, in lists of at most ``size``.

    Args:
        server: where to.
        index: alias or index.
        query: what to find.
        sort: must tell any two documents apart.
        after: sort values; only later hits are met.
        size: most hits at once, at most ``WINDOW``.
        fields: what of each document's source is read; with False not even its key.
        values: fields whose doc values are read.

    Raises:
        IndexUnavailable: a part of the index did not answer.
    """
    last = after
    while True:
        body: dict[str, Any] = {
            "query": query,
            "sort": list(sort),
            "size": size,
            "source": fields if isinstance(fields, bool) else list(fields),
        }
        if values:
            body["docvalue_fields"] = list(values)
        if fields is False:
            body["stored_fields"] = "_none_"
        if last is not None:
            body["search_after"] = list(last)
        hits = search(server, index, body)
        if hits:
            yield hits
        if len(hits) < size:
            return
        last = hits[-1]["sort"]


def all_hits(
    server: Server, index: str, asked: Sequence[tuple[Mapping[str, Any], Sequence[Any]]]
) -> list[Sequence[Document]]:
    """All hits of some queries, each with its strict order, whole documents; in one request while none has more than ``WINDOW``.

    Raises:
        IndexUnavailable: a part of the index did not answer.
    """
    found: list[Sequence[Document]] = []
    bodies = [{"query": query, "sort": list(sort), "size": WINDOW} for query, sort in asked]
    for (query, sort), hits in zip(asked, searches(server, index, bodies), strict=True):
        more = (
            pages_of_hits(server, index, query, sort, after=hits[-1]["sort"]) if len(hits) == WINDOW else ()
        )
        found.append([*hits, *(hit for some in more for hit in some)])
    return found


def searches(server: Server, index: str, bodies: Sequence[Mapping[str, Any]]) -> list[Sequence[Document]]:
    """The hits of some searches in one request; errors as of ``search``."""
    if len(bodies) <= 1:
        return [search(server, index, body) for body in bodies]
    head = {"index": index, "allow_partial_search_results": False}
    lines = [line for body in bodies for line in (head, {"track_total_hits": False, **body})]
    answers = server.call(lambda client: _all_answered(client.msearch(searches=lines)["responses"]))
    for answer in answers:
        if problem := partial(answer):
            raise IndexUnavailable(server.name, problem)
    return [searched(answer) for _, answer in zip(bodies, answers, strict=True)]


def _all_answered(answers: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    for answer in answers:
        if answer.get("status") in BUSY:
            raise Unanswered(partial(answer))
    return answers


def search(server: Server, index: str, body: Mapping[str, Any]) -> Sequence[Document]:
    """The hits of one search, of which every shard has answered."""
    return searched(whole(server, index, body))


def whole(server: Server, index: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer of one search, of which every shard has answered in time.

    Raises:
        IndexUnavailable: a part of the index did not answer.
    """
    options = {"track_total_hits": False, **body}
    answer: Mapping[str, Any] = server.call(
        lambda client: client.search(index=index, allow_partial_search_results=False, **options).body
    )
    if problem := partial(answer):
        raise IndexUnavailable(server.name, problem)
    return answer


def partial(answer: Mapping[str, Any]) -> str:
    """Why an answer is not whole; empty when it is."""
    if "error" in answer:
        return reason_in(answer["error"]) or "a search failed"
    if answer.get("timed_out"):
        return "a search ran out of time"
    shards = answer.get("_shards", {})
    if shards.get("failed"):
        return f"{shards['failed']} of {shards.get('total')} shards did not answer"
    return ""


def any_of(field: str, values: Sequence[str]) -> dict[str, Any]:
    """A query for documents with any of these values, without a score."""
    return {"bool": {"filter": [{"terms": {field: list(values)}}]}}
