"""Requests to the server as values: a plan is a generator that yields them and receives the responses.

The sync and the async client therefore run the same plans (``run``, ``run_async``); their errors are translated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from es_dedup.errors import CursorLost, DedupError, IndexUnavailable, SearchRefused
from es_dedup.index.elastic.server import BUSY, NOT_FOUND, is_engine_error, reading, status_of
from es_dedup.index.elastic.server import reason_of as reason_of_error

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_dedup.collapse.model import Body

    Answer = Mapping[str, Any]
    Result = TypeVar("Result")

SERVER_ERRORS: Final = 500
NOT_MAPPED: Final = "no mapping found for"


@dataclass(frozen=True, slots=True)
class MultiSearch:
    """Several searches in one ``_msearch`` request; the result is the list of responses, in order.

    Attributes:
        bodies: search bodies; ``index`` is left out for one with a ``pit``.
        index: alias, pattern or names.
        header: routing and preference, where given.
        skip_unmatched: skip shards that cannot match (``pre_filter_shard_size`` 1).
        filter_path: response filter as Elasticsearch takes it; empty: the whole response.
    """

    bodies: Sequence[Body]
    index: str
    header: Mapping[str, str] = field(default_factory=dict)
    skip_unmatched: bool = False
    filter_path: str = ""


@dataclass(frozen=True, slots=True)
class OpenPointInTime:
    """Open a point in time; the result is its id."""

    index: str
    keep_alive: str
    header: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClosePointInTime:
    """Close a point in time; the result is None, also when it no longer exists."""

    id: str


Call: TypeAlias = MultiSearch | OpenPointInTime | ClosePointInTime

if TYPE_CHECKING:
    Plan: TypeAlias = Generator[Call, Any, Result]


def checked(answer: Answer) -> Answer:
    """The response, if it holds hits.

    Raises:
        SearchRefused: the search is invalid, or the index does not exist.
        CursorLost: its point in time no longer exists.
        IndexUnavailable: the server could not answer now.
    """
    if "error" not in answer:
        return answer
    reason, status = reason_of(answer["error"]), int(answer.get("status", SERVER_ERRORS))
    if "search_context_missing_exception" in reason:
        raise CursorLost(reason)
    if status in BUSY or status >= SERVER_ERRORS:
        raise IndexUnavailable("search", reason)
    raise SearchRefused(reason, advice_for(reason))


def not_mapped(answer: Answer) -> bool:
    """Whether an index lacks the collapse field, so that its pages are missing."""
    if "error" in answer:
        return NOT_MAPPED in reason_of(answer["error"])
    failures = answer["_shards"].get("failures", ())
    return any(NOT_MAPPED in str(failure.get("reason")) for failure in failures)


def lacks_only_unmapped(answer: Answer) -> bool:
    """Whether the only failed shards are of indices without the collapse field, which hold no cluster ids.

    Where no index has the field, 8.19 responds with an error, and 8.16 with the failure of one shard.
    """
    if "error" in answer:
        return not_mapped(answer)
    failures = answer["_shards"].get("failures", ())
    return bool(failures) and all(NOT_MAPPED in str(failure.get("reason")) for failure in failures)


def problems_of(answer: Answer) -> list[str]:
    """Why a response may lack hits, as messages."""
    found = []
    shards = answer.get("_shards", {})
    if shards.get("failed"):
        reasons = {reason_of(failure.get("reason")) for failure in shards.get("failures", ())}
        said = "; ".join(sorted(reasons))
        found.append(f"{shards['failed']} of {shards.get('total')} shards did not answer ({said})")
    if answer.get("timed_out"):
        found.append("the search ran out of time")
    if answer.get("terminated_early"):
        found.append("the search was ended early by terminate_after")
    return found


def reason_of(error: Any) -> str:
    """Type and reason of an error object and of its causes."""
    said: list[str] = []
    while isinstance(error, dict):
        said.append(f"{error.get('type', '')}: {error.get('reason', '')}")
        causes = error.get("root_cause") or ()
        error = error.get("caused_by") or next(iter(causes), None)
    return "; ".join(dict.fromkeys(said)) or str(error)


def advice_for(reason: str) -> str:
    """Advice for a search that the server refuses."""
    if "index_not_found" in reason:
        return "check the name of the index"
    if "Result window is too large" in reason:
        return "page with a cursor instead of from"
    if NOT_MAPPED in reason:
        return "attach the index first, so that its mapping has the dedup object"
    return "check the search body"


def run(plan: Plan[Result], client: Elasticsearch) -> Result:
    """Run a plan to its end.

    Raises:
        SearchRefused: the search is wrong, or the server does not allow it.
        CursorLost: the point in time is gone.
        IndexUnavailable: no good answer.
    """
    try:
        run_async(plan, client).send(None)  # which never waits on this client
    except StopIteration as stop:
        result: Result = stop.value
        return result
    raise TypeError("the client is an async one: use AsyncDedupSearch")


async def run_async(plan: Plan[Result], client: Elasticsearch | AsyncElasticsearch) -> Result:
    """The same, also on an async client."""
    try:
        call = next(plan)
        while True:
            try:
                answer = await _asked(call, client)
            except DedupError as error:
                call = plan.throw(error)
            else:
                with reading("search"):
                    call = plan.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result


async def _asked(call: Call, client: Elasticsearch | AsyncElasticsearch) -> Any:
    method, arguments = _request(call)
    try:
        with reading("search"):
            response = getattr(client, method)(**arguments)
            return _answer(call, (await response if isawaitable(response) else response).body)
    except Exception as error:
        if not is_engine_error(error):
            raise
        return _failed(call, error)


def _request(call: Call) -> tuple[str, dict[str, Any]]:
    """The client's method and its arguments."""
    if isinstance(call, OpenPointInTime):
        return "open_point_in_time", {"index": call.index, "keep_alive": call.keep_alive, **call.header}
    if isinstance(call, ClosePointInTime):
        return "close_point_in_time", {"id": call.id}
    searches: list[dict[str, Any]] = []
    for body in call.bodies:
        searches += [{} if "pit" in body else {"index": call.index, **call.header}, body]
    more: dict[str, Any] = {"pre_filter_shard_size": 1} if call.skip_unmatched else {}
    if call.filter_path:
        more["filter_path"] = call.filter_path
    return "msearch", {"searches": searches, **more}


def _answer(call: Call, body: Any) -> Any:
    if isinstance(call, MultiSearch):
        return body["responses"]
    if isinstance(call, ClosePointInTime):
        return None
    if not isinstance(body["id"], str) or not body["id"]:
        raise TypeError("the id of a point in time is no text")
    return body["id"]


def _failed(call: Call, error: Exception) -> None:
    """Raise the es-dedup error for one of the client's; a point in time that no longer exists counts as closed."""
    status, reason = status_of(error), reason_of_error(error)
    if isinstance(call, ClosePointInTime) and status == NOT_FOUND:
        return
    if status is None or status in BUSY or status >= SERVER_ERRORS:
        raise IndexUnavailable("search", reason) from error
    raise SearchRefused(reason, advice_for(reason)) from error
