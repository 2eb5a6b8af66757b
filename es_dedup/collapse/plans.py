"""A search without cursor, from its mode's findings to the page of groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from es_dedup.collapse import counting, modes
from es_dedup.collapse.containment import under_containers
from es_dedup.collapse.hits import group_of
from es_dedup.collapse.model import MAX_WINDOW, Bound, GroupPage, Mode, Total
from es_dedup.collapse.similar import similar_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.collapse.calls import Plan
    from es_dedup.collapse.piles import Found, Pile
    from es_dedup.collapse.request import Request

FINDERS: Final = {
    Mode.CANONICAL: modes.plain,
    Mode.OFF: modes.plain,
    Mode.COLLAPSE: modes.collapse,
    Mode.FOLD: modes.fold,
}


def search(request: Request) -> Plan[GroupPage]:
    """The wanted groups of a search."""
    options = request.options
    windowed = options.fold_contained or options.mode is Mode.FOLD
    if not windowed:
        found = yield from FINDERS[Mode(options.mode)](request)
        return (yield from page_of(request, found, found.piles))
    last = request.first + request.size
    wide = request.paged(0, min(max(options.window, last), MAX_WINDOW))
    found = yield from FINDERS[Mode(options.mode)](wide)
    piles = under_containers(found.piles, options) if options.fold_contained else found.piles
    total = Total(len(piles), Bound.EXACT if found.ended else Bound.AT_LEAST)
    found = replace(found, groups=counting.lowered(total) if found.problems else total)
    return (yield from page_of(request, found, piles[request.first : last]))


def page_of(request: Request, found: Found, piles: Sequence[Pile]) -> Plan[GroupPage]:
    """The page that shows these piles."""
    counts, problems = yield from similar_counts(request, piles)
    return GroupPage(
        groups=tuple(group_of(pile, request, counts) for pile in piles),
        total_documents=found.documents,
        total_groups=found.groups,
        facets=found.facets,
        problems=tuple(dict.fromkeys([*found.problems, *problems])),
        notes=found.notes,
        took_ms=found.took_ms,
        **found.more,
    )
