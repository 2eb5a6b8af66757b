"""Clusters of stored pages around a change: a cache of them, pages that are placed or removed, repair, and the notes that say what is not finished.

A run over the whole corpus (``whole_corpus``) uses the same candidate terms, decision rules and star clustering. It learns new statistics;
a change of some pages uses those at hand. ``Deduplicator`` chooses the full run when a fifth of the corpus is new and a call adds many pages,
so its cost per page stays constant as the corpus grows.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.batch.overrides import OVERRIDES, load_constraints
from es_dedup.clustering.constraints import ClusterRules
from es_dedup.clustering.repair import Change, same_neighbours, update_clusters
from es_dedup.index.cluster_changes import Assignment, ClusterChanges, grouped
from es_dedup.index.port import ATTACHMENTS, NO_NOTES, ClusterUpdates, Index, Notes
from es_dedup.model import Edge, Relation
from es_dedup.model.batches import chunked
from es_dedup.settings.recorded import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.decision.candidate_search import CandidateSearch, CandidateSearchResult
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings import Settings

MOST_PAGES: Final = 20_000  # whose edges are read ahead


class ClusterCache(ClusterUpdates):
    """A cluster store with cached edges, assignments, page keys and notes; the rest is read from the index, and completed by what was changed here.

    Writes of others are not seen: hold ``index.writing()`` as long as it is used. Records may lack payload and terms. Changes are kept here until
    ``store``.

    Args:
        index: what is cached of.
        notes: those that are known.

    Attributes:
        reassigned: pages whose assignment was changed through this cache.
        left: clusters that they were in before.
    """

    def __init__(self, index: Index, notes: Notes = NO_NOTES) -> None:
        self._index, self._notes = index, dict(notes)
        self._changes = ClusterChanges()
        self._edges: dict[str, dict[tuple[str, str], Edge]] = {}
        self._records: dict[str, FeatureRecord] = {}
        self._assigned: dict[str, Assignment | None] = {}
        self._whole: set[str] = set()  # clusters whose members are all in ``_assigned``
        self.reassigned: set[str] = set()
        self.left: set[str] = set()

    def learn(
        self,
        records: Mapping[str, FeatureRecord],
        assigned: Mapping[str, Assignment | None],
        unassigned: Iterable[str] = (),
    ) -> None:
        """Add records and assignments of pages that are not in the cache; ``unassigned`` pages have no assignment unless one is given."""
        self._records.update(records)
        for name, each in assigned.items():
            self._assigned.setdefault(name, each)
        for name in unassigned:
            self._assigned.setdefault(name, None)

    def read_pages(self, page_ids: Iterable[str]) -> None:
        """Read records and assignments of those pages that are not in the cache."""
        wanted = [name for name in page_ids if name not in self._records or name not in self._assigned]
        if wanted:
            stored, assigned, _ = self._index.pages_and_assignments(wanted)
            self.learn(stored, assigned, wanted)

    def read_around(self, seeds: Iterable[str]) -> None:
        """Read the edges and clusters of these pages, and of all that same-edges and clusters lead to, level by level.

        A page whose assignment is known leads to its cluster at once, and any other one a level later; known pages of that cluster come with it.
        """
        names = set(seeds)
        clusters = {each.cluster_id for name in names if (each := self._assigned.get(name))}
        within = {name for name, each in self._assigned.items() if each and each.cluster_id in clusters}
        front = (names | within) - self._edges.keys()
        while front and len(self._edges) < MOST_PAGES:
            assigned = (self._assigned.get(name) for name in front)
            clusters = {*front, *(each.cluster_id for each in assigned if each)} - self._whole
            edges, groups = self._read(front, clusters)
            self._edges.update((name, {}) for name in front)
            self._keep(edges)
            self._learn_groups(clusters, groups)
            same = [edge for edge in edges if edge.relation.same]
            within = {each.page_id for group in groups.values() for each in group}
            front = (same_neighbours(same, front) | within) - self._edges.keys()

    def _read(
        self, page_ids: Collection[str], cluster_ids: Collection[str]
    ) -> tuple[list[Edge], dict[str, list[Assignment]]]:
        """Edges and members out of the index, completed by what was changed here."""
        edges, groups = self._index.edges_and_members(page_ids, cluster_ids)
        members = self._changes.members(cluster_ids, chain.from_iterable(groups.values()))
        return self._changes.edges_of(page_ids, edges), grouped(members)

    def store(self, notes: Notes = NO_NOTES) -> None:
        """Store what was changed, and then notes; see ``Index.change_clusters``."""
        self._index.change_clusters(self._changes, notes)

    def _keep(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            for name in (edge.left, edge.right):
                if name in self._edges:
                    self._edges[name][edge.left, edge.right] = edge

    def _learn_groups(self, names: Iterable[str], groups: Mapping[str, Sequence[Assignment]]) -> None:
        self._whole.update(names)
        self._assigned.update((each.page_id, each) for group in groups.values() for each in group)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``Index.edges_of``."""
        names = set(page_ids)
        if not names <= self._edges.keys():
            return self._read(names, ())[0]
        found = {pair: edge for name in names for pair, edge in self._edges[name].items()}
        return [found[pair] for pair in sorted(found)]

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """See ``Index.get_many``."""
        names = list(dict.fromkeys(page_ids))
        self.read_pages(names)
        return {name: self._records[name] for name in names if name in self._records}

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """See ``Index.notes``."""
        wanted = list(names)
        if unknown := [name for name in wanted if name not in self._notes]:
            self._notes |= self._index.notes(unknown)
        return {name: self._notes[name] for name in wanted}

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``Index.put_edges``; the lesser page id is on the left."""
        given = list(edges)
        self._changes.put(given)
        self._keep(given)

    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """See ``Index.drop_edges``."""
        self._changes.drop(self.edges_of(page_ids))
        self._edges.clear()

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``Index.assignments``."""
        names = list(dict.fromkeys(page_ids))
        missing = [name for name in names if name not in self._assigned]
        if missing:
            self.learn({}, self._index.assignments(missing), missing)
        return {name: each for name in names if (each := self._assigned[name]) is not None}

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``Index.members``."""
        names = set(cluster_ids)
        if missing := names - self._whole:
            self._learn_groups(missing, self._read((), missing)[1])
        return grouped(each for each in self._assigned.values() if each and each.cluster_id in names)

    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """See ``Index.assign_many``."""
        given = {each.page_id: each for each in assignments}
        before = self.assignments(given)
        changed = {name for name, each in given.items() if before.get(name) != each}
        self.reassigned |= changed
        self.left |= {before[name].cluster_id for name in changed if name in before}
        self._changes.assign(given.values())
        self._assigned.update(given)

    # Changes around some pages

    def place(
        self,
        records: Mapping[str, FeatureRecord],
        replaced: Collection[str],
        edges: Sequence[Edge],
        lookup: CandidateSearch,
        compare_again: Callable[[Sequence[Edge]], CandidateSearchResult] | None = None,
        *,
        stored: bool = True,
    ) -> Placed:
        """Store the edges of new pages and cluster them: pages without relatives stand alone, around all others clusters are repaired.

        Args:
            records: new pages, and new versions of pages, by id.
            replaced: these; the edges of the versions before are dropped.
            edges: of the new pages.
            lookup: compares pages that lose the one page they were all compared with.
            compare_again: compares replaced pages with those that the dropped edges name; None: nobody can have stored others since candidates
                were searched.
            stored: whether the new pages are; not in a dry run.
        """
        edges, pairs = distinct(edges), 0
        dropped = self.edges_of(replaced) if replaced else []
        if dropped:
            self.drop_edges(replaced)
            if compare_again is not None:
                again = compare_again(dropped)
                edges, pairs = distinct([*edges, *again.edges()]), again.pairs
        touched = {*records, *same_neighbours(dropped, replaced)}
        ends = {name for edge in edges for name in (edge.left, edge.right)}
        self.learn(records, {})
        self.read_pages((ends | touched) - records.keys())
        self.read_around(ends | touched)
        related = same_neighbours(edges, touched)
        known = self.assignments({*touched, *related})
        # A page that another process has stored, and that it has not yet decided on, is decided on with ours.
        touched |= {name for name in related if name not in known}
        linked = {name for edge in edges if edge.relation.same for name in (edge.left, edge.right)} & touched
        linked |= {name for name in touched if name in known} | self.members(touched).keys() & touched
        constraints = load_constraints(self)
        linked |= {name for name in touched if constraints.touch([name])}
        self.put_edges(edges)
        self.assign_many(
            Assignment(name, name, name, Relation.EXACT, 1.0) for name in sorted(touched - linked)
        )
        if linked:
            new = frozenset(records)
            self.repair_around(linked, lookup, lookup.settings, new, frozenset() if stored else new)
        return Placed(edges, dropped, pairs)

    def repair_around(
        self,
        touched: Collection[str],
        lookup: CandidateSearch | None,
        settings: Settings,
        decided: Collection[str] = frozenset(),
        unstored: frozenset[str] = frozenset(),
    ) -> tuple[set[str], int]:
        """Cluster stored pages around a change again, with the new edges in the store and those of removed pages gone.

        Pages that lost the one page they were all compared with (copies of a very common page are compared with its first
        copies only) are looked up once more, so that they find each other.

        Args:
            touched: pages that are new or were removed, and stored pages that had an edge to a page that was replaced or removed.
            lookup: finds and compares stored pages; None: all their edges are there.
            settings: canonical order.
            decided: pages whose edges are those of their stored version; other outdated ones stay outdated.
            unstored: pages of a dry run; ``lookup`` finds earlier versions of them.

        Returns:
            Pages whose place has changed, with those that were in clusters with them before; and how many clusters have changed.
        """
        before = self.assignments(touched)
        rules = ClusterRules(settings.cluster, load_constraints(self))
        pages, clusters = set[str](), set[str]()

        def cluster_around(some: Collection[str]) -> Sequence[Assignment]:
            change = update_clusters(self, some, rules)
            pages.update(self.pages_of(change))
            self.assign_many(self.still_outdated(change, decided))
            clusters.update((each.cluster_id for each in change.assignments), change.retired)
            return change.assignments

        alone = [
            each.page_id
            for each in cluster_around(touched)
            if each.page_id == each.canonical
            and each.page_id in before
            and before[each.page_id].canonical != each.page_id
        ]
        if lookup is not None and len(alone) > 1:
            for some in chunked(alone, LOOKUP_PAGES):
                found = lookup.of_stored(some).edges()
                self.put_edges(edge for edge in found if unstored.isdisjoint((edge.left, edge.right)))
            cluster_around(alone)
        return pages, len(clusters)

    def pages_of(self, change: Change) -> set[str]:
        """The pages of a change that is not written yet, and those of the clusters that they are in."""
        moved = {each.page_id for each in change.assignments}
        left = self.members({each.cluster_id for each in self.assignments(moved).values()})
        return moved.union(each.page_id for group in left.values() for each in group)

    def still_outdated(self, change: Change, decided: Collection[str] = frozenset()) -> list[Assignment]:
        """The assignments of a change; pages of which a version before is clustered stay outdated until they are decided on."""
        known = self.assignments(each.page_id for each in change.assignments)
        outdated = {name for name, each in known.items() if each.outdated}.difference(decided)
        return [each._replace(score=0.0) if each.page_id in outdated else each for each in change.assignments]


QUICK_PAGES: Final = 1_000
"""An index of so many pages is clustered anew within about a second, so this is done without being asked for."""
CLUSTERS_PENDING: Final = "clusters_pending"
"""Note: pages were stored or removed whose clusters are not made yet; who opens an index of ``QUICK_PAGES`` to write clusters it anew then."""
READ_IN_SESSIONS: Final = (STATISTICS, OVERRIDES, CLUSTERS_PENDING, ATTACHMENTS)
"""Notes that are read together when a session begins."""
LOOKUP_PAGES: Final = 100  # pages queried and compared at a time in a partial run


@contextmanager
def write_session(index: Index) -> Iterator[bool]:
    """Change pages and clusters while no other session does; sees what the sessions before have changed.

    Yields:
        True if no other session, of this process or another, came between this one and the last one of this index object: what was read
        then still holds.

    Raises:
        IndexLocked: another session did not finish in time.
    """
    with index.writing() as alone:
        if not alone:
            index.refresh()
        index.notes(READ_IN_SESSIONS)
        yield alone


def attached(index: Index) -> bool:
    """Whether source indices are attached, whose documents have to follow each change of clusters."""
    return index.note(ATTACHMENTS) not in (None, "[]")


class Placed(NamedTuple):
    """New pages whose edges and clusters are stored.

    Attributes:
        edges: of the pages, as they are stored.
        dropped: edges of the versions that they replace.
        pairs: compared for these.
    """

    edges: Sequence[Edge]
    dropped: Sequence[Edge]
    pairs: int


def distinct(edges: Iterable[Edge]) -> list[Edge]:
    """The last edge of each pair of pages."""
    return list({(edge.left, edge.right): edge for edge in edges}.values())


@dataclass(frozen=True, slots=True)
class Removal:
    """What removing pages did.

    Attributes:
        stored: how many of the pages were stored.
        changed: pages that stay and may have another ``dedup`` field: they were related to removed pages, or their clusters have changed.
        clusters: how many clusters were repaired.
    """

    stored: int
    changed: frozenset[str]
    clusters: int


def remove_pages(index: Index, page_ids: Iterable[str], lookup: CandidateSearch) -> Removal:
    """Remove pages, and repair the clusters they were in; the caller holds a write session.

    A note says that clusters are pending from before the first change until the repaired clusters are kept.

    Args:
        index: holds the pages; unknown ids are no error.
        page_ids: the pages.
        lookup: compares pages that lose the one page they were all compared with.
    """
    gone = set(page_ids)
    clusters = {each.cluster_id for each in index.assignments(gone).values()}
    edges, groups = index.edges_and_members(gone, clusters)
    members = {each.page_id for group in groups.values() for each in group} - gone
    touched = members | (same_neighbours(edges, gone) - gone)
    related = {name for edge in edges for name in (edge.left, edge.right)} - gone
    if not touched:
        return Removal(index.delete_many(gone), frozenset(related), 0)
    unfinished = index.notes(READ_IN_SESSIONS)[CLUSTERS_PENDING] is not None
    if not unfinished:
        index.set_note(CLUSTERS_PENDING, "1")
    stored = index.delete_many(gone)
    cache = ClusterCache(index)
    cache.read_around(touched)
    # Removed pages are named too: an override may concern them.
    changed, repaired = cache.repair_around(touched | gone, lookup, lookup.settings)
    cache.store({} if unfinished else {CLUSTERS_PENDING: None})
    return Removal(stored, frozenset(touched | related | changed) - gone, repaired)
