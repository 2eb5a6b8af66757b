"""Values and pure steps of deciding on a batch of pages; ``decide_and_write`` puts them together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from es_dedup.batch.write_policy import StoredBatch, taken_over
from es_dedup.decision.page_decisions import stored_decision
from es_dedup.detectors.features import pack
from es_dedup.index.records import FeatureRecord, version_of
from es_dedup.model import Decision, Outcome, WritePolicy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.batch.featurise import Chunk
    from es_dedup.decision.candidate_search import CandidateLists, CandidateSearch, CandidateSearchResult
    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import ClusterUpdates, Index
    from es_dedup.index.source_index import DedupField
    from es_dedup.model import Edge

MEANWHILE: Final = "another process has stored another version: check again later"
EVIDENCE: Final = 3  # decided pairs that a decision of the hook holds, strongest first


@dataclass(frozen=True, slots=True)
class BatchDecisions:
    """What became of a batch.

    Attributes:
        decisions: of every page of the batch that was decided on, by page id.
        dedup_fields: of the batch's pages and of all others in the clusters they touch.
        left_out: pages that policy ``skip`` does not keep, each with the pages because of which.
        replaces: page id to the pages that it duplicates, stored or before it in the batch; for policies ``overwrite``
            and ``fail``.
        failed: page id to reason, for pages that cannot be processed.
        unanswered: pages of which a part of the store did not answer; of other inconclusive ones candidates were cut.
        unchanged: pages that are decided on and as they were.
        session: see ``BatchDecider.moved``.
        pairs, truncated: pairs compared, and pages whose list of candidates was cut.
    """

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    dedup_fields: Mapping[str, DedupField] = field(default_factory=dict)
    left_out: Mapping[str, Collection[str]] = field(default_factory=dict)
    replaces: Mapping[str, Collection[str]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    unanswered: Sequence[str] = ()
    unchanged: Sequence[str] = ()
    session: int = 0
    pairs: int = 0
    truncated: int = 0


@dataclass(frozen=True, slots=True)
class FoundBatch:
    """A batch whose features are stored, with lists of candidates.

    Attributes:
        todo: pages that are new, changed, or not decided on.
        lists: their candidates; None of a batch without pages.
        lookup: has found them, and compares.
        note: of the statistics that it has.
        stored, assigned: what was known of the pages before.
        failed: page id to reason, for pages that cannot be processed.
        same: pages that are decided on and as they were.
        order: all pages of the batch that are stored now, in order.
        turns: see ``ComparedBatch``, where ``stored`` and ``assigned`` were asked for; None: nothing was.
        number: of the batch; higher than of those that were begun before.
        session: of ours before features were stored, see ``BatchDecider.moved``; others may since have removed them, whose documents are not
            written yet.
    """

    todo: Chunk
    number: int
    session: int
    failed: Mapping[str, str]
    lists: CandidateLists | None = None
    lookup: CandidateSearch | None = None
    note: str | None = None
    stored: Mapping[str, FeatureRecord] = field(default_factory=dict)
    assigned: Mapping[str, Assignment] = field(default_factory=dict)
    same: Sequence[str] = ()
    order: Sequence[str] = ()
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class ComparedBatch:
    """A batch that is compared with its candidates.

    Attributes:
        found: what was found of it.
        compared: its pages with their candidates; None of a batch without pages.
        lookup: has compared them; by later statistics than ``found.lookup`` where some were learned since.
        turns: how often sessions of ours had begun or ended; odd while one went on.
    """

    found: FoundBatch
    compared: CandidateSearchResult | None
    lookup: CandidateSearch | None
    turns: int


def decisions_of(
    index: ClusterUpdates,
    stored: StoredBatch,
    edges: Sequence[Edge],
    unchanged: tuple[Sequence[str], Sequence[Edge]],
) -> dict[str, Decision]:
    """Decisions on the pages of a batch, new and unchanged; a page that was removed meanwhile is inconclusive."""
    same, old = unchanged
    assigned = index.assignments([*stored.new, *same])
    decisions = stored.decisions(stored.new, edges, assigned)
    for name in same:
        if name not in assigned:  # taken out between the first look and the session
            decisions[name] = Decision(name, Outcome.INCONCLUSIVE, name, notes=(MEANWHILE,))
            continue
        own = [edge for edge in old if name in (edge.left, edge.right)]
        decisions[name] = stored_decision(name, assigned[name], own)
    return decisions


def distinct(edges: Iterable[Edge]) -> list[Edge]:
    """The last edge of each pair of pages."""
    return list({(edge.left, edge.right): edge for edge in edges}.values())


def replaced_meanwhile(candidates: CandidateSearchResult, index: Index) -> set[str]:
    """Pages of which the store now holds something else than what was compared, or nothing."""
    compared = {name: payload for name, (payload, _) in candidates.payloads.items()}
    compared.update(zip(candidates.pages.ids, pack(candidates.pages.table), strict=True))
    now = index.get_many(compared)
    return {
        name
        for name, payload in compared.items()
        if name not in now or now[name].payload_version != version_of(payload)
    }


def not_compared(
    candidates: CandidateSearchResult,
    other: Collection[str],
    edges: Iterable[Edge],
    replaced: Collection[str],
) -> list[set[str]]:
    """For each compared page those that stored edges relate it to, and that it was not compared with as they are now.

    Args:
        candidates: pairs that were compared.
        other: pages replaced since then.
        edges: stored ones.
        replaced: pages whose edges are made anew.
    """
    ids, comparison = candidates.pages.ids, candidates.comparison
    rows = zip(comparison.left_rows.tolist(), comparison.right_rows.tolist(), strict=True)
    known = {(ids[left], comparison.right.ids[right]) for left, right in rows}
    missing: dict[str, set[str]] = {name: set() for name in ids}
    for edge in edges:
        for name, beside in ((edge.left, edge.right), (edge.right, edge.left)):
            if name in replaced and (beside in other or not {(name, beside), (beside, name)} & known):
                missing[name].add(beside)
    return [missing[name] for name in ids]


def add_evidence(decisions: dict[str, Decision], compared: CandidateSearchResult) -> None:
    """Give decisions their strongest accepted pairs, at most ``EVIDENCE``."""
    related = set(compared.comparison.left_rows[compared.comparison.decisions.rule == 0].tolist())
    for row in related:
        name = compared.pages.ids[row]
        if name in decisions:
            strongest = tuple(compared.related(row, verdicts=False)[:EVIDENCE])
            decisions[name] = replace(decisions[name], verdicts=strongest)


def replaced_by(
    policy: WritePolicy,
    found: FoundBatch,
    edges: tuple[Sequence[Edge], Sequence[Edge]],
    of_same: Sequence[Edge],
) -> Mapping[str, Collection[str]]:
    """Stored pages that each page of the batch replaces, by write policy; ``edges``: all, and those of pages whose documents are there."""
    every, standing = edges
    if policy is WritePolicy.OVERWRITE:
        return taken_over(found.order, [*every, *of_same])
    return taken_over(found.todo.records.ids, standing) if policy is WritePolicy.FAIL else {}
