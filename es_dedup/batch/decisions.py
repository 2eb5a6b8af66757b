"""Decisions on the pages of one call or batch, from edges and clusters: which pages a write policy keeps, and what a report counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from es_dedup.batch.clusters import remove_pages
from es_dedup.decision.page_decisions import stored_decision
from es_dedup.decision.term_use import TermUse
from es_dedup.index.cluster_changes import Assignment
from es_dedup.model import AddReport, Decision, Edge, Outcome, Relation, WritePolicy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.batch.featurise import Chunk
    from es_dedup.decision.candidate_search import CandidateSearch, CandidateSearchResult
    from es_dedup.decision.statistics import Statistics
    from es_dedup.index.port import Index
    from es_dedup.index.records import RecordBatch

    Decisions = dict[str, Decision]

NAMED_SKIPPED: Final = 1_000  # pages without features that a report names


@dataclass(slots=True)
class AddCounts:
    """Counts of one call; those that ``AddReport`` has too are described there.

    Attributes:
        new: pages that were stored, in order; a report counts them without those that the policy does not keep.
        replaced: pages of ``new`` of which an earlier version was stored before the call.
        failed: page id to reason.
        skipped: page id to reason, for pages stored without features.
        unread_times: pages whose time of publication cannot be read.
        decisions: those that are not unique.
        left_out: decisions on pages that the write policy does not keep.
        inconclusive: pages without a related one of which candidates may be missing, with the reason.
        use: terms that methods queried, and terms left out.
    """

    read: int = 0
    unchanged: int = 0
    superseded: int = 0
    repeated: int = 0
    new: dict[str, None] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    unread_times: int = 0
    decisions: dict[str, Decision] = field(default_factory=dict)
    left_out: dict[str, Decision] = field(default_factory=dict)
    inconclusive: dict[str, str] = field(default_factory=dict)
    pairs: int = 0
    capped_terms: int = 0
    truncated: int = 0
    use: TermUse = field(default_factory=TermUse)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add_read(self, chunk: Chunk) -> None:
        """Count what was read."""
        self.read += chunk.read
        self.unread_times += chunk.unread_times
        self.failed.update(chunk.failed)

    def add_stored(self, records: RecordBatch, replaced: Iterable[str]) -> None:
        """Count pages that were stored, some of them in place of others."""
        again = self.new.keys() & replaced
        self.superseded += len(again)
        self.replaced.update(set(replaced) - again)
        self.new.update(dict.fromkeys(records.ids))
        for name, reason in zip(records.ids, records.skipped, strict=True):
            self.skipped.pop(name, None)
            if reason:
                self.skipped[name] = reason

    def add_compared(self, compared: CandidateSearchResult) -> None:
        """Count what was compared."""
        ids = compared.pages.ids
        self.inconclusive |= {ids[row]: reason for row, reason in compared.inconclusive.items()}
        self.pairs += compared.pairs
        self.capped_terms += compared.capped_terms
        self.truncated += compared.truncated
        self.use = sum(compared.use, self.use)

    def add_decided(self, decisions: Mapping[str, Decision], left_out: Mapping[str, Decision]) -> None:
        """Take decisions on pages that are not unique, and on those that the policy does not keep."""
        self.decisions |= decisions
        self.left_out |= left_out
        for name in left_out:
            self.decisions.pop(name, None)

    def report(self, preset: str, notes: Iterable[str] = ()) -> AddReport:
        """All that was counted."""
        stored = len(self.new) - len(self.left_out)
        outcomes = Counter(str(decision.outcome) for decision in self.decisions.values())
        outcomes[str(Outcome.UNIQUE)] += stored - outcomes.total()
        of_input = {
            f"the time of publication given for {self.unread_times:,} pages cannot be read and is left out": self.unread_times,
            f"pages replaced by a later one of the same id in this call: {self.superseded:,}; give different pages ids of their own": self.superseded,
        }
        return AddReport(
            read=self.read,
            stored=stored,
            unchanged=self.unchanged,
            left_out=len(self.left_out),
            replaced=len(self.replaced - self.left_out.keys()),
            superseded=self.superseded,
            repeated=self.repeated,
            failed=self.failed,
            skipped=dict(Counter(self.skipped.values())),
            outcomes={name: count for name, count in outcomes.items() if count},
            decisions={**self.decisions, **self.left_out},
            pairs=self.pairs,
            capped_terms=self.capped_terms,
            truncated=self.truncated,
            seconds={name: round(value, 4) for name, value in self.seconds.items()},
            skipped_pages=dict(islice(self.skipped.items(), NAMED_SKIPPED)),
            notes=(*(note for note, count in of_input.items() if count), *self.use.notes(), *notes),
            preset=preset,
        )


KNOWN_FROM: Final = 100  # pages of the corpus that statistics were learned from
KNOWN_OF_CALL: Final = 20  # the same, where so many pages of one call are among them
NEARLY_EQUAL: Final = 0.9  # score of an edge


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """The pages that one call stored.

    Attributes:
        new: all of them.
        replaced: those that had been stored before with other content.
        inconclusive: those without a related page of which candidates may be missing, with the reason.
        learned: statistics were learned from them before they were decided on.
    """

    new: Collection[str]
    replaced: Collection[str]
    inconclusive: Mapping[str, str]
    learned: bool = False

    def decisions(
        self, names: Iterable[str], edges: Sequence[Edge], assigned: Mapping[str, Assignment]
    ) -> Decisions:
        """Decisions of some of the pages, from all edges that touch them; pages without assignment are absent."""
        beside = edges_beside(edges, set(names))
        return {
            name: stored_decision(
                name,
                assigned[name],
                own,
                earlier=None if name in self.replaced else self._best_earlier(name, own),
                inconclusive=self.inconclusive.get(name, ""),
            )
            for name, own in beside.items()
            if name in assigned
        }

    def without(
        self,
        left_out: Mapping[str, Collection[str]],
        edges: Iterable[Edge],
        assigned: Mapping[str, Assignment],
    ) -> Decisions:
        """Decisions on the pages of the call, of which some are left out because others stay."""
        named = edges_beside(edges, self.new)
        decisions = {}
        for name, beside in named.items():
            because = left_out.get(name, ())
            absent = left_out.keys() - {name, *because}
            own = [edge for edge in beside if not {edge.left, edge.right} & absent]
            same = [
                (edge.score, other)
                for edge in own
                if edge.relation.same
                for other in (edge.right if edge.left == name else edge.left,)
                if other in because
            ]
            best = max(same)[1] if same else None
            cluster = assigned[best].cluster_id if best and best in assigned else best or name
            alone = Assignment(name, cluster, name, Relation.EXACT, 1.0)
            cut = self.inconclusive.get(name, "")
            decisions[name] = stored_decision(name, alone, own, earlier=best, inconclusive=cut)
        return decisions

    def _best_earlier(self, page_id: str, edges: Iterable[Edge]) -> str | None:
        """Of the pages that were stored before this call the one a page matches best."""
        ranked = [
            (edge.relation is Relation.EXACT, edge.score, other)
            for edge in edges
            for other in (edge.right if edge.left == page_id else edge.left,)
            if other not in self.new and edge.relation.same
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


def apply_policy(
    policy: WritePolicy,
    stored: StoredBatch,
    edges: Sequence[Edge],
    decisions: Decisions,
    index: Index,
    lookup: CandidateSearch,
    call: Collection[str],
) -> tuple[Decisions, Decisions]:
    """Remove what the policy does not keep.

    Args:
        policy: which.
        stored: pages that were stored just now.
        edges: all that touch them, as people have decided.
        decisions: on those that are not unique.
        index: holds them.
        lookup: finds and compares stored pages.
        call: all pages that the same call has stored, before too.

    Returns:
        Decisions on the new pages that stay and are not unique, and on the pages that were removed.
    """
    # ``fail`` has refused the call before anything was stored
    if policy in (WritePolicy.MARK, WritePolicy.FAIL):
        return decisions, {}
    gone = by_policy(policy, stored.new, edges, lookup.statistics, len(stored.new) * stored.learned)
    if policy is WritePolicy.OVERWRITE:
        taken, gone = gone, {}
        for name, others in taken.items():
            for other in others:
                gone.setdefault(other, set()).add(name)
    if not gone:
        return decisions, {}
    remove_pages(index, gone, lookup)
    kept = [edge for edge in edges if edge.left not in gone and edge.right not in gone]
    again = stored.decisions(decisions.keys() - gone.keys(), kept, index.assignments(decisions))
    if policy is WritePolicy.OVERWRITE:
        again.update((name, _instead(again[name], decisions[name], gone)) for name in list(again))
    staying = {other for others in gone.values() for other in others}
    leaving = replace(stored, new=dict.fromkeys(name for name in call if name in gone))
    # clusters have changed by now
    return not_unique(again), leaving.without(gone, edges, index.assignments(staying))


def by_policy(
    policy: WritePolicy, new: Iterable[str], edges: Iterable[Edge], statistics: Statistics, of_call: int = 0
) -> dict[str, set[str]]:
    """New pages that ``skip`` leaves out, ``fail`` refuses, or ``overwrite`` puts in the place of others, each with the pages because of which.

    Statistics of a few pages cannot tell a template from content: of pages that came one by one, each would be left out because of the
    footer that it shares with the first one, and nothing would ever be learned. Until then only pages that are nearly equal count.

    Args:
        policy: ``mark`` does nothing to any page.
        new: in the order in which they came.
        edges: all that touch them.
        statistics: that the edges rest on.
        of_call: pages of the same call that were learned from before they were decided on: a template of theirs is known earlier.
    """
    if policy is WritePolicy.MARK:
        return {}
    known = statistics.pages >= (KNOWN_OF_CALL if of_call >= KNOWN_OF_CALL else KNOWN_FROM)
    sure = [edge for edge in edges if known or edge.relation is Relation.EXACT or edge.score >= NEARLY_EQUAL]
    return left_out(new, sure) if policy is WritePolicy.SKIP else taken_over(new, sure)


def left_out(new: Iterable[str], edges: Iterable[Edge]) -> dict[str, set[str]]:
    """New pages that ``skip`` does not keep, each with the pages because of which: stored ones, and kept ones before it.

    Args:
        new: in the order in which they came; a page of the same call that comes later counts for nothing.
        edges: all that touch them.
    """
    order = list(new)
    beside = edges_beside(edges, set(order))
    absent = set(order)  # not come yet, or left out
    covered: dict[str, set[str]] = {}
    for name in order:
        covers = {other for edge in beside[name] for other in _covers(edge, name)} - absent - {name}
        if covers:
            covered[name] = covers
        else:
            absent.discard(name)
    return covered


def taken_over(new: Iterable[str], edges: Iterable[Edge]) -> dict[str, set[str]]:
    """New pages that duplicate others which are stored or came before them, each with these.

    Args:
        new: in the order in which they came.
        edges: all that touch them.
    """
    place = {name: at for at, name in enumerate(new)}
    duplicates: dict[str, set[str]] = {}
    for edge in edges:
        for name, other in ((edge.left, edge.right), (edge.right, edge.left)):
            if edge.relation.same and place.get(other, -1) < place.get(name, -1):
                duplicates.setdefault(name, set()).add(other)
    return duplicates


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
