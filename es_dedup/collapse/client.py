"""Running plans on the user's client, sync or async; its errors become ours."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar

from es_dedup.collapse.calls import ClosePit, OpenPit, Relate, Searches, advice_for
from es_dedup.errors import DedupError, IndexUnavailable, SearchRefused
from es_dedup.index.elastic.server import BUSY, NOT_FOUND, is_engine_error, reading, reason_of, status_of

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_dedup.collapse.calls import Call, Plan
    from es_dedup.collapse.sidecar import Sidecar

    Result = TypeVar("Result")

ERRORS_OF_SERVER: Final = 500


def run(plan: Plan[Result], client: Elasticsearch, sidecar: Sidecar | None) -> Result:
    """Carry a plan out.

    Raises:
        SearchRefused: the search is wrong, or the server does not allow it.
        CursorLost: the point in time is gone.
        IndexUnavailable: no good answer.
    """
    try:
        call = next(plan)
        while True:
            try:
                answer = _perform(call, client, sidecar)
            except DedupError as error:
                call = plan.throw(error)
            else:
                with reading("search"):
                    call = plan.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result


async def run_async(plan: Plan[Result], client: AsyncElasticsearch, sidecar: Sidecar | None) -> Result:
    """The same on an async client; the sidecar, which computes, runs in a thread."""
    try:
        call = next(plan)
        while True:
            try:
                answer = await _perform_async(call, client, sidecar)
            except DedupError as error:
                call = plan.throw(error)
            else:
                with reading("search"):
                    call = plan.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _perform(call: Call, client: Elasticsearch, sidecar: Sidecar | None) -> Any:
    if isinstance(call, Relate):
        return sidecar.relate(call) if sidecar else None
    method, arguments = _request(call)
    try:
        with reading("search"):
            return _answer(call, getattr(client, method)(**arguments).body)
    except Exception as error:
        if not is_engine_error(error):
            raise
        return _failed(call, error)


async def _perform_async(call: Call, client: AsyncElasticsearch, sidecar: Sidecar | None) -> Any:
    if isinstance(call, Relate):
        return await asyncio.to_thread(sidecar.relate, call) if sidecar else None
    method, arguments = _request(call)
    try:
        with reading("search"):
            return _answer(call, (await getattr(client, method)(**arguments)).body)
    except Exception as error:
        if not is_engine_error(error):
            raise
        return _failed(call, error)


def _request(call: Searches | OpenPit | ClosePit) -> tuple[str, dict[str, Any]]:
    """The client's method and its arguments."""
    if isinstance(call, OpenPit):
        return "open_point_in_time", {"index": call.index, "keep_alive": call.keep_alive, **call.header}
    if isinstance(call, ClosePit):
        return "close_point_in_time", {"id": call.id}
    searches: list[dict[str, Any]] = []
    for body in call.bodies:
        searches += [{} if "pit" in body else {"index": call.index, **call.header}, body]
    more: dict[str, Any] = {"pre_filter_shard_size": 1} if call.skip_unmatched else {}
    if call.leave_out:
        more["filter_path"] = call.leave_out
    return "msearch", {"searches": searches, **more}


def _answer(call: Searches | OpenPit | ClosePit, body: Any) -> Any:
    if isinstance(call, Searches):
        return body["responses"]
    if isinstance(call, ClosePit):
        return None
    if not isinstance(body["id"], str) or not body["id"]:
        raise TypeError("the id of a point in time is no text")
    return body["id"]


def _failed(call: Searches | OpenPit | ClosePit, error: Exception) -> None:
    """Raise our error for one of the client's; a point in time that has gone is closed."""
    status, reason = status_of(error), reason_of(error)
    if isinstance(call, ClosePit) and status == NOT_FOUND:
        return
    if status is None or status in BUSY or status >= ERRORS_OF_SERVER:
        raise IndexUnavailable("search", reason) from error
    raise SearchRefused(reason, advice_for(reason)) from error
