"""What a plan asks of the outside, as values: a plan is a generator that yields them and is sent the answers.

So the sync and the async client run the very same plans.
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
class Searches:
    """Some searches in one request; answered by a list of their answers, in order.

    Attributes:
        bodies: may carry a ``pit``; then ``index`` is left out.
        index: alias, pattern or names.
        header: routing and preference, where given.
        skip_unmatched: ask each shard first whether it can match at all, and leave it out when it cannot.
        leave_out: a ``filter_path`` of what is not sent back; empty: nothing.
    """

    bodies: Sequence[Body]
    index: str
    header: Mapping[str, str] = field(default_factory=dict)
    skip_unmatched: bool = False
    leave_out: str = ""


@dataclass(frozen=True, slots=True)
class OpenPit:
    """Open a point in time; answered by its id."""

    index: str
    keep_alive: str
    header: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClosePit:
    """Close a point in time; answered by None, also when it is gone already."""

    id: str


@dataclass(frozen=True, slots=True)
class Relate:
    """Ask the sidecar which of these pages are the same: those without cluster id, and the others."""

    unassigned: Sequence[str]
    others: Sequence[str]


@dataclass(frozen=True, slots=True)
class Related:
    """What the sidecar knows of some pages.

    Attributes:
        clusters: page id to cluster id, of pages that the index of features has assigned.
        same: pairs of pages that are exact or duplicate by their stored features; both orders.
    """

    clusters: Mapping[str, str] = field(default_factory=dict)
    same: frozenset[tuple[str, str]] = frozenset()


Call: TypeAlias = Searches | OpenPit | ClosePit | Relate

if TYPE_CHECKING:
    Plan: TypeAlias = Generator[Call, Any, Result]
    Relations: TypeAlias = Related


def checked(answer: Answer) -> Answer:
    """An answer that holds hits.

    Raises:
        SearchRefused: the search is wrong, or the index is not there.
        CursorLost: its point in time is gone.
        IndexUnavailable: the server could not do it now.
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
    """Whether an index lacks the field that is collapsed on, so that its pages are missing."""
    if "error" in answer:
        return NOT_MAPPED in reason_of(answer["error"])
    failures = answer["_shards"].get("failures", ())
    return any(NOT_MAPPED in str(failure.get("reason")) for failure in failures)


def lacks_only_unmapped(answer: Answer) -> bool:
    """Whether the only parts that did not answer are of indices without the field, which hold no cluster ids.

    Where no index has it, 8.19 answers with an error, and 8.16 with the failure of one shard.
    """
    if "error" in answer:
        return not_mapped(answer)
    failures = answer["_shards"].get("failures", ())
    return bool(failures) and all(NOT_MAPPED in str(failure.get("reason")) for failure in failures)


def problems_of(answer: Answer) -> list[str]:
    """Why an answer may lack hits, in plain words."""
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
    """Type and reason of an error object, with those it was caused by."""
    said: list[str] = []
    while isinstance(error, dict):
        said.append(f"{error.get('type', '')}: {error.get('reason', '')}")
        causes = error.get("root_cause") or ()
        error = error.get("caused_by") or next(iter(causes), None)
    return "; ".join(dict.fromkeys(said)) or str(error)


def advice_for(reason: str) -> str:
    """What to do about a search that the server refuses."""
    if "index_not_found" in reason:
        return "check the name of the index"
    if "Result window is too large" in reason:
        return "page with a cursor instead of from"
    if NOT_MAPPED in reason:
        return "attach the index first, so that its mapping has the object dedup"
    return "check the search body"
