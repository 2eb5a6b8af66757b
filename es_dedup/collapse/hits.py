"""Hits of an answer; and hits grouped by cluster, as a mode returns them before they become a ``GroupPage``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse.model import Body, Group, Hit, Total
from es_dedup.collapse.search_bodies import CLUSTER_FIELD
from es_dedup.index.source_index import DEDUP, DocumentKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.collapse.search_request import Request

ASKED: Final = ("docvalue_fields", "fields", "stored_fields")


@dataclass(frozen=True, slots=True)
class HitGroup:
    """The fetched hits of one group, best first, at least one; and the groups whose pages are contained in its pages.

    ``members`` and ``members_total``: see ``Group``.
    """

    hits: list[Hit]
    cluster_id: str | None
    contained: tuple[HitGroup, ...] = ()
    members: tuple[Hit, ...] = ()
    members_total: Total | None = None

    @property
    def head(self) -> Hit:
        """The best hit, which is shown for the group."""
        return self.hits[0]


@dataclass(frozen=True, slots=True)
class GroupedHits:
    """Result of a mode; names as in ``GroupPage``.

    Attributes:
        complete: no further match follows the last group.
        more: further attributes of ``GroupPage``, from the response to the user's search.
    """

    groups: list[HitGroup]
    total_documents: Total | None = None
    total_groups: Total | None = None
    facets: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    took_ms: int = 0
    complete: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)


def hits_of(answer: Mapping[str, Any]) -> list[Hit]:
    """The hits of an answer, in order."""
    return list(answer["hits"]["hits"])


def unsorted(hits: Iterable[Hit]) -> list[Hit]:
    """The hits without their sort values."""
    return [{name: value for name, value in hit.items() if name != "sort"} for hit in hits]


def more_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """All parts of an answer but hits, counts and aggregations; see ``GroupPage``."""
    found = {name: answer[name] for name in ("suggest", "profile", "pit_id") if name in answer}
    return found | {"max_score": answer["hits"].get("max_score")}


def key_of(hit: Hit) -> tuple[str, str]:
    """What identifies a document: its index and ``_id``."""
    return hit["_index"], hit["_id"]


def page_id_of(hit: Hit) -> str:
    """The page id of a hit."""
    return DocumentKey(hit["_index"], hit["_id"], hit.get("_routing") or "").page_id


def cluster_of(hit: Hit) -> str | None:
    """The cluster id of a hit; None when it has none."""
    return next(iter(values_of(hit, CLUSTER_FIELD)), None)


def values_of(hit: Hit, name: str) -> list[Any]:
    """The values of a field that was asked for with the hit."""
    return [value for value in hit.get("fields", {}).get(name, ()) if value is not None]


def group_of(group: HitGroup, request: Request, counts: Mapping[str, int]) -> Group:
    """The result for a group of hits; ``counts``: other pages by cluster id."""
    similar = counts.get(group.cluster_id or "", 0)
    under = tuple(cleaned(other, request) for other in group.hits[1:])
    inside = tuple(group_of(other, request, counts) for other in group.contained)
    return Group(
        cleaned(group.head, request),
        group.cluster_id,
        max(similar, len(under)),
        under,
        inside,
        group.members,
        group.members_total,
    )


def cleaned(hit: Hit, request: Request) -> Hit:
    """A hit without the fields and sort values that were asked for only by us."""
    wanted = _asked_for(request.body)
    kept = {
        name: value
        for name, value in hit.get("fields", {}).items()
        if name in wanted or not name.startswith(f"{DEDUP}.")
    }
    made = {name: value for name, value in hit.items() if name not in ("fields", "sort")}
    if kept:
        made["fields"] = kept
    if "sort" in hit and "sort" in request.body:
        made["sort"] = hit["sort"][: _keys(request.body["sort"])]
    return made


def _asked_for(body: Body) -> set[str]:
    found = set()
    for part in ASKED:
        given = body.get(part, ())
        for each in [given] if isinstance(given, str) else given:
            found.add(each["field"] if isinstance(each, dict) else each)
    return found


def _keys(sort: Any) -> int:
    """Sort keys of a body's ``sort``."""
    if isinstance(sort, dict):
        return len(sort)
    return sum(len(key) if isinstance(key, dict) else 1 for key in sort) if isinstance(sort, list) else 1
