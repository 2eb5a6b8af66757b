"""Questions on stored pages by their ids: which of them are copies, and which are meant by a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.clustering import containment
from es_dedup.model import Relation, fitted_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.index.port import Assignment, Index
    from es_dedup.model import Edge


def redundant(
    index: Index, page_ids: Iterable[str], *, contained: bool
) -> tuple[set[str], dict[str, tuple[str, Relation]]]:
    """See ``IndexReader.redundant``."""
    assigned = index.assignments(page_ids)
    found = {
        name: (each.canonical, each.relation) for name, each in assigned.items() if each.canonical != name
    }
    if contained:
        pointers, canonicals = _containers(index, {each.canonical for each in assigned.values()})
        reached = {cluster: _reached(cluster, pointers) for cluster in pointers}
        outer = {  # of clusters that contain each other the first by id stays
            cluster: {each for each in others if each < cluster or cluster not in reached.get(each, ())}
            for cluster, others in reached.items()
        }
        for name, each in assigned.items():
            if around := outer.get(each.cluster_id):
                stays = min(cluster for cluster in around if not outer.get(cluster))
                found[name] = canonicals[stays], Relation.CONTAINED
    return set(assigned), found


def _containers(index: Index, canonicals: set[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """``containment`` of the clusters of some canonical documents, of the clusters that contain these, and so on; and the canonical document of each."""
    edges: list[Edge] = []
    assigned: dict[str, Assignment] = {}
    pointers: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    while canonicals:
        edges += index.edges_of(canonicals)
        ends = {name for edge in edges for name in (edge.left, edge.right)}
        assigned |= index.assignments(ends - assigned.keys())
        pointers = containment(edges, assigned)
        outer = {name for names in pointers.values() for name in names}
        seen |= canonicals
        canonicals = {each.canonical for each in assigned.values() if each.cluster_id in outer} - seen
    return pointers, {each.cluster_id: each.canonical for each in assigned.values()}


def _reached(cluster: str, pointers: Mapping[str, Sequence[str]]) -> set[str]:
    """The clusters that contain one, directly or by way of others; in a cycle also itself."""
    found: set[str] = set()
    waiting = [cluster]
    while waiting:
        new = set(pointers.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


def ids_of(index: Index, names: Iterable[str]) -> dict[str, list[str]]:
    """See ``IndexReader.ids_of``."""
    ids = {name: fitted_id(name) for name in names}
    wanted = ids.values()
    known = {*index.get_many(wanted), *index.assignments(wanted), *index.members(wanted)}
    urls = [name for name, page_id in ids.items() if page_id not in known and "://" in name]
    by_url = index.pages_with_url(urls) if urls else {}
    return {name: by_url.get(name, [page_id]) for name, page_id in ids.items()}
