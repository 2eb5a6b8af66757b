"""Requests to the server as values: a plan is a generator that yields them and receives the responses.

The sync and the async client therefore run the same plans.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from es_dedup.errors import CursorLost, IndexUnavailable, SearchRefused

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from es_dedup.collapse.model import Body

    Answer = Mapping[str, Any]
    Result = TypeVar("Result")

BUSY: Final = 429
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
    if status == BUSY or status >= SERVER_ERRORS:
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
