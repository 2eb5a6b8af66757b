"""Clusters, ``dedup`` fields and totals of a source index, as the model says they should be."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from es_dedup.collapse import DedupSearch
from tests.model.material import Version
from tests.model.place import Place
from tests.model.plain import Expected
from tests.model.system import demand, equal, partition

MARKED: Final = ("canonical", "relation", "duplicate_of", "contained_in", "cluster_size", "waiting")


def compare_clusters(place: Place, expected: Mapping[str, Expected], dedup_fields: Mapping[str, Any]) -> None:
    """The clusters of the index are those expected, and documents name them."""
    found = {}
    place.site.index.refresh()  # searches see what another object wrote within a second, or after this
    place.site.index.refresh_clusters()
    for cluster in place.site.dedup.clusters():
        pages = {cluster.canonical: "exact"} | {m.page_id: str(m.relation) for m in cluster.members}
        for name, relation in pages.items():
            demand(
                dedup_fields[name]["cluster_id"] == cluster.id,
                "cluster id",
                name,
                dedup_fields[name],
                cluster.id,
            )
            found[name] = (cluster.canonical, sorted(pages), relation)
    equal("clusters", found, partition(expected))


def compare_totals(
    place: Place, live: Mapping[str, Version], expected: Mapping[str, Expected], *, templates: bool
) -> None:
    """Totals of groups in each mode, of all documents and of some kinds."""
    search = DedupSearch(place.client, place.pattern)
    for kind in (None, "edit", "template" if templates else "part"):
        matching = [n for n, each in live.items() if kind in (None, each.content.partition(":")[0])]
        clusters = {expected[name].canonical for name in matching}
        totals = {
            "canonical": sum(expected[name].canonical == name for name in matching),
            "collapse": len(clusters),
            "group": len(clusters),
            "off": len(matching),
        }
        query = {"match_all": {}} if kind is None else {"term": {"kind": kind}}
        real = {}
        for mode in totals:
            options: Any = {"mode": mode, "group_total": "exact", "window": 1000}
            page = search.search({"query": query, "size": 3}, **options)
            demand(page.total_groups is not None and page.total_groups.exact, "not exact", mode, page)
            real[mode] = page.total_groups.value if page.total_groups else None
        equal(f"totals of {kind}", real, totals)


def said(dedup_field: Mapping[str, Any]) -> dict[str, Any]:
    """What a document's ``dedup`` field says of its cluster."""
    return {name: dedup_field.get(name) or None for name in MARKED}


def wanted(expected: Mapping[str, Expected]) -> dict[str, dict[str, Any]]:
    """What each document's ``dedup`` field should say."""
    counted = Counter(each.canonical for each in expected.values())
    return {
        name: {
            "canonical": each.canonical == name or None,
            "relation": each.relation,
            "duplicate_of": None if each.canonical == name else each.canonical,
            "contained_in": list(each.contained_in) or None,
            "cluster_size": counted[name] if each.canonical == name else None,
            "waiting": None,
        }
        for name, each in expected.items()
    }
