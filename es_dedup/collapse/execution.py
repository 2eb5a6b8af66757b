"""Run plans on the user's client, sync or async, and translate its errors."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from es_dedup.collapse.operations import (
    ClosePointInTime,
    MultiSearch,
    OpenPointInTime,
    advice_for,
)
from es_dedup.errors import DedupError, IndexUnavailable, SearchRefused
from es_dedup.index.elastic.server import BUSY, NOT_FOUND, is_engine_error, reading, reason_of, status_of

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_dedup.collapse.operations import Call, Plan

    Result = TypeVar("Result")

ERRORS_OF_SERVER: Final = 500


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
    status, reason = status_of(error), reason_of(error)
    if isinstance(call, ClosePointInTime) and status == NOT_FOUND:
        return
    if status is None or status in BUSY or status >= ERRORS_OF_SERVER:
        raise IndexUnavailable("search", reason) from error
    raise SearchRefused(reason, advice_for(reason)) from error
