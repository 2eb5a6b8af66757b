"""Lists of clusters by filter and order, and where duplicates come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.model import Relation
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery
from es_dedup.model.explanation import percent
from es_dedup.model.translations import translate
from es_dedup.views.charts import bar_chart
from es_dedup.views.compare import title_of
from es_dedup.views.forms import button, entry, labelled, select
from es_dedup.views.frame import anchor, framed, path, time_of
from es_dedup.views.markup import element, escape, table
from es_dedup.views.templates import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model.cluster_lists import ClusterSummary

LISTED: Final = 50
"""Clusters of a list."""
NEWEST: Final = 5
"""Clusters in the overview."""
SITES: Final = 10
MONTHS: Final = 12
"""Bars of a chart."""
_ORDERS: Final = {
    ClusterOrder.ID: "by id",
    ClusterOrder.LARGEST: "largest first",
    ClusterOrder.NEWEST: "newest first",
    ClusterOrder.CONFIDENCE: "lowest confidence first",
}
_RELATIONS: Final = {
    "": "any",
    Relation.EXACT: "exact",
    Relation.DUPLICATE: "duplicate",
}
_HEADS: Final = ("Pages", "Canonical document", "Site", "Published", "Lowest agreement")


def listed(reader: IndexReader, language: str, query: ClusterQuery, after: str | None) -> bytes:
    """Clusters in an order, ``LISTED`` at a time, below a form with the filters."""
    found = reader.list_clusters(query, after=after, limit=LISTED + 1)
    shown = found[:LISTED]
    body = _rows(reader, language, shown)
    if not shown:
        body = element("p", escape(translate(language, "There are no such clusters.")), class_="empty")
    if len(found) > LISTED:
        address = path("clusters", **_fields(query), after=query.cursor(shown[-1]))
        body += element("p", anchor(translate(language, "Next"), address, rel="next"))
    return framed(translate(language, "Clusters"), _form(language, query) + body, language)


def newest(reader: IndexReader, language: str) -> str:
    """The newest clusters, and duplicates by site and by month, as markup; nothing where there are none."""
    query = ClusterQuery(order=ClusterOrder.NEWEST)
    found = reader.list_clusters(query, limit=NEWEST)
    if not found:
        return ""
    more = anchor(translate(language, "All clusters, newest first"), path("clusters", **_fields(query)))
    sites, months = reader.duplicate_counts()
    unit = translate(language, "duplicates")
    common = sorted(sites.items(), key=lambda counted: (-counted[1], counted[0]))[:SITES]
    recent = sorted(each for each in months.items() if each[0])[-MONTHS:]
    charts = (
        bar_chart(
            translate(language, "Duplicates by site"),
            unit,
            [(short(site, 12) or "–", n) for site, n in common],
        ),
        bar_chart(
            translate(language, "Duplicates by month of publication"), unit, [(m[2:], n) for m, n in recent]
        ),
    )
    head = element("h2", escape(translate(language, "Newest clusters")))
    return (
        head
        + _rows(reader, language, found)
        + element("p", more)
        + element("section", *charts, class_="charts")
    )


def _rows(reader: IndexReader, language: str, shown: Sequence[ClusterSummary]) -> str:
    records = reader.records_of(each.canonical for each in shown)
    rows = []
    for each in shown:
        record = records.get(each.canonical)
        title = each.canonical if record is None else title_of(record)
        weakest = path("compare", left=each.canonical, right=each.weakest)
        published = each.newest or ("" if record is None else record.published)
        rows.append(
            (
                element("b", f"{each.size:,}"),
                anchor(short(title), path("clusters", each.id)),
                escape("" if record is None else short(record.site)),
                time_of(published[:10]),
                anchor(percent(each.confidence), weakest) if each.size > 1 else "",
            )
        )
    return table([translate(language, head) for head in _HEADS], rows, class_="rows")


def _form(language: str, query: ClusterQuery) -> str:
    scope = query.scope
    orders = ((order, translate(language, text)) for order, text in _ORDERS.items())
    relations = ((relation, translate(language, text)) for relation, text in _RELATIONS.items())
    parts = (
        labelled(language, "Order", select("order", orders, query.order)),
        labelled(language, "Site", entry("site", value=scope.site or "")),
        labelled(
            language, "Published from", entry("published_from", "date", value=scope.published_from or "")
        ),
        labelled(language, "Published to", entry("published_to", "date", value=scope.published_to or "")),
        labelled(language, "Relation", select("relation", relations, query.relation or "")),
        labelled(
            language, "At least so many pages", entry("min_size", "number", value=query.min_size, min=1)
        ),
        button(language, "Show"),
    )
    return element("form", *parts, action=path("clusters"), class_="bar")


def _fields(query: ClusterQuery) -> dict[str, object]:
    """Fields of the form that lead to a query."""
    scope = query.scope
    return {
        "order": query.order,
        "site": scope.site,
        "published_from": scope.published_from,
        "published_to": scope.published_to,
        "relation": query.relation,
        "min_size": query.min_size,
    }
