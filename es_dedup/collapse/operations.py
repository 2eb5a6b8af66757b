"""Requests to the server and their answers, for plans: coroutines that a synchronous client runs, too, as it never has them wait (``run``)."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from es_dedup.errors import CursorLost, IndexUnavailable, SearchRefused
from es_dedup.index.elastic.server import BUSY, NOT_FOUND, is_engine_error, reading, status_of
from es_dedup.index.elastic.server import reason_of as reason_of_error
from es_dedup.index.opensearch import is_opensearch

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from es_dedup.collapse.model import Body

    Answer = Mapping[str, Any]
    Result = TypeVar("Result")
    Plan = Coroutine[Any, Any, Result]

SERVER_ERRORS: Final = 500
NOT_MAPPED: Final = "no mapping found for"


class Server:
    """Sends requests by a client of either kind, and translates its errors. On a synchronous client nothing here ever waits.

    Args:
        client: of Elasticsearch, or one that takes its requests; None: no request is sent.

    Raises:
        SearchRefused: a request is wrong, or the server does not allow it.
        IndexUnavailable: no good answer.
    """

    def __init__(self, client: Any = None) -> None:
        self._client = client

    @property
    def is_opensearch(self) -> bool:
        """Whether it is OpenSearch."""
        return is_opensearch(self._client)

    async def search(self, searches: Sequence[Body], **options: Any) -> list[Answer]:
        """The answers to several searches in one ``_msearch`` request, in order.

        Args:
            searches: header and body of each in turn.
            options: of the request.
        """
        answer = await self._asked("msearch", searches=searches, **options)
        return list(answer["responses"])

    async def open_point_in_time(self, index: str, keep_alive: str, header: Mapping[str, str]) -> str:
        """The id of a new point in time."""
        answer = await self._asked("open_point_in_time", index=index, keep_alive=keep_alive, **header)
        if not isinstance(answer["id"], str) or not answer["id"]:
            raise TypeError("the id of a point in time is no text")
        return answer["id"]

    async def close_point_in_time(self, name: str) -> None:
        """Close a point in time; one that no longer exists is no error."""
        await self._asked("close_point_in_time", id=name)

    async def _asked(self, method: str, **arguments: Any) -> Any:
        try:
            response = getattr(self._client, method)(**arguments)
            return (await response if isawaitable(response) else response).body
        except Exception as error:
            if not is_engine_error(error):
                raise
            status, reason = status_of(error), reason_of_error(error)
            if method == "close_point_in_time" and status == NOT_FOUND:
                return None
            if status is None or status in BUSY or status >= SERVER_ERRORS:
                raise IndexUnavailable("search", reason) from error
            raise SearchRefused(reason, advice_for(reason)) from error


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


def run(plan: Plan[Result]) -> Result:
    """The result of a plan on a synchronous client; errors as of ``run_async``.

    Raises:
        TypeError: the client is an async one.
    """
    try:
        run_async(plan).send(None)  # which never waits on this client
    except StopIteration as stop:
        result: Result = stop.value
        return result
    raise TypeError("the client is an async one: use AsyncDedupSearch")


async def run_async(plan: Plan[Result]) -> Result:
    """The result of a plan.

    Raises:
        SearchRefused, CursorLost, IndexUnavailable: see ``Server`` and ``checked``.
        UnreadableAnswer: an answer is none of Elasticsearch's.
    """
    with reading("search"):
        return await plan
