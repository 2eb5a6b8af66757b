"""Pages of the groups that a search has found: a head by another sort, and the first pages of each group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import search_bodies
from es_dedup.collapse.hit_reading import cluster_of, hits_of, key_of, unsorted
from es_dedup.collapse.model import Bound, MembersOf, Mode, Total
from es_dedup.collapse.operations import MultiSearch, checked, problems_of
from es_dedup.errors import SearchRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_dedup.collapse.grouped_hits import HitGroup
    from es_dedup.collapse.model import Body
    from es_dedup.collapse.operations import Plan
    from es_dedup.collapse.search_request import Request

HEAD: Final = "head"
MEMBERS: Final = "members"
SHOWN: Final = frozenset(
    "_source fields docvalue_fields stored_fields script_fields highlight explain version seq_no_primary_term".split()
)
"""Parts of a body that say what is shown of a hit, which a head has as the hit in whose place it comes."""


def with_members(request: Request, groups: Sequence[HitGroup]) -> Plan[tuple[list[HitGroup], list[str]]]:
    """The groups with the head and the pages that the options ask for, by one more request; and problems.

    A group without cluster id, and one of which the index has no page with this id, stays as it is.
    """
    options = request.options
    ids = sorted({each.cluster_id for each in _every(groups) if each.cluster_id})
    if (options.head_sort is None and options.members is None) or not ids:
        return list(groups), []
    (answer,) = yield MultiSearch([_body(request, ids)], request.index, request.header)
    found = {cluster_of(hit, options): hit["inner_hits"] for hit in hits_of(checked(answer))}
    problems = problems_of(answer)
    return [_with(group, found, request, whole=not problems) for group in groups], problems


def _every(groups: Iterable[HitGroup]) -> Iterator[HitGroup]:
    for group in groups:
        yield group
        yield from _every(group.contained)


def _body(request: Request, ids: Sequence[str]) -> Body:
    """One search of which every hit is a cluster, with its pages as ``inner_hits``."""
    options, given = request.options, request.body
    kept = ("pit", "runtime_mappings", "timeout")
    body: dict[str, Any] = {name: given[name] for name in kept if name in given}
    inside = search_bodies.in_clusters(ids, options)
    if options.members_of is MembersOf.MATCHING:
        if search_bodies.has_vectors(given) or "min_score" in given:
            raise SearchRefused("members_of 'matching' with vectors or min_score", "choose members_of 'all'")
        body |= search_bodies.filtered({name: given[name] for name in ("query",) if name in given}, inside)
        body |= {name: given[name] for name in ("post_filter",) if name in given}
    else:  # the query finds nothing here, but scores and highlights
        scored = [given["query"]] if "query" in given and not search_bodies.has_vectors(given) else []
        body["query"] = {"bool": {"filter": [inside], "should": scored, "minimum_should_match": 0}}
    return body | {
        "size": len(ids),
        "_source": False,
        "track_total_hits": False,
        "docvalue_fields": [options.cluster_field],
        "collapse": {"field": options.cluster_field, "inner_hits": list(_inner_hits(request))},
    }


def _inner_hits(request: Request) -> Iterator[Body]:
    options = request.options
    if options.head_sort is not None:
        shown = {name: value for name, value in request.fetched.items() if name in SHOWN}
        yield {"name": HEAD, "size": 1, "sort": options.head_sort, "track_scores": True, **shown}
    if options.members is not None:
        yield {**search_bodies.canonical_first(options), **options.members, "name": MEMBERS}


def _with(
    group: HitGroup, found: Mapping[str | None, Mapping[str, Any]], request: Request, *, whole: bool
) -> HitGroup:
    contained = tuple(_with(each, found, request, whole=whole) for each in group.contained)
    inner = found.get(group.cluster_id) if group.cluster_id else None
    if inner is None:
        return replace(group, contained=contained)
    hits = group.hits
    if HEAD in inner and (heads := hits_of(inner[HEAD])):
        others = hits if request.options.mode is Mode.GROUP else []
        (head,) = unsorted(heads[:1])
        hits = [head, *(hit for hit in others if key_of(hit) != key_of(head))]
    if MEMBERS not in inner:
        return replace(group, hits=hits, contained=contained)
    members, total = hits_of(inner[MEMBERS]), inner[MEMBERS]["hits"]["total"]
    if "sort" not in (request.options.members or {}):
        members = unsorted(members)
    exact = whole and total["relation"] == "eq"
    counted = Total(total["value"], Bound.EXACT if exact else Bound.AT_LEAST)
    return replace(group, hits=hits, contained=contained, members=tuple(members), members_total=counted)
