"""From grouped hits to the page of groups, and a search with ``from`` and ``size`` that does so.

Groups that are contained in others are nested under them; groups get their size, a head by another sort, and their first pages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import modes, search_bodies, totals
from es_dedup.collapse.hits import (
    cluster_of,
    finished,
    hits_in,
    hits_of,
    key_of,
    page_id_of,
    unsorted,
    values_of,
)
from es_dedup.collapse.model import MAX_WINDOW, Body, Bound, Group, GroupPage, MembersOf, Mode, Total
from es_dedup.collapse.operations import checked, problems_of
from es_dedup.errors import SearchRefused
from es_dedup.model.batches import by_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_dedup.collapse.search_request import Request


FINDERS: Final = {
    Mode.CANONICAL: modes.plain,
    Mode.OFF: modes.plain,
    Mode.COLLAPSE: modes.collapse,
    Mode.GROUP: modes.group,
}
CLUSTERS: Final = "es_dedup_clusters"
SIZE: Final = "es_dedup_size"
HEAD: Final = "head"
MEMBERS: Final = "members"
SHOWN: Final = frozenset(
    "_source fields docvalue_fields stored_fields script_fields highlight explain version seq_no_primary_term".split()
)
"""Parts of a request body that choose what is returned of a hit. The head of a group is fetched with those of the hit that it replaces."""


async def search(request: Request) -> GroupPage:
    """The requested page of groups."""
    options = request.options
    windowed = options.nest_contained or options.mode is Mode.GROUP
    if not windowed:
        found, _ = await FINDERS[Mode(options.mode)](request)
        return await page_of(request, found)
    last = request.first + request.size
    wide = request.paged(0, min(max(options.window, last), MAX_WINDOW))
    found, complete = await FINDERS[Mode(options.mode)](wide)
    groups = nest_under_containers(found.groups) if options.nest_contained else found.groups
    total = Total(len(groups), Bound.EXACT if complete and not found.problems else Bound.AT_LEAST)
    return await page_of(request, replace(found, groups=groups[request.first : last], total_groups=total))


async def page_of(request: Request, found: GroupPage) -> GroupPage:
    """The page with the sizes, heads and members of its groups as asked for."""
    counts, problems = await other_page_counts(request, found.groups)
    groups, more = await with_members(request, found.groups)
    return replace(
        found,
        groups=tuple(finished(group, request, counts) for group in groups),
        facets=totals.read_shown(found.facets),
        problems=tuple(dict.fromkeys([*found.problems, *problems, *more])),
    )


def nest_under_containers(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The groups with contained ones nested under their containers, at any depth, in rank order.

    A group takes the rank of the best group nested in it. Of several containers the best ranked one is taken; of groups that
    contain each other in a cycle the best ranked stays on top.
    """
    place: dict[str, int] = {}
    for at, group in enumerate(groups):
        for name in _names(group):
            place.setdefault(name, at)
    containers = ((at, _container(at, group, place)) for at, group in enumerate(groups))
    parent = {at: container for at, container in containers if container is not None}
    under = by_key((_root(at, parent), at) for at in range(len(groups)))
    # In the order in which the first of each lot comes.
    return tuple(
        replace(groups[root], contained=tuple(groups[at] for at in lot if at != root))
        for root, lot in under.items()
    )


def _names(group: Group) -> list[str]:
    """Names by which ``contained_in`` may refer to a group: page ids, cluster id, canonical page."""
    found = [group.cluster_id] if group.cluster_id is not None else []
    for hit in hits_in(group):
        found += [page_id_of(hit), *values_of(hit, search_bodies.DUPLICATE_FIELD)]
    return found


def _container(at: int, group: Group, place: dict[str, int]) -> int | None:
    """Position of the best ranked container of a group; None without any."""
    wanted = (name for hit in hits_in(group) for name in values_of(hit, search_bodies.CONTAINED_FIELD))
    return min((place[name] for name in wanted if place.get(name, at) != at), default=None)


def _root(at: int, parent: dict[int, int]) -> int:
    """The outermost container of a group; in a cycle its best ranked member."""
    way = [at]
    while way[-1] in parent:
        onward = parent[way[-1]]
        if onward in way:
            return min(way[way.index(onward) :])
        way.append(onward)
    return way[-1]


