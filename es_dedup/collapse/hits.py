"""Hits of an answer, and the groups that are made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse.model import Body, Group, Hit
from es_dedup.collapse.search_bodies import CLUSTER_FIELD
from es_dedup.index.source_index import DEDUP, DocumentKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.collapse.search_request import Request

ASKED: Final = ("docvalue_fields", "fields", "stored_fields")


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


def groups_of(hits: Iterable[Hit]) -> tuple[Group, ...]:
    """Each hit as a group of its own."""
    return tuple(Group(hit, cluster_of(hit)) for hit in hits)


def hits_in(group: Group) -> tuple[Hit, ...]:
    """The fetched hits of a group, best first."""
    return group.hit, *group.other_hits


def finished(group: Group, request: Request, counts: Mapping[str, int]) -> Group:
    """A group as it is returned; ``counts``: other pages by cluster id."""
    others = tuple(cleaned(other, request) for other in group.other_hits)
    return replace(
        group,
        hit=cleaned(group.hit, request),
        similar_count=max(counts.get(group.cluster_id or "", 0), len(others)),
        other_hits=others,
        contained=tuple(finished(inner, request, counts) for inner in group.contained),
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
