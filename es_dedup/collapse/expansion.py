"""All pages of one cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.collapse import search_bodies, totals
from es_dedup.collapse.hit_reading import hits_of, unsorted
from es_dedup.collapse.model import Expansion, Total
from es_dedup.collapse.modes import problems_in
from es_dedup.collapse.operations import MultiSearch, checked
from es_dedup.errors import SearchRefused

if TYPE_CHECKING:
    from es_dedup.collapse.operations import Plan
    from es_dedup.collapse.search_request import Request

NOT_EXPANDED: Final = ("aggs", "aggregations", "suggest", "profile")


def expand(request: Request, cluster_id: str) -> Plan[Expansion]:
    """The pages of a cluster that match the body: the canonical document first, unless the body has a sort."""
    options = request.options
    if wrong := [name for name in NOT_EXPANDED if name in request.body]:
        raise SearchRefused(
            f"the pages of a cluster come without {', '.join(wrong)}", "leave that out of the body"
        )
    body = search_bodies.filtered(request.body, {"term": {options.cluster_field: cluster_id}})
    body = {**search_bodies.canonical_first(options), "track_total_hits": True, **body}
    (answer,) = yield MultiSearch([body], request.index, request.header)
    problems = problems_in([checked(answer)])
    total = totals.documents_in(answer, whole=not problems) or Total(0)
    hits = hits_of(answer) if "sort" in request.body else unsorted(hits_of(answer))
    return Expansion(cluster_id, tuple(hits), total, problems)
