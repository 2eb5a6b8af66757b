"""Results and options of a collapsed search."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from es_dedup.errors import SearchRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

Body: TypeAlias = "dict[str, Any]"
"""A search body, or a part of one."""
Hit: TypeAlias = "Mapping[str, Any]"
"""A hit as the server gave it: ``_index``, ``_id``, ``_score``, ``_source``, ``highlight``, ``sort`` …"""

WINDOW: Final = 100
MAX_WINDOW: Final = 10_000
"""Elasticsearch's own limit of ``from`` + ``size``."""
MAX_MEMBERS: Final = 100
"""Elasticsearch's own limit of ``from`` + ``size`` of ``inner_hits``."""
DEFAULT_SIZE: Final = 10
"""Hits of a search whose body has no ``size``; Elasticsearch's own default."""
START: Final = "start"
"""The cursor that begins deep paging."""


class Mode(StrEnum):
    """How hits are grouped.

    ``canonical``: only canonical documents are searched. A group is found when its canonical document matches.
    ``collapse``: all pages are searched; the best match of each cluster is returned. A group is found when any page matches.
    ``group``: the best ``window`` hits are fetched and grouped on the client.
    ``off``: each hit is a group of its own.
    """

    CANONICAL = "canonical"
    COLLAPSE = "collapse"
    GROUP = "group"
    OFF = "off"


class Bound(StrEnum):
    """Whether a total is exact, a lower bound or an estimate."""

    EXACT = "exact"
    AT_LEAST = "at least"
    ABOUT = "about"


class GroupTotal(StrEnum):
    """How groups are counted in mode ``collapse``: not at all, estimated (``cardinality``), or exactly."""

    NONE = "none"
    ESTIMATE = "estimate"
    EXACT = "exact"


class MembersOf(StrEnum):
    """From which pages of a cluster ``head_sort`` and ``members`` choose: all, or those that match the query."""

    ALL = "all"
    MATCHING = "matching"


@dataclass(frozen=True, slots=True)
class Total:
    """A number of documents or groups, at least 0, and its bound."""

    value: int
    bound: Bound = Bound.EXACT

    @property
    def exact(self) -> bool:
        """Whether the value is exact."""
        return self.bound is Bound.EXACT


@dataclass(frozen=True, slots=True)
class Group:
    """One result: a cluster, or a page that is in none.

    Attributes:
        hit: the hit shown for the group: its canonical document or its best match, depending on the mode.
        cluster_id: None for a page that has no ``dedup`` object; each such page is a group of its own.
        similar_count: other pages of the cluster, at least 0, by the ``cluster_size`` of the canonical document: free of cost where that is
            the hit, else for one more request. In mode ``group`` not less than the ``other_hits``.
        other_hits: further fetched hits of the group, best first (mode ``group``).
        contained: groups whose page is contained in a page of this one (``nest_contained``).
        members: first pages of the cluster (``SearchOptions.members``), the canonical document first unless a sort is given.
        members_total: of how many pages; None without ``members``.
    """

    hit: Hit
    cluster_id: str | None
    similar_count: int = 0
    other_hits: tuple[Hit, ...] = ()
    contained: tuple[Group, ...] = ()
    members: tuple[Hit, ...] = ()
    members_total: Total | None = None


@dataclass(frozen=True, slots=True)
class GroupPage:
    """One page of results.

    Attributes:
        groups: in the order of the sort.
        total_documents: matching documents of all groups; None when the body says ``track_total_hits: false``
            or ``document_total`` is off.
        total_groups: ``canonical``: clusters whose canonical document matches, and pages without cluster; ``collapse``: clusters
            of which any page matches; ``group``: groups within the window, exact when all matches lie in it; ``off``:
            documents. None when it was not asked for.
        facets: the aggregations' answers, each bucket's ``doc_count`` being its number of groups; see
            ``es_dedup.collapse.totals``.
        cursor: to ask for the next page with; None on the last one, and when no cursor was asked for.
        problems: why hits may be missing: shards that failed. Totals are then lower bounds.
        notes: further remarks as messages.
        took_ms: the server's time, milliseconds.
        suggest: the answer to the body's ``suggest``; with a cursor on the first page only.
        profile: the answer to ``profile``, of the search for hits; other searches of the same call are not profiled.
        max_score: the best score of all documents that the search for hits found; None where scores were not computed.
        pit_id: of the body's own point in time, for the next search.
    """

    groups: tuple[Group, ...]
    total_documents: Total | None = None
    total_groups: Total | None = None
    facets: Mapping[str, Any] = field(default_factory=dict)
    cursor: str | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    took_ms: int = 0
    suggest: Mapping[str, Any] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)
    max_score: float | None = None
    pit_id: str | None = None


