"""Decides on a batch of pages in an index: features, candidates, edges, clusters, and the resulting ``dedup`` fields.

Features are written before candidates are searched, and clusters are changed by one process at a time. Of two processes that
write equal pages at the same time, the later one to search therefore sees the other's page. The search, which is most of the
work, needs no lock: its result is validated again where another process has changed clusters meanwhile.
"""

from __future__ import annotations

import math
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Final

from es_dedup.batch.clusters import ClusterCache, Placed, distinct, remove_pages
from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.decisions import StoredBatch, by_policy, edges_beside
from es_dedup.batch.featurise import FeatureMaker, changed, check_extractor, keys_of, only, without
from es_dedup.batch.learning import EffectiveSettings, learn, store_statistics
from es_dedup.batch.overrides import OVERRIDES, decided_edges, load_ignored
from es_dedup.batch.refresh import COUNTED_PAGES, is_outgrown, refresh
from es_dedup.decision.candidate_search import CandidateLists, CandidateSearch, CandidateSearchResult
from es_dedup.decision.page_decisions import stored_decision
from es_dedup.decision.statistics import MIN_POSTINGS
from es_dedup.detectors.features import pack
from es_dedup.errors import SettingsDiffer
from es_dedup.index.records import FeatureRecord, version_of
from es_dedup.index.source_index import DedupField, dedup_fields_after, dedup_fields_of
from es_dedup.model import Decision, Edge, Outcome, Page, WritePolicy
from es_dedup.settings.recorded import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.batch.featurise import Chunk, Ignored
    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings


MEANWHILE: Final = "another process has stored another version: check again later"
EVIDENCE: Final = 3  # decided pairs that a decision holds, strongest first
SHARED_SECONDS: Final = 30.0  # from the decision on a document to its write, at the longest
MOST_BEGUN: Final = 16  # batches that are not concluded, far more than are under way at once
NOTES: Final = (STATISTICS, OVERRIDES)
"""Read with the candidates."""


@dataclass(frozen=True, slots=True)
class Found:
    """A batch whose features are stored, with lists of candidates.

    Attributes:
        todo: pages that are new, changed, or not decided on.
        lists: their candidates.
        lookup: has found them, and compares.
        note: of the statistics that it has.
        number: of the batch; higher than of those that were begun before.
        session: of ours before features were stored, see ``BatchDecider.moved``; others may since have removed them, whose documents are not
            written yet.
        state: of the clusters, see ``BatchDecider``, where ``stored`` and ``assigned`` were asked for; None: nothing was.
        stored, assigned: what was known of the pages before.
        failed: page id to reason, for pages that cannot be processed.
        same: pages that are decided on and as they were.
        order: all pages of the batch that are stored now, in order.
    """

    todo: Chunk
    lists: CandidateLists
    lookup: CandidateSearch
    note: str | None
    number: int
    session: int
    state: int | None
    stored: Mapping[str, FeatureRecord]
    assigned: Mapping[str, Assignment]
    failed: Mapping[str, str]
    same: Sequence[str]
    order: Sequence[str]


@dataclass(frozen=True, slots=True)
class Compared:
    """A batch that is compared with its candidates.

    Attributes:
        found: what was found of it.
        pairs: its pages with their candidates; compared by later statistics than ``found.lookup`` has where some were learned since.
        state: of the clusters when they were read, see ``BatchDecider``.
    """

    found: Found
    pairs: CandidateSearchResult
    state: int


