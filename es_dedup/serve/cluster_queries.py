"""Which clusters a request lists: the same parameters for the REST API and the console."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import Depends, Query

from es_dedup.model import Relation, Scope
from es_dedup.model.cluster_lists import MOST_PAGES, ClusterOrder, ClusterQuery

_TIME: Final = r"^(\d{4}(-\d\d(-\d\d(T\S{0,30})?)?)?)?$"


def _query(
    *,
    min_size: Annotated[int, Query(ge=1, le=MOST_PAGES, description="pages of a cluster, at least")] = 2,
    relation: Annotated[
        Literal["", "exact", "duplicate"], Query(description="of at least one page to the canonical document")
    ] = "",
    site: Annotated[str, Query(max_length=1000, description="of at least one page")] = "",
    published_from: Annotated[
        str,
        Query(
            pattern=_TIME, description="of at least one page (of `site`); `2026`, `2026-03`, a day or a time"
        ),
    ] = "",
    published_to: Annotated[
        str, Query(pattern=_TIME, description="inclusive; `2026-03` reaches to the last of March")
    ] = "",
    order: Annotated[
        ClusterOrder,
        Query(description="`confidence`: the lowest agreement of a page with the canonical document first"),
    ] = ClusterOrder.ID,
) -> ClusterQuery:
    scope = Scope(site.strip() or None, published_from or None, published_to or None)
    return ClusterQuery(min_size, Relation(relation) if relation else None, scope, order)


Listed = Annotated[ClusterQuery, Depends(_query)]
"""Empty parameters, as forms send them, stand for none."""
