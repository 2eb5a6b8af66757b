"""What is stored: full-text search, copies and URLs by id, clusters with their evidence, those that a template may hold together, and traces of a page, which are erased."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.batch.annotations import JOURNAL, load_annotations
from es_dedup.batch.overrides import load_overrides
from es_dedup.clustering.star import containment
from es_dedup.decision.comparison import PagePairs, compare, evidence_of
from es_dedup.decision.rules import BY_RULES
from es_dedup.model import Cluster, Edge, Member, Relation, SearchHit, SearchResult, fitted_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.decision.candidate_search import CandidateSearch
    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Index

    Match = tuple[str, float]  # id of a stored page that a query finds, and its score

GROUPED: Final = 10_000
"""Matches that are read at once, and of which groups are counted."""


def search(index: Index, query: str, *, limit: int, offset: int, collapse: bool) -> SearchResult:
    """See ``IndexReader.search``."""
    most = max(GROUPED, offset + limit)
    matches, clusters, best = _matches(index, query, most)
    while len(matches) == most and collapse and len(best) < offset + limit:  # copies of few pages
        most *= 4
        matches, clusters, best = _matches(index, query, most)
    shown = (best if collapse else matches)[offset : offset + limit]
    records = index.get_many(name for name, _ in shown)
    groups = index.members({clusters.get(name, name) for name, _ in shown})
    hits = []
    for name, score in shown:
        if name in records:  # else another process has just removed it
            record, cluster = records[name], clusters.get(name, name)
            others = max(len(groups.get(cluster, ())) - 1, 0)
            hits.append(SearchHit(name, score, record.title, record.url, cluster, others))
    missing = index.unsearchable()
    if len(matches) == most:
        return SearchResult(tuple(hits), None, index.matches(query), missing)
    return SearchResult(tuple(hits), len(best), len(matches), missing)


def _matches(index: Index, query: str, most: int) -> tuple[list[Match], dict[str, str], list[Match]]:
    """The best matches, at most so many; the cluster of each; and the best one of each cluster."""
    matches = index.search(query, limit=most)
    assigned = index.assignments(name for name, _ in matches)
    clusters = {name: each.cluster_id for name, each in assigned.items()}
    best: dict[str, Match] = {}
    for name, score in matches:
        best.setdefault(clusters.get(name, name), (name, score))
    return matches, clusters, list(best.values())


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


def clusters_with_evidence(
    groups: Sequence[Sequence[Assignment]],
    index: Index,
    lookup: CandidateSearch,
    wanted: Collection[str] | None = None,
) -> list[Cluster]:
    """Clusters of assignments, in their order, with containment pointers.

    Args:
        groups: all assignments of each cluster; one whose pages are all in later ones is left out, and so are compared pages
            that are removed already, which a search may find for some time.
        index: holds the pages and edges.
        lookup: loads pages, and has the statistics and settings they are compared with.
        wanted: the pages that are compared with their canonical documents; the others have no evidence. None: all.
    """
    compared = [each for group in groups for each in group if wanted is None or each.page_id in wanted]
    with_evidence = _members(compared, lookup)
    edges = index.edges_of({group[0].canonical for group in groups})
    assigned = {each.page_id: each for group in groups for each in group}
    linked = {name for edge in edges for name in (edge.left, edge.right)} - assigned.keys()
    pointers = containment(edges, index.assignments(linked) | assigned)
    unseen = {each.page_id for each in compared if each.page_id != each.canonical} - with_evidence.keys()
    removed = unseen - index.get_many(unseen).keys() if unseen else unseen
    found = []
    for group in groups:
        # A page that another process moves from one of these clusters to another is read in both, and shown in the later one.
        own = [each for each in group if assigned[each.page_id] is each]
        members = tuple(
            with_evidence.get(each.page_id) or Member(each.page_id, each.relation, each.score)
            for each in own
            if each.page_id != each.canonical and each.page_id not in removed
        )
        if own:
            name = own[0].cluster_id
            found.append(Cluster(name, own[0].canonical, members, pointers.get(name, ())))
    return found


def _members(assigned: Sequence[Assignment], lookup: CandidateSearch) -> dict[str, Member]:
    """Members compared with their canonical documents, all at once; absent where one of the two is not stored.

    That is so while another process removes pages.
    """
    not_canonical = [each for each in assigned if each.page_id != each.canonical]
    names = dict.fromkeys(name for each in not_canonical for name in (each.canonical, each.page_id))
    pages = lookup.load(list(names))
    place = {page_id: row for row, page_id in enumerate(pages.ids)}
    not_canonical = [each for each in not_canonical if {each.canonical, each.page_id} <= place.keys()]
    left = np.array([place[each.canonical] for each in not_canonical], dtype=np.int64)
    right = np.array([place[each.page_id] for each in not_canonical], dtype=np.int64)
    # evidence is that of the rules: published methods, which may be slow, decided when the pages were stored
    decision = lookup.settings.decision.model_copy(update={"method": BY_RULES})
    settings = lookup.settings.model_copy(update={"decision": decision})
    comparison = compare(PagePairs(pages, left, pages, right), lookup.statistics, settings)
    found = evidence_of(comparison, np.arange(len(not_canonical)))
    return {
        each.page_id: Member(each.page_id, each.relation, each.score, evidence)
        for each, evidence in zip(not_canonical, found, strict=True)
    }


LARGE: Final = 50  # pages; both numbers only choose what people are asked to look at, and decide nothing
LOOSE: Final = 0.65
NAMED: Final = 5


def loose_clusters(index: Index) -> tuple[str, ...]:
    """A note on clusters of ``LARGE`` pages or more, half of which have a score below ``LOOSE`` against the canonical document; empty if there is none."""
    loose = [
        group[0].cluster_id
        for group in index.clusters(min_size=LARGE)
        if np.median([each.score for each in group]) < LOOSE
    ]
    if not loose:
        return ()
    count, examples = f"{len(loose):,} clusters of {LARGE} pages and more", ", ".join(loose[:NAMED])
    note = f"{count} have little text in common ({examples}): a template may hold them together; preset `strict` merges less"
    return (note,)


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """Result of forgetting pages.

    Attributes:
        removed: pages that were stored.
        repaired_clusters: clusters that were repaired.
        annotations: labels of readers that were removed.
        overrides: ids of overrides that name one of the pages. They stay, with the page's id: a page that is stored again is decided so.
        problem: why deleted data may still be readable in the storage; empty when it is not.
    """

    removed: int
    repaired_clusters: int
    annotations: int
    overrides: tuple[str, ...]
    problem: str


def erase(index: Index, page_ids: Iterable[str]) -> tuple[int, tuple[str, ...], str]:
    """Take away what removing pages leaves: labels of readers, names of clusters, and deleted data in the storage.

    Returns:
        Labels that were removed, ids of overrides that name a page, and the problem of ``Index.erase``.
    """
    ids = set(page_ids)
    known = load_annotations(index, removed=True)
    kept = [each for each in known if not ids & set(each.pair)]
    JOURNAL.erase(index, kept)
    for group in index.members(ids).values():  # a cluster bears the id of the page that it was made with
        name = f"forgotten-{secrets.token_hex(8)}"
        index.assign_many(each._replace(cluster_id=name) for each in group)
    naming = tuple(sorted(name for name, each in load_overrides(index).items() if ids & set(each.pages)))
    return len(known) - len(kept), naming, index.erase(ids)


def traces(index: Index, page_id: str) -> list[str]:
    """Where an index still has something of a page, in words; overrides that name it do not count."""
    assigned = index.assignments([page_id])
    found = {
        "features": bool(index.get_many([page_id])),
        "text": bool(index.texts([page_id])),
        "cluster": bool(assigned or index.members([page_id])),
        "edges": bool(index.edges_of([page_id])),
        "labels of readers": any(page_id in each.pair for each in load_annotations(index, removed=True)),
        "name in the storage": index.names_page(page_id),
    }
    return [name for name, there in found.items() if there]