@dataclass(frozen=True, slots=True)
class Concluded:
    """A batch that is decided on.

    Attributes:
        decisions: of every page of the batch that was decided on, by page id.
        dedup_fields: of the batch's pages and of all others in the clusters they touch.
        left_out: pages that policy ``skip`` does not keep, each with the pages because of which.
        replaces: page id to the pages that it duplicates, stored or before it in the batch; for policies ``overwrite``
            and ``fail``.
        failed: page id to reason, for pages that cannot be processed.
        unsure: pages that another process has replaced meanwhile, and unchanged ones that it has taken out of their clusters; of other
            inconclusive ones candidates were cut.
        unchanged: pages that are decided on and as they were.
        session: see ``BatchDecider.moved``.
        pairs, truncated: pairs compared, and pages whose list of candidates was cut.
    """

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    dedup_fields: Mapping[str, DedupField] = field(default_factory=dict)
    left_out: Mapping[str, Collection[str]] = field(default_factory=dict)
    replaces: Mapping[str, Collection[str]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    unsure: Sequence[str] = ()
    unchanged: Sequence[str] = ()
    session: int = 0
    pairs: int = 0
    truncated: int = 0


class BatchDecider:
    """Stores batches of pages in one index and decides on them.

    Threads may ``find`` and ``compare`` at once; ``conclude`` is for one at a time. The state of the clusters, as far as sessions of this object
    change them, is a counter that is incremented at the beginning and at the end of each.

    Args:
        index: the index.
        settings: all settings.
        ignored_seconds: after which the passages that people ignore are read again, unless a batch has read them with its candidates.

    Attributes:
        session: a number that rises each time another process, or another index object, had a session of its own in between.
    """

    def __init__(self, index: Index, settings: Settings, ignored_seconds: float = 1.0) -> None:
        self._index, self._settings, self._ignored_seconds = index, settings, ignored_seconds
        check_extractor(settings.extraction)
        self._in_force: EffectiveSettings | None = None
        self._ignored: Ignored = {}
        self._looked = -math.inf
        self._mostly_new = True  # the pages of the last batch
        self.session = 0
        self._shared = time.monotonic()  # when it last rose
        self._state = 0
        self._numbers = count()  # of batches that are begun; threads may take them at once
        self._begun: dict[int, frozenset[str]] = {}  # pages of those that are not concluded
        self._arrived = 0  # pages decided on, new or changed
        self._counted_at = 0  # of these, when all pages are counted again

    # Features, stored pages, and batches under way

    def featurise(self, pages: Sequence[Page], *, named: bool = True) -> Chunk:
        """Features of pages.

        Args:
            pages: distinct ones.
            named: make the fields for people, too, where the index keeps them.
        """
        if time.monotonic() - self._looked >= self._ignored_seconds:
            self._ignored, self._looked = load_ignored(self._index), time.monotonic()
        shown = named and self._index.keeps_named
        return FeatureMaker(self._settings, None, shown, self._ignored).chunk(list(pages))

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

    def give_up(self, page_ids: Collection[str]) -> None:
        """Expect no documents of these pages any more: their batch will not be concluded."""
        self._begun.update({number: pages.difference(page_ids) for number, pages in self._begun.items()})

    @property
    def shared(self) -> bool:
        """Whether another process had a session in the last ``SHARED_SECONDS``: it may have decided on documents that it has not written yet."""
        return time.monotonic() - self._shared < SHARED_SECONDS

    def moved(self, session: int) -> bool:
        """Whether another process may have changed clusters since this session."""
        return session != self.session or not self._index.only_writer()

    # A batch

    def decide(self, chunk: Chunk, *, again: bool = False) -> Concluded:
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
    ) -> Found:
        """The first part of ``decide``: store features and search candidates; neither asks for clusters.

        Args:
            chunk, again: as ``decide``.
            settled: waits until the batch before is decided on; called before anything that is stored is replaced.
        """
        index, ids, state = self._index, list(chunk.records.ids), None
        number, session = next(self._numbers), self.session
        self._begun[number] = frozenset(ids)
        self._begun.pop(number - MOST_BEGUN, None)  # it was given up
        # Most pages are new as a rule: they are stored before it is asked which are not.
        new, there = index.put_new(chunk.records) if self._mostly_new else ({}, set(ids))
        failed = {**chunk.failed, **new}
        if there:
            settled()
            state = self._state
        stored, assigned, _ = index.pages_and_assignments(there) if there else ({}, {}, {})
        self._mostly_new = 2 * len(stored) <= len(ids)
        known = only(chunk, there)
        fresh = set(changed(known, stored)[0].records.ids)
        # before their features: if we are killed, who meets them decides on them
        if outdated := fresh & assigned.keys():
            with self._writing() as (_, before):
                now = index.assignments(outdated)
                marked = {name: each._replace(score=0.0) for name, each in now.items()}
                index.assign_many(marked.values())
            assigned |= marked
            state = before + 2 if state == before else -1  # the state after our session; -1 equals none
        same = {name for name, each in assigned.items() if not (again or each.outdated)} - fresh
        todo = without(known, same)
        if todo.records.ids:
            failed |= index.put_batch(todo.records)
        todo = without(chunk, {*same, *failed})
        in_force = self._in_force or self._settings_in_force()
        if not in_force.statistics.pages and len(set(chunk.table.hashes.tolist())) >= MIN_POSTINGS:
            in_force = self._learned(chunk, in_force)
        lookup = CandidateSearch(index, in_force.settings, in_force.statistics)
        order = [name for name in ids if name not in failed]
        return Found(
            todo,
            lookup.find(todo.pages),
            lookup,
            in_force.note,
            number,
            session,
            state,
            stored,
            assigned,
            failed,
            same=[name for name in order if name in same],
            order=order,
        )

    def compare(self, found: Found) -> Compared:
        """The second part: read the candidates with their clusters, and compare; clusters stay as they are.

        Another thread may meanwhile do what follows on the batch before, or find candidates of the next one.
        """
        state = self._state if found.state is None else found.state
        pairs = _compared(found.todo, found.lists, found.lookup)
        if OVERRIDES in pairs.notes:
            self._ignored = load_ignored(ClusterCache(self._index, pairs.notes))
            self._looked = time.monotonic()
        note = pairs.notes.get(STATISTICS, found.note)
        if note != found.note:  # learned anew since candidates were searched
            pairs = self._again(found, self.lookup(note))
        return Compared(found, pairs, state)

    def standing_for(self, batch: Compared, policy: WritePolicy) -> Mapping[str, Collection[str]]:
        """Pages that policy ``skip`` would leave out, or ``fail`` refuse, each with the stored ones because of which, if these are all there."""
        if policy not in (WritePolicy.SKIP, WritePolicy.FAIL):
            return {}
        new, cache = batch.found.todo.records.ids, ClusterCache(self._index, batch.pairs.notes)
        edges = decided_edges(cache, distinct(batch.pairs.edges()), new)
        covered = by_policy(policy, new, edges, batch.pairs.comparison.statistics)
        return {name: others.difference(new) for name, others in covered.items()}

    def conclude(
        self, batch: Compared, policy: WritePolicy = WritePolicy.MARK, there: Collection[str] = frozenset()
    ) -> Concluded:
        """The third part: edges, clusters and decisions, while no other process changes clusters.

        Args:
            batch: what ``compare`` gave.
            policy: ``skip``, ``overwrite`` and ``fail`` fill ``left_out`` and ``replaces``; nothing is removed here.
            there: of the pages of ``standing_for`` those whose documents exist; because of no other stored page one is left out or refused.
        """
        index, found, todo = self._index, batch.found, batch.found.todo
        self._begun.pop(found.number, None)
        if not found.order:
            return Concluded(failed=found.failed, session=self.session)
        with self._writing() as (sole, before):
            alone = sole and found.session == self.session
            # Statistics and settings in force change in sessions only: without another session they are those read before.
            latest = self.lookup(self._in_force.note) if alone and self._in_force else self.lookup()
            known = batch.pairs.comparison
            if latest.settings != known.settings or latest.statistics is not known.statistics:
                batch = replace(batch, pairs=self._again(found, latest))
            unchanged = alone and batch.state == before
            replaced = None if unchanged else _replaced_meanwhile(batch.pairs, index)
            own = replaced and replaced.intersection(todo.records.ids)
            # Others have removed pages of which they found no documents: these are yet to be written.
            if own and (lost := own - index.get_many(own).keys()):
                index.put_batch(only(todo, lost).records)
                batch = replace(batch, pairs=self._anew(found, latest))
                replaced = _replaced_meanwhile(batch.pairs, index)
            cache = ClusterCache(index, batch.pairs.notes if unchanged else {})
            if unchanged:
                assigned = {**batch.pairs.assigned, **found.assigned}
                cache.learn(batch.pairs.stored, assigned, {*todo.records.ids, *batch.pairs.stored})
            counting = {*todo.records.ids, *there}
            concluded = self._change_clusters(batch, latest, cache, replaced, policy, counting)
            cache.store()
        self._arrived += len(todo.records.ids)
        return concluded

    def _change_clusters(
        self,
        batch: Compared,
        lookup: CandidateSearch,
        clusters: ClusterCache,
        replaced_since: Collection[str] | None,
        policy: WritePolicy,
        counting: Collection[str],
    ) -> Concluded:
        """Change edges and clusters as the comparison says, and say what the pages are.

        Args:
            batch: as it was compared.
            lookup: by what is in force.
            clusters: those around its pages.
            replaced_since: candidates that others have replaced since; None: nobody can have changed the store since.
            policy: what is done with duplicates.
            counting: pages because of which others may be left out or refused.
        """
        found, compared, same = batch.found, batch.pairs, batch.found.same
        other = set(replaced_since or ())
        todo = without(found.todo, other)
        new = list(todo.records.ids)
        stored = StoredBatch(
            new,
            {name for name in new if name in found.stored},
            {compared.pages.ids[row]: why for row, why in compared.inconclusive.items()},
        )
        searched = [edge for edge in distinct(compared.edges()) if not {edge.left, edge.right} & other]

        def compare_again(dropped: Sequence[Edge]) -> CandidateSearchResult:
            return lookup.among(compared.pages, _not_compared(compared, other, dropped, stored.replaced))

        placed = Placed(searched, [], 0)
        if new:
            again = None if replaced_since is None else compare_again
            placed = clusters.place(todo.records.by_id(), stored.replaced, searched, lookup, again)
        assigned = clusters.assignments([*new, *same])
        decisions = stored.decisions(new, decided_edges(clusters, placed.edges, new), assigned)
        edges_of_same = decided_edges(clusters, clusters.edges_of(same), same) if same else []
        for name, beside in edges_beside(edges_of_same, same).items():
            if name in assigned:  # else taken out between the first look and the session
                decisions[name] = stored_decision(name, assigned[name], beside)
        # Of two pages at once only the one whose search has found the other gives way to it, so that one of them stays.
        counted = decided_edges(clusters, searched, new)
        standing = [edge for edge in counted if edge.left in counting and edge.right in counting]
        if policy is WritePolicy.OVERWRITE:
            because = by_policy(policy, found.order, [*counted, *edges_of_same], lookup.statistics)
        else:
            because = by_policy(policy, new, standing, lookup.statistics)
        gone, replaces = (because, {}) if policy is WritePolicy.SKIP else ({}, because)
        if gone:
            decisions.update(stored.without(gone, standing, clusters.assignments(new)))
        _add_evidence(decisions, compared, other)
        unsure = [
            *(name for name in compared.pages.ids if name in other),
            *(name for name in same if name not in assigned),
        ]
        for name in unsure:
            decisions[name] = Decision(name, Outcome.INCONCLUSIVE, name, notes=(MEANWHILE,))
        return Concluded(
            decisions=decisions,
            dedup_fields=_changed_fields(clusters, placed, [*new, *same]),
            left_out=gone,
            replaces=replaces,
            failed=found.failed,
            unsure=unsure,
            unchanged=same,
            session=self.session,
            pairs=compared.pairs + placed.pairs,
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
            found = gone, dedup_fields_of(self._index, removal.changed)
            return found if removal.stored or removal.changed else (set(), {})

    # Statistics and settings

    def outgrown(self, *, last: bool = False) -> bool:
        """Whether statistics are to be learned again for the pages that came since, or a process was stopped while it did so.

        Args:
            last: no more batches follow.
        """
        if self._in_force is None or not self._arrived or not (last or self._arrived >= self._counted_at):
            return False
        stored = self._index.count()
        self._counted_at = self._arrived + max(COUNTED_PAGES, stored // 10)
        return is_outgrown(self._index, stored, self._arrived, last=last)

    def refresh(self) -> Iterator[set[str]]:
        """Learn statistics again; gives pages whose documents have to be written now, see ``refresh``."""
        try:
            yield from refresh(self._index, self._settings, self._writing)
        finally:  # statistics may be stored also where the rest was not
            self._in_force = None

    def lookup(self, *version: str | None) -> CandidateSearch:
        """Finds and compares stored pages with the statistics and settings in force; ``version``: the note of them, where it is known."""
        found = self._settings_in_force(*version)
        return CandidateSearch(self._index, found.settings, found.statistics)

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

    # Sessions, and comparing once more

    @contextmanager
    def _writing(self) -> Iterator[tuple[bool, int]]:
        """A write session that sees what others have written; whether none came between it and our last one, and the state of the clusters before."""
        with self._index.writing() as alone:
            before = self._state
            self._state += 1
            if not alone:
                self._index.refresh_clusters()
                self.session += 1
                self._shared = time.monotonic()
            try:
                yield alone, before
            finally:
                self._state = before + 2

    def _again(self, found: Found, latest: CandidateSearch) -> CandidateSearchResult:
        """Compare as is now in force; the candidates stay unless settings have changed: of two pages at once one alone has found the other."""
        if latest.settings != found.lookup.settings:
            return self._anew(found, latest)
        return _compared(found.todo, found.lists, latest)

    def _anew(self, found: Found, lookup: CandidateSearch) -> CandidateSearchResult:
        """Search and compare once more; pages of batches that were begun later find those of this one, not the other way round."""
        lists = lookup.find(found.todo.pages)
        begun = tuple(self._begun.items())
        later = frozenset().union(*(names for number, names in begun if number > found.number))
        names = [[name for name in listed if name not in later] for listed in lists.names]
        return _compared(found.todo, replace(lists, names=names), lookup)


def _compared(todo: Chunk, lists: CandidateLists, lookup: CandidateSearch) -> CandidateSearchResult:
    at_hand = todo.records.by_id()
    return lookup.compared(lists, assigned=bool(at_hand), at_hand=at_hand, notes=NOTES)


def _replaced_meanwhile(candidates: CandidateSearchResult, index: Index) -> set[str]:
    """Pages of which the store now holds something else than what was compared, or nothing."""
    compared = {name: payload for name, (payload, _) in candidates.payloads.items()}
    compared.update(zip(candidates.pages.ids, pack(candidates.pages.table), strict=True))
    now = index.get_many(compared)
    return {
        name
        for name, payload in compared.items()
        if name not in now or now[name].payload_version != version_of(payload)
    }


def _not_compared(
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
    ids, pairs = candidates.pages.ids, candidates.comparison.pairs
    rows = zip(pairs.left_rows.tolist(), pairs.right_rows.tolist(), strict=True)
    known = {(ids[left], pairs.right.ids[right]) for left, right in rows}
    missing: dict[str, set[str]] = {name: set() for name in ids}
    for edge in edges:
        for name, related in ((edge.left, edge.right), (edge.right, edge.left)):
            if name in replaced and (related in other or not {(name, related), (related, name)} & known):
                missing[name].add(related)
    return [missing[name] for name in ids]


def _changed_fields(clusters: ClusterCache, placed: Placed, pages: Iterable[str]) -> dict[str, DedupField]:
    """``dedup`` fields of the pages of a batch, and of all others whose field changes with them."""
    containing = [edge for edge in (*placed.edges, *placed.dropped) if not edge.relation.same]
    ends = {name for edge in containing for name in (edge.left, edge.right)}
    return dedup_fields_after(clusters, {*pages, *clusters.reassigned, *ends}, clusters.left)


def _add_evidence(
    decisions: dict[str, Decision], compared: CandidateSearchResult, other: Collection[str]
) -> None:
    """Give decisions their strongest accepted pairs, at most ``EVIDENCE``, none with a page that was replaced since."""
    related = {row for row, _ in compared.comparison.related_pairs()}
    for row in related:
        name = compared.pages.ids[row]
        if name in decisions:
            pairs = (each for each in compared.related(row, verdicts=False) if each.right not in other)
            decisions[name] = replace(decisions[name], verdicts=tuple(islice(pairs, EVIDENCE)))
