"""What a call says of the pages it stored, and which of them its write policy keeps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from es_dedup.batch.settle import edge_neighbours, page_keys, repair_around
from es_dedup.clustering import canonical_order, same_neighbours
from es_dedup.decisions import stored_decision
from es_dedup.model import Outcome, Relation, WritePolicy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.batch.settle import Settled
    from es_dedup.config import Settings
    from es_dedup.index.port import Assignment, Index
    from es_dedup.judgement.lookup import Lookup
    from es_dedup.model import Decision, Edge

    Decisions = dict[str, Decision]


@dataclass(frozen=True, slots=True)
class Stored:
    """The pages that one call stored.

    Attributes:
        new: all of them.
        replaced: those that had been stored before with other content.
        inconclusive: those whose candidate list was cut without a related page in it.
    """

    new: Collection[str]
    replaced: Collection[str]
    inconclusive: Collection[str]

    def decisions(
        self, names: Iterable[str], edges: Sequence[Edge], assigned: Mapping[str, Assignment]
    ) -> Decisions:
        """What is said of some of the pages, from all edges that touch them; pages without assignment are absent."""
        beside = edges_beside(edges, set(names))
        return {
            name: stored_decision(
                name,
                assigned[name],
                own,
                earlier=None if name in self.replaced else self._best_earlier(name, own),
                inconclusive=name in self.inconclusive,
            )
            for name, own in beside.items()
            if name in assigned
        }

    def _best_earlier(self, page_id: str, edges: Iterable[Edge]) -> str | None:
        """Of the pages that were stored before this call the one a page matches best."""
        ranked = [
            (edge.relation is Relation.EXACT, edge.score, other)
            for edge in edges
            if edge.relation.same
            for other in (edge.right if edge.left == page_id else edge.left,)
            if other not in self.new
        ]
        return max(ranked)[2] if ranked else None


def edges_beside(edges: Iterable[Edge], names: Collection[str]) -> dict[str, list[Edge]]:
    """For each name the edges that touch it, maybe none."""
    beside: dict[str, list[Edge]] = {name: [] for name in names}
    for edge in edges:
        for name in (edge.left, edge.right):
            if name in beside:
                beside[name].append(edge)
    return beside


def outcomes_of(decisions: Iterable[Decision], stored: int) -> dict[str, int]:
    """Number of stored pages by outcome; those without a decision are unique."""
    counts = Counter(str(decision.outcome) for decision in decisions)
    counts[str(Outcome.UNIQUE)] += stored - counts.total()
    return {name: count for name, count in counts.items() if count}


def apply_policy(
    policy: WritePolicy,
    stored: Stored,
    settled: Settled,
    index: Index,
    lookup: Lookup,
    settings: Settings,
) -> tuple[Decisions, Decisions]:
    """Remove what the policy does not keep.

    Args:
        policy: which.
        stored: the pages of the call.
        settled: all edges that touch them, and assignments where they are at hand.
        index: holds them.
        lookup: finds and compares stored pages.
        settings: canonical order.

    Returns:
        Decisions on the new pages that are not unique, and on those that were left out.
    """
    edges = settled.edges
    names = {name for edge in edges for name in (edge.left, edge.right) if name in stored.new}
    names.update(stored.inconclusive)
    said = not_unique(stored.decisions(names, edges, settled.assigned or index.assignments(names)))
    drop: set[str] = set()
    if policy is WritePolicy.SKIP:
        drop = left_out(said, edges, index, settings)
    elif policy is WritePolicy.OVERWRITE:
        drop = same_neighbours(edges, set(stored.new)) - set(stored.new)
    if not drop:
        return said, {}
    touched = edge_neighbours(index, drop)
    index.delete_many(drop)
    repair_around(index, touched, lookup, settings)
    kept = [edge for edge in edges if edge.left not in drop and edge.right not in drop]
    again = stored.decisions(said.keys() - drop, kept, index.assignments(said))
    if policy is WritePolicy.OVERWRITE:
        again.update((name, _instead(again[name], said[name], drop)) for name in list(again))
    return not_unique(again), {name: said[name] for name in said if name in drop}


def left_out(
    said: Mapping[str, Decision], edges: Iterable[Edge], index: Index, settings: Settings
) -> set[str]:
    """New pages that ``skip`` does not keep, each because of a page that stays.

    Pages that are contained in others come last, the longest first, so that what contains them is decided before;
    the others come in canonical order.
    """
    order = canonical_order(page_keys(index, said).values(), settings.cluster)
    order.sort(key=lambda key: key.length if said[key.page_id].contained_in else 0, reverse=True)
    order.sort(key=lambda key: bool(said[key.page_id].contained_in))
    beside = edges_beside(edges, said.keys())
    unsure = set(said)  # not decided on, or left out
    left_out: set[str] = set()
    for key in order:
        if any(_covers(edge, key.page_id) - {key.page_id} - unsure for edge in beside[key.page_id]):
            left_out.add(key.page_id)
        else:
            unsure.discard(key.page_id)
    return left_out


def _covers(edge: Edge, page_id: str) -> set[str]:
    """The edge's pages, if its other page duplicates or contains this one."""
    relation = edge.relation if edge.left == page_id else edge.relation.reversed
    return {edge.left, edge.right} if relation.same or relation is Relation.CONTAINED else set()


def _instead(now: Decision, before: Decision, removed: Collection[str]) -> Decision:
    """A page that took the place of a removed one still says which."""
    if now.duplicate_of or before.duplicate_of not in removed:
        return now
    return replace(now, outcome=Outcome.DUPLICATE, duplicate_of=before.duplicate_of)


def not_unique(decisions: Decisions) -> Decisions:
    """Without those that say nothing."""
    return {name: each for name, each in decisions.items() if each.outcome is not Outcome.UNIQUE}
