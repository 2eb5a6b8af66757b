"""Questions on stored pages by their ids: which of them are copies, and which are meant by a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.clustering import containment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.port import Index


def redundant(index: Index, page_ids: Iterable[str], *, contained: bool) -> tuple[set[str], set[str]]:
    """See ``IndexReader.redundant``."""
    assigned = index.assignments(page_ids)
    found = {name for name, each in assigned.items() if each.canonical != name}
    if contained:
        edges = index.edges_of(assigned.keys() - found)
        others = {name for edge in edges for name in (edge.left, edge.right)} - assigned.keys()
        inner = containment(edges, {**index.assignments(others), **assigned})
        found |= {name for name, each in assigned.items() if each.cluster_id in inner}
    return set(assigned), found


def ids_of(index: Index, names: Iterable[str]) -> dict[str, list[str]]:
    """See ``IndexReader.ids_of``."""
    wanted = list(dict.fromkeys(names))
    known = {*index.get_many(wanted), *index.assignments(wanted), *index.members(wanted)}
    urls = [name for name in wanted if name not in known and "://" in name]
    by_url = index.pages_with_url(urls) if urls else {}
    return {name: by_url.get(name, [name]) for name in wanted}
