"""Decides on a batch of pages in the feature index: features, candidates, edges, clusters, and the resulting ``dedup`` fields.

Features are written before candidates are searched, and clusters are changed by one process at a time. Of two processes that
write equal pages at the same time, the later one to search therefore sees the other's page. The search, which is most of the
work, needs no lock: its result is validated again where another process has changed clusters meanwhile.
"""

from __future__ import annotations

import math
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.batch.clusters import ClusterCache, drop_replaced, place, records_of, remove_pages
from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.featurise import changed, day_of, joined, keys_of, make_chunk, take, without
from es_dedup.batch.learning import EffectiveSettings, learn, store_statistics
from es_dedup.batch.overrides import OVERRIDES, decided_edges, load_ignored
from es_dedup.batch.refresh import REFRESHING, refresh
from es_dedup.batch.write_policy import StoredBatch, left_out, taken_over
from es_dedup.decision.candidate_search import CandidateSearch
from es_dedup.decision.comparison import Pages
from es_dedup.decision.statistics import MIN_POSTINGS
from es_dedup.errors import SettingsDiffer
from es_dedup.extraction import create_extractor
from es_dedup.hook.batch_steps import (
    MEANWHILE,
    BatchDecisions,
    ComparedBatch,
    FoundBatch,
    add_evidence,
    decisions_of,
    distinct,
    not_compared,
    replaced_by,
    replaced_meanwhile,
)
from es_dedup.index.port import WriteReport
from es_dedup.index.source_index import dedup_fields_after, dedup_fields_of, dedup_fields_of_groups
from es_dedup.model import Decision, Outcome, WritePolicy
from es_dedup.settings.recorded import STATISTICS, pages_learned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.batch.featurise import Chunk, Ignored
    from es_dedup.decision.candidate_search import CandidateLists, CandidateSearchResult
    from es_dedup.index.port import Index
    from es_dedup.index.source_index import DedupField
    from es_dedup.model import Page
    from es_dedup.settings import Settings