async def other_page_counts(request: Request, groups: Sequence[Group]) -> tuple[dict[str, int], list[str]]:
    """Number of other pages by cluster id, and problems; no request where the heads of all groups say it themselves."""
    shown = [each for group in groups for each in (group, *group.contained) if each.cluster_id]
    sizes = ((each.cluster_id, values_of(each.hit, search_bodies.SIZE_FIELD)) for each in shown)
    known = {name: max(int(size[0]) - 1, 0) for name, size in sizes if name and size}
    ids = sorted({each.cluster_id for each in shown if each.cluster_id} - known.keys())
    if not ids:
        return known, []
    of_each: dict[str, Any] = {
        "terms": {"field": search_bodies.CLUSTER_FIELD, "size": len(ids)},
        "aggs": {SIZE: {"max": {"field": search_bodies.SIZE_FIELD}}},
    }
    wanted = {"query": {"bool": {"filter": [search_bodies.in_clusters(ids)]}}, "size": 0}
    body = wanted | {"aggs": {CLUSTERS: of_each}, "track_total_hits": False}
    (answer,) = await request.ask([body])
    buckets = checked(answer)["aggregations"][CLUSTERS]["buckets"]
    # The canonical document, which knows the size, may be in an index that is not searched.
    found = {each["key"]: int(each[SIZE]["value"] or each["doc_count"]) for each in buckets}
    return known | {name: size - 1 for name, size in found.items()}, problems_of(answer)


async def with_members(request: Request, groups: Sequence[Group]) -> tuple[list[Group], list[str]]:
    """The groups with the head and the pages that the options ask for, by one more request; and problems.

    A group without cluster id, and one of which the index has no page with this id, stays as it is.
    """
    options = request.options
    ids = sorted({each.cluster_id for each in _every(groups) if each.cluster_id})
    if (options.head_sort is None and options.members is None) or not ids:
        return list(groups), []
    body = _body(request, ids)
    (answer,) = await request.ask([body], skip_unmatched=True)
    found = {cluster_of(hit): hit["inner_hits"] for hit in hits_of(checked(answer))}
    problems = problems_of(answer)
    return [_with(group, found, request, whole=not problems) for group in groups], problems


def _every(groups: Iterable[Group]) -> Iterator[Group]:
    for group in groups:
        yield group
        yield from _every(group.contained)


def _body(request: Request, ids: Sequence[str]) -> Body:
    """One search of which every hit is a cluster, with its pages as ``inner_hits``."""
    options, given = request.options, request.body
    kept = ("pit", "runtime_mappings", "timeout")
    body: dict[str, Any] = {name: given[name] for name in kept if name in given}
    inside = search_bodies.in_clusters(ids)
    if options.members_of is MembersOf.MATCHING:
        if search_bodies.has_vectors(given) or "min_score" in given:
            raise SearchRefused("members_of 'matching' with vectors or min_score", "choose members_of 'all'")
        matched: Body = {name: given[name] for name in ("query", "post_filter") if name in given}
        body |= search_bodies.filtered(matched, inside)
    else:  # the query finds nothing here, but scores and highlights
        scored = [given["query"]] if "query" in given and not search_bodies.has_vectors(given) else []
        body["query"] = {"bool": {"filter": [inside], "should": scored, "minimum_should_match": 0}}
    return body | {
        "size": len(ids),
        "_source": False,
        "track_total_hits": False,
        "docvalue_fields": [search_bodies.CLUSTER_FIELD],
        "collapse": {"field": search_bodies.CLUSTER_FIELD, "inner_hits": list(_inner_hits(request))},
    }


def _inner_hits(request: Request) -> Iterator[Body]:
    options = request.options
    if options.head_sort is not None:
        shown = {name: value for name, value in request.fetched.items() if name in SHOWN}
        yield {"name": HEAD, "size": 1, "sort": options.head_sort, "track_scores": True, **shown}
    if options.members is not None:
        yield {**search_bodies.CANONICAL_FIRST, **options.members, "name": MEMBERS}


def _with(
    group: Group, found: Mapping[str | None, Mapping[str, Any]], request: Request, *, whole: bool
) -> Group:
    contained = tuple(_with(each, found, request, whole=whole) for each in group.contained)
    inner = found.get(group.cluster_id) if group.cluster_id else None
    group = replace(group, contained=contained)
    if inner is None:
        return group
    if HEAD in inner and (heads := hits_of(inner[HEAD])):
        (head,) = unsorted(heads[:1])
        others = hits_in(group) if request.options.mode is Mode.GROUP else ()
        others = tuple(hit for hit in others if key_of(hit) != key_of(head))
        group = replace(group, hit=head, other_hits=others)
    if MEMBERS not in inner:
        return group
    members, total = hits_of(inner[MEMBERS]), inner[MEMBERS]["hits"]["total"]
    if "sort" not in (request.options.members or {}):
        members = unsorted(members)
    exact = whole and total["relation"] == "eq"
    counted = Total(total["value"], Bound.EXACT if exact else Bound.AT_LEAST)
    return replace(group, members=tuple(members), members_total=counted)