@dataclass(frozen=True, slots=True)
class Expansion:
    """The pages of one cluster: hits, the canonical document first unless the body sorts, and their number."""

    cluster_id: str
    hits: tuple[Hit, ...]
    total: Total
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of a search.

    Attributes:
        mode: see ``Mode``.
        group_total: see ``GroupTotal``; the other modes have their total anyway.
        document_total: count the documents that match too; in mode ``canonical`` this is a second, cheap search.
        nest_contained: nest a page below a result that contains it, within ``window`` groups.
        head_sort: a sort, as in a body: the page shown for a group is its first by this sort, such as the newest or the cheapest,
            in place of the one that the mode shows; groups keep their order. One more request.
        members: show the first pages of each group too, with these options of ``inner_hits``: ``from``, ``size``, ``sort``,
            ``_source``, ``fields``, ``highlight`` …; ``{}`` shows three. In the request of ``head_sort``.
        members_of: see ``MembersOf``.
        window: 1-10,000; hits that mode ``group`` looks at, groups that ``nest_contained`` looks at.
        keep_alive: how long a cursor stays valid after each page, in Elasticsearch time units.
        routing, preference: of the search, as Elasticsearch takes them; empty: none.

    Raises:
        SearchRefused: a value is out of range.
    """

    mode: Mode | str = Mode.CANONICAL
    group_total: GroupTotal | str = GroupTotal.ESTIMATE
    document_total: bool = True
    nest_contained: bool = False
    head_sort: Any = None
    members: Mapping[str, Any] | None = None
    members_of: MembersOf | str = MembersOf.ALL
    window: int = WINDOW
    keep_alive: str = "1m"
    routing: str = ""
    preference: str = ""

    def __post_init__(self) -> None:
        """Check the values."""
        for name, kind in (("mode", Mode), ("group_total", GroupTotal), ("members_of", MembersOf)):
            try:
                object.__setattr__(self, name, kind(getattr(self, name)))
            except ValueError as error:
                known = ", ".join(kind)
                raise SearchRefused(f"{name} is {getattr(self, name)!r}", f"choose one of {known}") from error
        if self.head_sort is not None and not isinstance(self.head_sort, (str, dict, list)):
            raise SearchRefused(f"head_sort is {self.head_sort!r}", "give a sort, as in a search body")
        if self.head_sort is not None and self.mode is Mode.OFF:
            raise SearchRefused(
                "head_sort in mode 'off' would show one page again and again", "choose another mode"
            )
        if self.members is not None:
            _check_members(self.members)
        if not 1 <= self.window <= MAX_WINDOW:
            raise SearchRefused(f"window is {self.window}", f"choose 1 to {MAX_WINDOW}")


def _check_members(members: Any) -> None:
    if not isinstance(members, dict):
        raise SearchRefused(
            f"members is {members!r}", "give an object with options of inner_hits, such as {'size': 3}"
        )
    if wrong := members.keys() & {"name", "collapse"}:
        raise SearchRefused(f"members has {', '.join(sorted(wrong))}", "leave that out")
    window = [members.get("from", 0), members.get("size", 3)]
    if not all(type(value) is int and value >= 0 for value in window) or sum(window) > MAX_MEMBERS:
        advice = (
            f"give from and size of together at most {MAX_MEMBERS}; expand gives all pages of one cluster"
        )
        raise SearchRefused(f"members has from {window[0]!r} and size {window[1]!r}", advice)
