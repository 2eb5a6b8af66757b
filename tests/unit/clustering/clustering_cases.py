"""Random graphs, a store in memory, and an independent clustering written straight from the definition."""

import random
from collections.abc import Iterable, Mapping

from es_dedup.clustering.constraints import ClusterRules, constraints_of
from es_dedup.clustering.order import PageKey, sort_key
from es_dedup.clustering.repair import Change, same_neighbours, update_clusters
from es_dedup.index.cluster_changes import Assignment
from es_dedup.model import Edge, Relation
from es_dedup.model.overrides import Override, OverrideKind
from es_dedup.settings.loading import ClusterConfig
from tests.plain_index import PlainIndex
from tests.reference.star_clusters import star_clusters

EARLIEST = ClusterConfig()
TIMES = (
    "",
    "2024-01-01",
    "2024-01-02T08:00:00+08:00",
    "2024-01-02T00:00:00Z",
    "2025-03-04T05:06:07",
    "gestern",
)


def random_pages(draw: random.Random, count: int) -> list[PageKey]:
    return [
        PageKey(
            f"p{n:03}",
            draw.choice(TIMES),
            draw.choice(("a.cn", "b.cn", "")),
            "u" * draw.randrange(5),
            draw.randrange(9),
        )
        for n in draw.sample(range(999), count)
    ]


def random_edges(draw: random.Random, pages: list[PageKey], count: int) -> list[Edge]:
    names = [page.page_id for page in pages]
    pairs = {tuple(sorted(draw.sample(names, 2))) for _ in range(count)} if len(names) > 1 else set()
    return [Edge(left, right, draw.choice(list(Relation)), draw.random()) for left, right in sorted(pairs)]


def slow_partition(
    pages: Iterable[PageKey], edges: Iterable[Edge], config: ClusterConfig, overrides: Iterable[Override] = ()
) -> dict[str, str]:
    """Page id to canonical document, by the definition: look at the pages one by one."""
    linked: dict[frozenset[str], tuple[bool, float]] = {}
    for edge in edges:
        if edge.relation.same:
            pair, strength = (
                frozenset((edge.left, edge.right)),
                (edge.relation is Relation.EXACT, int(8 * edge.score + 0.5)),
            )
            linked[pair] = max(strength, linked.get(pair, strength))
    decided = {kind: [each.pages for each in overrides if each.kind is kind] for kind in OverrideKind}
    return star_clusters(
        [page.page_id for page in sorted(pages, key=sort_key(config))],
        linked,
        decided[OverrideKind.SAME],
        decided[OverrideKind.DIFFERENT],
        {name for names in decided[OverrideKind.CANONICAL] for name in names},
    )


def override(kind: str, *pages: str) -> Override:
    """An override, its id made of what it says."""
    return Override(
        f"{kind} {pages}", OverrideKind(kind), tuple(sorted(pages)), "why", "who", "2026-01-01T00:00:00Z"
    )


def partition(assignments: Mapping[str, Assignment]) -> dict[str, str]:
    return {name: each.canonical for name, each in assignments.items()}


class Store(PlainIndex):
    """An index in dictionaries with the keys of its pages, in which clusters are kept up to date."""

    def __init__(self, config: ClusterConfig = EARLIEST, limit: int = 2000) -> None:
        super().__init__()
        self.config, self.limit = config, limit
        self.keys: dict[str, PageKey] = {}
        self.overrides: list[Override] = []

    @property
    def stored(self) -> dict[str, Assignment]:
        """The assignments of all pages."""
        return self._assignments

    def get_many(self, page_ids: Iterable[str]) -> dict[str, PageKey]:  # type: ignore[override] # what is read of records
        return {name: self.keys[name] for name in page_ids if name in self.keys}

    def put(self, page: PageKey, edges: Iterable[Edge]) -> Change:
        """Add or update a page, with all edges it has now."""
        touched = self._cut(page.page_id)
        self.keys[page.page_id] = page
        self.put_edges(edges)
        return self._update(touched)

    def put_all(self, pages: Iterable[PageKey], edges: Iterable[Edge]) -> Change:
        """Add many new pages at once."""
        fresh = {page.page_id: page for page in pages}
        self.keys.update(fresh)
        self.put_edges(edges)
        return self._update(set(fresh))

    def remove(self, page_id: str) -> Change:
        touched = self._cut(page_id)
        del self.keys[page_id]
        del self._assignments[page_id]
        return self._update(touched)

    def _cut(self, page_id: str) -> set[str]:
        touched = {page_id, *same_neighbours(self.edges_of([page_id]), {page_id})}
        self.drop_edges([page_id])
        return touched

    def _update(self, touched: set[str]) -> Change:
        rules = ClusterRules(self.config, constraints_of(self.overrides))
        change = update_clusters(self, touched, rules, limit=self.limit)
        self.assign_many(change.assignments)
        return change

    def decide(self, overrides: Iterable[Override]) -> Change:
        """Have these overrides in place of those before."""
        after = list(overrides)
        changed = [each for each in {*self.overrides, *after} if (each in after) != (each in self.overrides)]
        named = {page for each in changed for page in each.pages}
        touched = constraints_of(self.overrides).with_units(named) | constraints_of(after).with_units(named)
        self.overrides = after
        return self._update(touched)

    def check(self) -> None:
        """What holds after every change, exact or not."""
        assert self.stored.keys() == self.keys.keys()
        titles: dict[str, str] = {}
        sizes: dict[str, int] = {}
        for name, each in self.stored.items():
            star = each.canonical
            assert self.stored[star].canonical == star, (name, star)
            assert titles.setdefault(each.cluster_id, star) == star, "one id, two clusters"
            sizes[star] = sizes.get(star, 0) + 1
            edge = self._edges.get((min(name, star), max(name, star)))
            if name != star and not constraints_of(self.overrides).units:
                assert edge is not None, "a member without an edge to its canonical document"
                assert edge.relation.same
                assert (edge.relation, edge.score) == (each.relation, each.score)
            if each.cluster_id in self.stored:
                assert self.stored[each.cluster_id].cluster_id == each.cluster_id, (
                    "an id without the page it names"
                )
        assert len(set(titles.values())) == len(titles), "one cluster, two ids"
        assert all(self.stored[star].cluster_id == star for star, size in sizes.items() if size == 1)

    def full(self) -> dict[str, str]:
        return slow_partition(self.keys.values(), self._edges.values(), self.config, self.overrides)
