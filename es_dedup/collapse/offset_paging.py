"""A search with ``from`` and ``size``: from the grouped hits of its mode to the page of groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from es_dedup.collapse import modes, totals
from es_dedup.collapse.cluster_sizes import other_page_counts
from es_dedup.collapse.group_members import with_members
from es_dedup.collapse.hit_reading import group_of
from es_dedup.collapse.model import MAX_WINDOW, Bound, GroupPage, Mode, Total
from es_dedup.collapse.nesting import nest_under_containers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.grouped_hits import GroupedHits, HitGroup
    from es_dedup.collapse.operations import Plan
    from es_dedup.collapse.search_request import Request

FINDERS: Final = {
    Mode.CANONICAL: modes.plain,
    Mode.OFF: modes.plain,
    Mode.COLLAPSE: modes.collapse,
    Mode.GROUP: modes.group,
}


def search(request: Request) -> Plan[GroupPage]:
    """The requested page of groups."""
    options = request.options
    windowed = options.nest_contained or options.mode is Mode.GROUP
    if not windowed:
        found = yield from FINDERS[Mode(options.mode)](request)
        return (yield from page_of(request, found, found.groups))
    last = request.first + request.size
    wide = request.paged(0, min(max(options.window, last), MAX_WINDOW))
    found = yield from FINDERS[Mode(options.mode)](wide)
    groups = nest_under_containers(found.groups, options) if options.nest_contained else found.groups
    total = Total(len(groups), Bound.EXACT if found.complete else Bound.AT_LEAST)
    found = replace(found, total_groups=totals.as_lower_bound(total) if found.problems else total)
    return (yield from page_of(request, found, groups[request.first : last]))


def page_of(request: Request, found: GroupedHits, groups: Sequence[HitGroup]) -> Plan[GroupPage]:
    """The page with these groups; their sizes, heads and members as asked for."""
    counts, problems = yield from other_page_counts(request, groups)
    groups, more = yield from with_members(request, groups)
    problems = [*problems, *more]
    return GroupPage(
        groups=tuple(group_of(group, request, counts) for group in groups),
        total_documents=found.total_documents,
        total_groups=found.total_groups,
        facets=found.facets,
        problems=tuple(dict.fromkeys([*found.problems, *problems])),
        notes=found.notes,
        took_ms=found.took_ms,
        **found.more,
    )