SHARED_SECONDS: Final = 30.0  # from the decision on a document to its write, at the longest
MOST_BEGUN: Final = 16  # batches that are not concluded, far more than are under way at once
NOTES: Final = (STATISTICS, OVERRIDES)
"""Read with the candidates."""
GROWTH: Final = 2
"""Statistics are learned again once there are so many times the pages that they were learned from: all that is learned stays linear in the pages."""
LAST_SHARE: Final = 20
"""And when a hook is closed that has decided on one page in so many."""
REFRESHED_PAGES: Final = 50_000
"""Beyond which a hook leaves that to maintenance: reading their features takes about ten seconds."""
COUNTED_PAGES: Final = 500
"""Decided on before all are counted again, or a tenth of the pages where these are more: each count makes the server refresh."""


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a batch is decided by.

    Attributes:
        compared: its pages with their candidates.
        replaced: candidates that others have replaced since; None: nobody can have changed the store since.
        clusters: those around the pages.
        lookup: searches candidates with the settings in force.
        policy: what is done with duplicates.
        standing: pages because of which others may be left out or refused.
    """

    compared: CandidateSearchResult
    replaced: Collection[str] | None
    clusters: ClusterCache
    lookup: CandidateSearch
    policy: WritePolicy
    standing: Collection[str]


class BatchDecider:
    """Stores batches of pages in one index and decides on them.

    Threads may ``find`` and ``compare`` at once; ``conclude`` is for one at a time.

    Args:
        index: the index.
        settings: all settings.
        ignored_seconds: after which the passages that people ignore are read again, unless a batch has read them with its candidates.
    """

    def __init__(self, index: Index, settings: Settings, ignored_seconds: float = 1.0) -> None:
        self._index, self._settings, self._ignored_seconds = index, settings, ignored_seconds
        self._extractor = create_extractor(settings.extraction)
        self._in_force: EffectiveSettings | None = None
        self._ignored: Ignored = {}
        self._looked = -math.inf
        self._mostly_new = True  # the pages of the last batch
        self.session = 0  # rises whenever others have held a session
        self._shared = time.monotonic()  # when it last rose
        self._turns = 0  # beginnings and ends of sessions of ours
        self._numbers = count()  # of batches that are begun; threads may take them at once
        self._begun: dict[int, frozenset[str]] = {}  # pages of those that are not concluded
        self._arrived = 0  # pages decided on, new or changed
        self._counted_at = 0  # of these, when all pages are counted again

    def featurise(self, pages: Sequence[Page], *, named: bool = True) -> Chunk:
        """Features of pages; one that breaks an extractor is named in ``failed``, and the others go on.

        Args:
            pages: distinct ones.
            named: make the fields for people, too, where the index keeps them.
        """
        shown, ignored = named and self._index.keeps_named, self._ignored_now()
        try:
            return make_chunk(
                list(pages), self._settings, self._extractor, None, named=shown, ignored=ignored
            )
        except Exception as error:  # noqa: BLE001 - one page must not stop the others
            if len(pages) == 1:
                empty = make_chunk([], self._settings, self._extractor, None)
                reason = f"it cannot be processed: {type(error).__name__}: {error}"
                return replace(empty, failed={pages[0].id: reason}, read=1)
        half = len(pages) // 2
        parts = [self.featurise(some, named=named) for some in (pages[:half], pages[half:])]
        failed = {name: why for part in parts for name, why in part.failed.items()}
        return replace(joined(parts), failed=failed)

    def _ignored_now(self) -> Ignored:
        """Passages that never count, as the last batch has read them, or a moment ago."""
        if time.monotonic() - self._looked >= self._ignored_seconds:
            self._ignored, self._looked = load_ignored(self._index), time.monotonic()
        return self._ignored

    def known(self, chunk: Chunk) -> tuple[Collection[str], Collection[str]]:
        """Pages of a batch that are stored, and of these those that are stored with other features.

        Raises:
            IndexError_: the store failed.
        """
        stored = self._index.get_many(chunk.records.ids)
        return stored.keys(), stored.keys() & changed(chunk, stored)[0].records.ids

    def stored(self, page_ids: Collection[str]) -> Collection[str]:
        """Those of some pages that have features."""
        return self._index.get_many(page_ids).keys()

    def changed(self, pages: Sequence[Page]) -> Collection[str]:
        """Ids of those of some pages that are stored with other features; errors as of ``known``."""
        return self.known(self.featurise(pages, named=False))[1] if pages else ()

    @staticmethod
    def some(chunk: Chunk, page_ids: Collection[str]) -> Chunk:
        """Of a batch the features of some pages."""
        rows = [row for row, name in enumerate(chunk.records.ids) if name in page_ids]
        failed = {name: reason for name, reason in chunk.failed.items() if name in page_ids}
        return replace(take(chunk, rows), failed=failed)

    def decide(self, chunk: Chunk, *, again: bool = False) -> BatchDecisions:
        """Store the pages of a batch, and say what they are.

        Args:
            chunk: distinct pages.
            again: ask the store also for pages that are stored with the same content.

        Raises:
            IndexError_: the store failed; features may be kept, and to repeat the call is safe.
        """
        return self.conclude(self.compare(self.find(chunk, again=again)))

    def find(
        self, chunk: Chunk, *, again: bool = False, settled: Callable[[], object] = lambda: None
    ) -> FoundBatch:
        """The first part of ``decide``: store features and search candidates; neither asks for clusters.

        Args:
            chunk, again: as ``decide``.
            settled: waits until the batch before is decided on; called before anything that is stored is replaced.
        """
        index, ids, turns = self._index, list(chunk.records.ids), None
        number, session = next(self._numbers), self.session
        self._begun[number] = frozenset(ids)
        self._begun.pop(number - MOST_BEGUN, None)  # it was given up
        if not ids:
            return FoundBatch(chunk, number, session, chunk.failed)
        # Most pages are new as a rule: they are stored before it is asked which are not.
        new, there = index.put_new(chunk.records) if self._mostly_new else (WriteReport(0), set(ids))
        failed = {**chunk.failed, **new.failed}
        if there:
            settled()
            turns = self._turns
        stored, assigned, _ = index.pages_and_assignments(there) if there else ({}, {}, {})
        self._mostly_new = 2 * len(stored) <= len(ids)
        known = self.some(chunk, there)
        fresh = set(changed(known, stored)[0].records.ids)
        outdated = {name: replace(assigned[name], score=0.0) for name in fresh & assigned.keys()}
        if outdated:  # before their features: if we are killed, who meets them decides on them
            with self._writing():
                now = index.assignments(outdated)
                outdated = {name: replace(each, score=0.0) for name, each in now.items()}
                index.assign_many(outdated.values())
            assigned |= outdated
            turns = None if turns is None else turns + 2  # of our own session
        decided = {name for name, each in assigned.items() if not (again or each.outdated)} - fresh
        todo = without(known, decided)
        if todo.records.ids:
            failed |= index.put_batch(todo.records).failed
        same = decided.intersection(known.records.ids)
        todo = without(chunk, {*same, *failed})
        in_force = self._in_force or self._settings_in_force()
        if not in_force.statistics.pages and len(set(chunk.table.hashes.tolist())) >= MIN_POSTINGS:
            in_force = self._learned(chunk, in_force)
        lookup = CandidateSearch(index, in_force.settings, in_force.statistics, day_of)
        order = [name for name in ids if name not in failed]
        return FoundBatch(
            todo,
            number,
            session,
            failed,
            self._find(todo, lookup),
            lookup,
            in_force.note,
            stored,
            assigned,
            same=[name for name in order if name in same],
            order=order,
            turns=turns,
        )

    def compare(self, found: FoundBatch) -> ComparedBatch:
        """The second part: read the candidates with their clusters, and compare; clusters stay as they are.

        Another thread may meanwhile do what follows on the batch before, or find candidates of the next one.
        """
        turns, lookup = self._turns if found.turns is None else found.turns, found.lookup
        if found.lists is None or lookup is None:
            return ComparedBatch(found, None, None, turns)
        compared = self._compare(found.todo, found.lists, lookup)
        if OVERRIDES in compared.notes:
            self._ignored = load_ignored(ClusterCache(self._index, compared.notes))
            self._looked = time.monotonic()
        note = compared.notes.get(STATISTICS, found.note)
        if note != found.note:  # learned anew since candidates were searched
            latest = self.lookup(note)
            compared, lookup = self._again(found, lookup, latest), latest
        return ComparedBatch(found, compared, lookup, turns)

    def standing_for(self, batch: ComparedBatch, policy: WritePolicy) -> Mapping[str, Collection[str]]:
        """Pages that policy ``skip`` would leave out, or ``fail`` refuse, each with the stored ones because of which, if these are all there."""
        compared, new = batch.compared, batch.found.todo.records.ids
        if compared is None or policy not in (WritePolicy.SKIP, WritePolicy.FAIL):
            return {}
        edges = decided_edges(ClusterCache(self._index, compared.notes), distinct(compared.edges()), new)
        covered = (left_out if policy is WritePolicy.SKIP else taken_over)(new, edges)
        return {name: others.difference(new) for name, others in covered.items()}

    def conclude(
        self,
        batch: ComparedBatch,
        policy: WritePolicy = WritePolicy.MARK,
        there: Collection[str] = frozenset(),
    ) -> BatchDecisions:
        """The third part: edges, clusters and decisions, while no other process changes clusters.

        Args:
            batch: what ``compare`` gave.
            policy: ``skip``, ``overwrite`` and ``fail`` fill ``left_out`` and ``replaces``; nothing is removed here.
            there: of the pages of ``standing_for`` those whose documents exist; because of no other stored page one is left out or refused.
        """
        index, found, todo = self._index, batch.found, batch.found.todo
        compared, lookup = batch.compared, batch.lookup
        self._begun.pop(found.number, None)
        if compared is None or lookup is None:
            return BatchDecisions(failed=found.failed, session=self.session)
        with self._writing() as since_last:
            alone = since_last and found.session == self.session
            # Unless others have held a session, the statistics and settings in force are those we know.
            latest = self.lookup(self._in_force.note) if alone and self._in_force else self.lookup()
            if latest.settings != lookup.settings or latest.statistics is not lookup.statistics:
                compared, lookup = self._again(found, lookup, latest), latest
            unchanged = alone and batch.turns == self._turns - 1
            other = None if unchanged else replaced_meanwhile(compared, index)
            if other and (lost := self._lost(todo, other)).records.ids:
                index.put_batch(lost.records)
                compared = self._anew(todo, lookup, found.number)
                other = replaced_meanwhile(compared, index)
            cache = ClusterCache(index, compared.notes if unchanged else {})
            if unchanged:
                assigned = {**compared.assigned, **found.assigned}
                cache.learn(compared.stored, assigned, {*todo.records.ids, *compared.stored})
            basis = _Basis(compared, other, cache, lookup, policy, {*todo.records.ids, *there})
            decided = self._decide(replace(found, todo=without(todo, other or ())), basis)
            cache.store()
        self._arrived += len(todo.records.ids)
        return replace(decided, failed=found.failed)

    def outgrown(self, *, last: bool = False) -> bool:
        """Whether statistics are to be learned again for the pages that came since, or a process was stopped while it did so.

        Args:
            last: no more batches follow.
        """
        known = self._in_force
        if known is None or not self._arrived or not (last or self._arrived >= self._counted_at):
            return False
        stored, learned = self._index.count(), pages_learned(self._index.note(STATISTICS))
        self._counted_at = self._arrived + max(COUNTED_PAGES, stored // 10)
        if stored > REFRESHED_PAGES:
            return False
        grown = stored >= max(GROWTH * learned, COUNTED_PAGES)
        ended = last and stored != learned and LAST_SHARE * self._arrived >= stored
        return grown or ended or self._index.note(REFRESHING) is not None

    def refresh(self) -> Iterator[set[str]]:
        """Learn statistics again; gives pages whose documents have to be written now, see ``refresh``."""
        yield from refresh(self._index, self._settings, self._writing)
        self._settings_in_force()

    def _lost(self, todo: Chunk, other: Collection[str]) -> Chunk:
        """Pages that another process has removed, as it found no documents of them: these are yet to be written."""
        own = set(todo.records.ids).intersection(other)
        return self.some(todo, own - self._index.get_many(own).keys() if own else own)

    @contextmanager
    def _writing(self) -> Iterator[bool]:
        """A write session that sees what others have written; whether nobody else has held one since our last."""
        with self._index.writing() as alone:
            self._turns += 1
            if not alone:
                self._index.refresh_clusters()
                self.session += 1
                self._shared = time.monotonic()
            try:
                yield alone
            finally:
                self._turns += 1

    def _decide(self, found: FoundBatch, basis: _Basis) -> BatchDecisions:
        """Change edges and clusters as the comparison says, and say what the pages are."""
        todo, same, stored = found.todo, found.same, found.stored
        new = list(todo.records.ids)
        compared, index, lookup, policy = basis.compared, basis.clusters, basis.lookup, basis.policy
        other = basis.replaced or ()
        replaced = {name for name in new if name in stored}
        replaced_edges = drop_replaced(index, replaced)
        before = replaced_edges.edges
        searched = [edge for edge in distinct(compared.edges()) if not {edge.left, edge.right} & set(other)]
        pairs, edges = compared.pairs, searched
        if before and basis.replaced is not None:  # another may have stored some of them since
            again = lookup.among(compared.pages, not_compared(compared, other, before, replaced))
            pairs, edges = pairs + again.pairs, distinct([*searched, *again.edges()])
        alone = place(index, todo.records, replaced_edges.neighbours, edges, lookup) if new else []
        cut = {compared.pages.ids[row]: why for row, why in compared.inconclusive.items()}
        stored_now = StoredBatch(new, replaced, cut)
        of_same = decided_edges(index, index.edges_of(same), same) if same else []
        decisions = decisions_of(index, stored_now, decided_edges(index, edges, new), (same, of_same))
        # Of two pages at once only the one whose search has found the other gives way to it, so that one of them stays.
        counted = decided_edges(index, searched, new)
        standing = [edge for edge in counted if edge.left in basis.standing and edge.right in basis.standing]
        gone = left_out(new, standing) if policy is WritePolicy.SKIP else {}
        decisions.update(stored_now.without(gone, standing, index.assignments(new)) if gone else {})
        add_evidence(decisions, compared)
        for name in set(compared.pages.ids).intersection(other):
            decisions[name] = Decision(name, Outcome.INCONCLUSIVE, name, notes=(MEANWHILE,))
        containing = [edge for edge in (*edges, *before) if not edge.relation.same]
        containing_pages = {name for edge in containing for name in (edge.left, edge.right)}
        dedup_fields = dedup_fields_of_groups([[each] for each in alone], edges)
        if changed := {*new, *same, *containing_pages, *index.reassigned} - dedup_fields.keys():
            dedup_fields.update(dedup_fields_after(index, changed, index.left))
        return BatchDecisions(
            decisions=decisions,
            dedup_fields=dedup_fields,
            left_out=gone,
            replaces=replaced_by(policy, found, (counted, standing), of_same),
            unanswered=[
                *(compared.pages.ids[row] for row in compared.unanswered),
                *other,
                *(name for name in same if MEANWHILE in decisions[name].notes),
            ],
            unchanged=same,
            session=self.session,
            pairs=pairs,
            truncated=compared.truncated,
        )

    def remove(
        self, page_ids: Collection[str], there: Callable[[Collection[str]], Collection[str]]
    ) -> tuple[set[str], Mapping[str, DedupField]]:
        """Remove pages whose documents have gone, and repair the clusters they were in.

        Args:
            page_ids: pages whose documents were not there a moment ago.
            there: gives those whose documents are there again; asked while no other process changes clusters, as one that writes such a
                document now finds out afterwards that its page is missing.

        Returns:
            Those that were removed, and the ``dedup`` fields of the pages that stay.

        Raises:
            IndexError_: the store failed; to repeat the call is safe.
        """
        with self._writing():
            gone = set(page_ids).difference(there(page_ids))
            removal = remove_pages(self._index, gone, self.lookup())
            if not removal.stored and not removal.changed:
                return set(), {}
            return gone, dedup_fields_of(self._index, removal.changed)

    def dedup_fields(self, page_ids: Iterable[str], *, related: bool = False) -> Mapping[str, DedupField]:
        """``dedup`` fields of pages and of all others in their clusters, while no other process changes them; with ``related`` also of pages that have an edge to one."""
        with self._writing():
            names = set(page_ids)
            edges = self._index.edges_of(names) if related else ()
            names.update(name for edge in edges for name in (edge.left, edge.right))
            return dedup_fields_of(self._index, names)

    @property
    def begun(self) -> frozenset[str]:
        """Pages whose features are stored, or about to be, while their batches are not concluded: their documents are yet to be written."""
        return frozenset().union(*tuple(self._begun.values()))

    @property
    def shared(self) -> bool:
        """Whether another process has lately held a session, and may have decided on documents that it has not written yet."""
        return time.monotonic() - self._shared < SHARED_SECONDS

    def moved(self, session: int) -> bool:
        """Whether another process may have changed clusters since this session."""
        return session != self.session or not self._index.only_writer()

    def lookup(self, *version: str | None) -> CandidateSearch:
        """Finds and compares stored pages with the statistics and settings in force; ``version``: the note of them, where it is known."""
        found = self._settings_in_force(*version)
        return CandidateSearch(self._index, found.settings, found.statistics, day_of)

    @property
    def preset(self) -> str:
        """The preset in force, and what is set in place of its values, as they were last read."""
        return (self._in_force.settings if self._in_force else self._settings).decision.summary

    def _settings_in_force(self, *version: str | None) -> EffectiveSettings:
        (latest,) = version or (self._index.note(STATISTICS),)
        before = self._in_force
        self._in_force = found = EffectiveSettings.read(self._index, self._settings, latest, before)
        if found.differences and (before is None or found.differences != before.differences):
            warnings.warn(SettingsDiffer("the index", (), found.differences), stacklevel=3)
        return found

    def _learned(self, chunk: Chunk, known: EffectiveSettings) -> EffectiveSettings:
        """Statistics of the first batch of an index that has none, stored: what its pages share is a template before ``recluster`` has run."""
        statistics = learn(corpus_of(keys_of(chunk.records), chunk.table), known.settings.ccdet)
        with self._writing():
            if self._index.note(STATISTICS) == known.note:  # no other process has learned meanwhile
                store_statistics(self._index, statistics, statistics.to_bytes(), known.settings)
        return self._settings_in_force()

    @staticmethod
    def _find(todo: Chunk, lookup: CandidateSearch) -> CandidateLists:
        days = np.array([day_of(when) for when in todo.records.published], dtype=np.int64)
        return lookup.find(Pages(list(todo.records.ids), todo.table, days, todo.records.named))

    @staticmethod
    def _compare(todo: Chunk, lists: CandidateLists, lookup: CandidateSearch) -> CandidateSearchResult:
        at_hand = records_of(todo.records)
        return lookup.compared(lists, assigned=bool(todo.records.ids), at_hand=at_hand, notes=NOTES)

    def _again(
        self, found: FoundBatch, before: CandidateSearch, latest: CandidateSearch
    ) -> CandidateSearchResult:
        """Compare as is now in force; the candidates stay unless settings have changed: of two pages at once one alone has found the other."""
        if found.lists is None or latest.settings != before.settings:
            return self._anew(found.todo, latest, found.number)
        return self._compare(found.todo, found.lists, latest)

    def _anew(self, todo: Chunk, lookup: CandidateSearch, number: int) -> CandidateSearchResult:
        """Search and compare once more; pages of batches that were begun later find those of this one, not the other way round."""
        lists = self._find(todo, lookup)
        later = frozenset().union(*(names for at, names in tuple(self._begun.items()) if at > number))
        names = [[name for name in some if name not in later] for some in lists.names]
        return self._compare(todo, replace(lists, names=names), lookup)
