"""``IndexReader``: what is stored, and what a page is against it."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch import featurise, overrides, stored_pages
from es_dedup.batch.annotations import load_annotations
from es_dedup.batch.clusters import CLUSTERS_PENDING
from es_dedup.batch.featurise import checked_id
from es_dedup.batch.learning import EffectiveSettings
from es_dedup.batch.memory import collector_paused
from es_dedup.batch.stored_pages import traces
from es_dedup.decision.alignment import AlignedRow, aligned
from es_dedup.decision.candidate_search import CandidateSearch, CandidateSearchResult
from es_dedup.decision.comparison import PagePairs, Pages, compare, pair_decisions
from es_dedup.decision.explanation import explained_pairs, rule_results, verdicts_by_texts
from es_dedup.decision.page_decisions import decide, overruled, with_overridden
from es_dedup.decision.rules import BY_RULES, without_rules
from es_dedup.decision.thresholds import thresholds_of
from es_dedup.detectors import features as feature_tables
from es_dedup.detectors.named_fields import PageFeatures, of_page
from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import ConfigError, NotAnIndex, SearchRefused, SettingsDiffer, UnknownPage, wrong_type
from es_dedup.index.closing import Closing
from es_dedup.model import Cluster, Content, Decision, Page, PairDecision, RemoveReport, SearchResult
from es_dedup.model.batches import by_key, chunked, chunked_by_size
from es_dedup.model.cluster_changes import ClusterChange, Cursor
from es_dedup.settings.recorded import STATISTICS, decision_settings, with_recorded
from es_dedup.text.passages import closed_up, without_passages

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.batch.featurise import Ignored
    from es_dedup.clustering.constraints import Constraints
    from es_dedup.decision.statistics import Statistics
    from es_dedup.errors import Difference
    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Edge, Progress, Relation
    from es_dedup.model.annotations import Annotation
    from es_dedup.model.cluster_lists import ClusterQuery, ClusterSummary
    from es_dedup.model.overrides import Override
    from es_dedup.settings import Settings


IDS_AT_A_TIME: Final = 500
ROOT = "root"
"""The note that has the root of page files."""
SHOWN_AT_A_TIME = 3_000  # pages of clusters whose evidence is computed together
CHECKED_AT_A_TIME = 64
STATISTICS_SECONDS = 0.5  # used so long before a check whether another process has learned new ones


class IndexReader(Closing):
    """All queries of an index; nothing here writes. A ``Deduplicator`` is this, and opens an index and writes."""

    def __init__(self, index: Index, settings: Settings) -> None:
        """Over an index at hand; ``Deduplicator.open`` is the usual way."""
        create_detectors(settings)  # unknown names are refused before anything is done
        featurise.check_extractor(settings.extraction)
        self._index, self._given = index, settings
        self._basis: EffectiveSettings | None = None
        self._looked = 0.0
        self._ignored: Ignored = {}  # passages that did not count in the last check
        self._name = "the index"
        self._features: tuple[Difference, ...] = ()
        self._warned: SettingsDiffer | None = None

    def close(self) -> None:
        """Let go of the storage; may be called twice."""
        self._index.close()

    @property
    def clusters_pending(self) -> bool:
        """Whether pages are stored that are not clustered yet: a writer was stopped half-way, or is at work."""
        return self._index.note(CLUSTERS_PENDING) is not None

    def root(self) -> str | None:
        """The folder that ids of page files are relative to, for ``ReadOptions(root=…)``; None: none has been recorded."""
        return self._index.note(ROOT)

    def overrides(self, *, undone: bool = False) -> list[Override]:
        """Decisions of people that go before the rules, by time; with ``undone`` also those that were undone."""
        return [each for each in overrides.load_overrides(self._index).values() if undone or each.in_force]

    def annotations(self, *, removed: bool = False) -> tuple[Annotation, ...]:
        """What readers said of pairs of pages, by time, with ``removed`` also what they took back; decisions do not depend on it."""
        return load_annotations(self._index, removed=removed)

    def overrides_of(self, page_ids: Iterable[str]) -> dict[str, tuple[Override, ...]]:
        """Overrides in force that name a page, by time, for each of some pages that has any."""
        known = overrides.JOURNAL.recorded(self._index).by_page
        return {page: known[page] for page in page_ids if page in known}

    def cluster_ids(self, page_ids: Iterable[str]) -> dict[str, str]:
        """Ids of the clusters that stored pages are in, by page id."""
        return {name: each.cluster_id for name, each in self._index.assignments(page_ids).items()}

    def traces(self, page_id: str) -> list[str]:
        """Where the index still has something of a page that was to be forgotten, in words; overrides that name it do not count."""
        return traces(self._index, checked_id(page_id))

    def record(self, page_id: str) -> FeatureRecord:
        """What is stored of a page, without its text.

        Raises:
            UnknownPage: the id is not stored.
        """
        page_id = checked_id(page_id)
        found = self._index.get_many([page_id])
        if page_id not in found:
            raise UnknownPage(page_id)
        return found[page_id]

    def changes(
        self, since: str | None = None, *, poll_seconds: float | None = None
    ) -> Iterator[ClusterChange]:
        """Pages whose cluster has changed, with the present one; for keeping a copy of all clusters elsewhere.

        Keep ``ClusterChange.cursor`` once a change is applied, and pass the last one to go on. Changes may come again, never in part:
        to apply one twice changes nothing. A change with ``reset`` says to forget all pages; all that are clustered follow.

        Args:
            since: cursor of the last change that was applied; None gives all clusters.
            poll_seconds: go on for ever and look for changes so often; None: end after those that there are.

        Raises:
            ValueError: ``since`` is no cursor.
        """
        return self._changes(None if since is None else Cursor.parse(since), poll_seconds)

    def _changes(self, place: Cursor | None, poll_seconds: float | None) -> Iterator[ClusterChange]:
        while True:
            for change in self._index.changes(place):
                place = Cursor.parse(change.cursor)
                yield change
            if poll_seconds is None:
                return
            time.sleep(poll_seconds)

    def changes_cursor(self) -> str:
        """The cursor of now: ``changes`` since then gives what changes later. Take it before an export, not after."""
        return str(self._index.changes_end())

    def page_ids(self) -> Iterator[str]:
        """Ids of all stored pages that are clustered, in no order."""
        return (each.page_id for group in self._index.clusters() for each in group)

    def pages_before(self, day: str) -> Iterator[str]:
        """Ids of pages that were published before a day (``2026-08-26``), ascending; pages without a time are not among them."""
        return chain.from_iterable(self._index.pages_before(day))

    def records_of(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """What is stored of some pages, by id; unknown ids are absent."""
        return self._index.get_many(page_ids)

    def records(self) -> Iterator[FeatureRecord]:
        """What is stored of all pages, without their texts, by page id."""
        return chain.from_iterable(self._index.scan())

    def text(self, page_id: str) -> str:
        """Main text of a stored page; empty when texts are not kept.

        Raises:
            UnknownPage: the id is not stored.
        """
        page_id = self.record(page_id).page_id
        return self._index.texts([page_id]).get(page_id, "")

    def texts_of(self, page_ids: Iterable[str]) -> dict[str, str]:
        """Main texts of some pages, by id; absent where a page is unknown or its text was not kept."""
        return self._index.texts(page_ids)

    def pages_of_cluster(self, name: str) -> list[str]:
        """Ids of the pages of a cluster, named by its id or by that of a page, the canonical document first; of an unknown name none."""
        name = checked_id(name)
        cluster_id = self.cluster_ids([name]).get(name, name)
        members = self._index.members([cluster_id]).get(cluster_id, [])
        return sorted((each.page_id for each in members), key=lambda page: page != members[0].canonical)

    def would_remove(self, page_ids: Iterable[str]) -> RemoveReport:
        """What ``Deduplicator.remove`` would do now; nothing is written, nor compared. ``repaired_clusters`` counts those of several pages."""
        removed = 0
        unknown: list[str] = []
        repaired: set[str] = set()
        for some in chunked(dict.fromkeys(map(checked_id, page_ids)), IDS_AT_A_TIME):
            assigned = self._index.assignments(some)
            known = self._index.get_many(some).keys() | assigned.keys()
            members = self._index.members({each.cluster_id for each in assigned.values()})
            repaired |= {name for name, group in members.items() if len(group) > 1}
            unknown += (name for name in some if name not in known)
            removed += len(known)
        return RemoveReport(removed, tuple(unknown), len(repaired))

    def cluster_sizes(self) -> Counter[int]:
        """Number of clusters by number of pages, pages that are alone among them."""
        return self._index.cluster_sizes()

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """Pages that are not the canonical document of their cluster: how many by site, and by month of publication (``2026-03``)."""
        return self._index.duplicate_counts()

    @property
    def settings_differ(self) -> SettingsDiffer | None:
        """The caller's settings that are not in force, because the index was made or clustered with others; None: all are."""
        decisions = self._in_force().differences
        return SettingsDiffer(self._name, self._features, decisions) if self._features or decisions else None

    def _warn(self) -> None:
        """Warn, once, of settings that are not in force."""
        found = self.settings_differ
        if found is not None and (self._warned is None or found.args != self._warned.args):
            warnings.warn(found, stacklevel=3)
        self._warned = found

    @property
    def _settings(self) -> Settings:
        """The settings in force."""
        return self._in_force().settings

    @property
    def preset(self) -> str:
        """The preset in force, and what is set in place of its values, in words."""
        return self._settings.decision.summary

    def check(self, page: Page) -> Decision:
        """What a page is against all that is stored; nothing is written."""
        return self.check_many([featurise.checked_page(page)])[0]

    def check_many(self, pages: Iterable[Page]) -> list[Decision]:
        """``check`` for several pages, in order; they are not compared with each other."""
        self._warn()
        groups = chunked(featurise.checked_pages(pages), CHECKED_AT_A_TIME)
        return [decision for some in groups for decision in self._check_some(some)]

    def _check_some(self, pages: list[Page]) -> list[Decision]:
        while True:
            before = self._ignored
            asked, _ = self._featurise(pages, before)
            compared = self._lookup().of(asked, assigned=True, notes=[overrides.OVERRIDES])
            known = overrides.JOURNAL.recorded(self._index, compared.notes)
            self._ignored = now = known.ignored
            if now == before:
                break  # they have not changed since the last check
        by_people = self._decided_by_people(asked, known.constraints)
        named = set(chain.from_iterable(by_people))
        assigned = {**compared.assigned, **(self._index.assignments(named) if named else {})}
        decisions, rows = [], iter(range(len(asked.ids)))
        for page in pages:
            if problem := featurise.problem_of(page):
                decisions.append(decide(featurise.name_of(page), [], {}, problem=problem))
                continue
            row = next(rows)
            related = with_overridden(by_people[row], compared.related(row))
            notes = (*overruled(by_people[row]), *compared.use[row].notes())
            notes += featurise.notes_on(page, has_words=bool(asked.table.has_words[row]))
            cut = compared.inconclusive.get(row, "")
            decisions.append(decide(page.id, related, assigned, inconclusive=cut, notes=notes))
        return decisions

    def _decided_by_people(self, asked: Pages, constraints: Constraints) -> list[dict[str, PairDecision]]:
        """For each page its pairs with stored pages that overrides decide on, by the other page; those decided same first."""
        same = [[name for name in constraints.units.get(page, ()) if name != page] for page in asked.ids]
        apart = [sorted(constraints.apart.get(page, ())) for page in asked.ids]
        if not any(same) and not any(apart):
            return [{} for _ in asked.ids]
        names = [[*one, *other] for one, other in zip(same, apart, strict=True)]
        compared = self._lookup().among(asked, names)
        found: list[dict[str, PairDecision]] = [{} for _ in asked.ids]
        rows = compared.comparison.pairs.left_rows.tolist()
        pairs = pair_decisions(compared.comparison, range(len(rows)))
        for row, each in zip(rows, pairs, strict=True):
            found[row][each.right] = self._overridden(each)
        return found

    def _overridden(self, pair: PairDecision) -> PairDecision:
        return pair.overridden(overrides.overrides_on(self._index, pair.left, pair.right))

    def explain(
        self, left: str | Page, right: str | Page, *, also: Sequence[str] = (), without: Sequence[str] = ()
    ) -> PairDecision:
        """The relation of two pages, stored (by id) or given, with all evidence, each rule's result and each method's verdict.

        Overrides go before the rules; what these say is ``otherwise``.

        Args:
            left, right: the pages.
            also: methods that compare beside the enabled ones, and beside those of ``elastic.also_stored`` where the index
                keeps these. They need the texts of both pages, and have no part in the relation.
            without: decision rules that are left out, by name or by group.

        Raises:
            UnknownPage: an id that is not stored.
            ConfigError: an unknown method or rule.
        """
        self._warn()
        settings, statistics = self._settings, self._statistics()
        sides = [self._pages_of(side) for side in (left, right)]
        row = np.zeros(1, dtype=np.int64)
        thresholds = without_rules(thresholds_of(settings.decision), without)
        comparison = compare(PagePairs(sides[0], row, sides[1], row), statistics, settings, thresholds)
        (decision,) = pair_decisions(comparison, [0])
        stored = settings.elastic.also_stored if self._index.keeps_named else ()
        enabled = {each.detector for each in decision.verdicts}
        names = [name for name in dict.fromkeys((*settings.detectors, *stored, *also)) if name not in enabled]
        given = (left, right) if names else ()
        contents = [(side.id if isinstance(side, Page) else side, self.content_of(side)) for side in given]
        verdicts, skipped = verdicts_by_texts(names, contents, settings)
        explained = replace(
            decision,
            verdicts=(*decision.verdicts, *verdicts),
            rules=next(rule_results(comparison)) if settings.decision.method == BY_RULES else (),
            skipped=skipped,
        )
        decided = self._overridden(explained)
        if isinstance(left, str) and isinstance(right, str) and not without:
            pages = decision.left, decision.right
            assigned = self._index.assignments(pages)
            if assigned.keys() >= set(pages):
                return replace(decided, clusters=tuple(assigned[page].canonical for page in pages))
        return decided

    def content_of(self, side: str | Page) -> Content | None:
        """Content of a page, stored (by id) or given; None where its text is not kept."""
        if isinstance(side, Page):
            return self._content(side)
        record = self.record(side)
        text = self._counted_text(record)
        return Content(text, title=record.title) if text else None

    def _content(self, page: Page) -> Content:
        content, _ = featurise.content_of(page, self._settings.extraction)
        return featurise.compared(content, overrides.load_ignored(self._index))

    def _counted_text(self, record: FeatureRecord) -> str:
        """The kept text of a page, with blanks for the passages of its site that never count; empty where texts are not kept."""
        text = self._index.texts([record.page_id]).get(record.page_id, "")
        return without_passages(text, overrides.load_ignored(self._index).get(record.site, ()))

    def candidates(self, page_id: str) -> list[str]:
        """Candidates of a stored page by id, before verification.

        Raises:
            UnknownPage: the id is not stored.
        """
        self.record(page_id)
        compared = self._lookup().of_stored([page_id])
        return list(compared.comparison.pairs.right.ids)

    def candidate_decisions(self, page_ids: Sequence[str]) -> Iterator[PairDecision]:
        """Stored pages with all their candidates but exact copies, decided as ``explain`` does; a pair of two of the pages comes once.

        Ids that are not stored are passed over.
        """
        return map(self._overridden, explained_pairs(self._lookup().of_stored(page_ids)))

    def settings_with(self, changes: Mapping[str, Any]) -> Settings:
        """The settings in force, with other values of some decision settings, by dotted name.

        Raises:
            ConfigError: a name is that of no decision setting, or a value is not allowed.
        """
        settings = self._settings
        if unknown := sorted(changes.keys() - decision_settings(settings).keys()):
            raise ConfigError(tuple(f"{name}: no decision setting" for name in unknown))
        return with_recorded(settings, changes)

    def related_pairs(self, page_ids: Sequence[str], settings: Settings) -> tuple[list[Edge], int]:
        """Related pairs of stored pages and their candidates as these settings decide, by the stored statistics; and how many were compared.

        The smaller id is on the left; a pair of two of the pages may come twice.
        """
        found = self._lookup(settings).of_stored(page_ids)
        return overrides.decided_edges(self._index, found.edges(), page_ids), found.pairs

    def related_among(self, pairs: Sequence[tuple[str, str]], settings: Settings) -> list[Edge]:
        """Those of some pairs of stored pages that these settings find related, as ``related_pairs``; pages that are not stored are passed over."""
        found = self._among(pairs, settings)
        return overrides.decided_edges(self._index, found.edges(), {left for left, _ in pairs})

    def decisions_among(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], PairDecision]:
        """Some pairs of stored pages as ``explain`` decides them, without what each rule says; pages that are not stored are passed over."""
        found = self._among(pairs)
        decided = pair_decisions(found.comparison, range(found.pairs))
        return {(each.left, each.right): self._overridden(each) for each in decided}

    def _among(
        self, pairs: Iterable[tuple[str, str]], settings: Settings | None = None
    ) -> CandidateSearchResult:
        lookup, rights = self._lookup(settings), by_key(pairs)
        pages = lookup.load(list(rights))
        return lookup.among(pages, [rights[left] for left in pages.ids])

    def redundant(
        self, page_ids: Iterable[str], *, contained: bool = False
    ) -> tuple[set[str], dict[str, tuple[str, Relation]]]:
        """Those of some pages that are in a cluster; and of those that are not its canonical document, the page that stays and the relation to it.

        Args:
            page_ids: ids, stored or not.
            contained: count the pages of clusters whose canonical document is contained in another cluster's among the latter. Of those that
                contain each other in a cycle the first cluster by id stays.
        """
        return stored_pages.redundant(self._index, page_ids, contained=contained)

    def ids_of(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Ids of the pages that names mean, by name: ``fitted_id`` of it, or the pages, ascending, that have it as their URL.

        A name that is the id of a page or of a cluster is no URL, nor is one of nothing that is stored. An index on Elasticsearch reads
        all pages to find those of a URL.
        """
        return stored_pages.ids_of(self._index, names)

    def aligned(self, left: str | Page, right: str | Page) -> list[AlignedRow]:
        """The texts of two pages, stored (by id) or given, side by side: rows that have all of both, with what only one of them has.

        Passages that never count are left out, and of several blank lines one is kept.

        Raises:
            UnknownPage: an id that is not stored.
        """
        contents = [self.content_of(side) for side in (left, right)]
        ours, theirs = (closed_up(content.text) if content else "" for content in contents)
        return aligned(ours, theirs, self._statistics())

    def features(self, page: str | Page, *, also: Sequence[str] = ()) -> PageFeatures:
        """All features of a page, stored (by id) or given, under the names that Elasticsearch stores them by.

        Where the index keeps no named fields they are made from the kept text, by the same code.

        Args:
            page: an id or a page.
            also: methods that are computed beside those of ``detectors`` and ``elastic.also_stored``.

        Raises:
            UnknownPage: an id that is not stored.
            ConfigError: an unknown method.
        """
        settings = self._settings
        methods = (*settings.elastic.also_stored, *also)
        if isinstance(page, Page):
            if problem := featurise.problem_of(page):
                raise ValueError(problem)
            content = self._content(page)
            table = feature_tables.featurise([content.text], [content.title], settings)
            return of_page(page.id, table, None, (content.text, content.title), settings, methods)
        record = self.record(page)
        content_of_page = self._counted_text(record), record.title
        named = self._index.named([page]).get(page, {})
        table = self._lookup().load([page]).table
        return of_page(page, table, named, content_of_page, settings, methods)

    def cluster(self, page_id: str, *, evidence_of: Collection[str] | None = None) -> Cluster:
        """The cluster that a stored page is in, or the one of that id: it keeps its id when the page it was named after is removed.

        Args:
            page_id: of the page, or id of the cluster.
            evidence_of: the members that are compared with the canonical document, which takes long where they are many; None: all.

        Raises:
            UnknownPage: neither a page nor a cluster of that id is stored.
        """
        self._warn()
        page_id = checked_id(page_id)
        cluster_id = self.cluster_ids([page_id]).get(page_id, page_id)
        shown = self._shown(list(self._index.members([cluster_id]).values()), evidence_of)
        if not shown:
            self.record(page_id)
        return shown[0] if shown else Cluster(page_id, page_id)  # else another process has just dissolved it

    def clusters(self, *, min_size: int = 1, after: str | None = None) -> Iterator[Cluster]:
        """All clusters of at least ``min_size`` pages, by id, each member with the evidence against the canonical document.

        Args:
            min_size: of the clusters, at least 1.
            after: clusters with greater ids only.
        """
        self._warn()
        groups = self._index.clusters(min_size=min_size, after=after)
        for some in chunked_by_size(groups, SHOWN_AT_A_TIME, len):
            yield from self._shown(some, least=min_size)

    def list_clusters(
        self, query: ClusterQuery, *, after: str | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """Clusters by filter and order, without their pages and evidence; quick also where clusters are many or large.

        Args:
            query: which, and in what order.
            after: the ``query.cursor`` of a cluster; only those that come later.
            limit: at most so many.

        Raises:
            SearchRefused: ``after`` is no cursor of this order.
        """
        self._warn()
        try:
            place = query.after(after)
        except ValueError as error:
            raise SearchRefused(str(error), "pass on what the list before gave, unchanged") from error
        return self._index.list_clusters(query, after=place, limit=limit)

    def clusters_of(self, summaries: Iterable[ClusterSummary]) -> list[Cluster]:
        """Listed clusters with their members and evidence, in order; one that was dissolved since is absent."""
        ids = [each.id for each in summaries]
        found = {each.id: each for each in self._shown(list(self._index.members(ids).values()))}
        stored = self._index.get_many(each.canonical for each in found.values())
        return [found[name] for name in ids if name in found and found[name].canonical in stored]

    def search(self, query: str, *, limit: int = 10, offset: int = 0, collapse: bool = True) -> SearchResult:
        """Full-text search over stored texts, one hit per cluster unless ``collapse`` is False.

        No more matches are read than the hits need, or ``batch.stored_pages.GROUPED``, of which groups are counted. In a file, new texts are added to the full-text
        index first; opened for reading only, many are not: see ``not_indexed`` of the result, and ``prepare_search``.

        Raises:
            ValueError: ``limit`` or ``offset`` is negative.
        """
        if not isinstance(query, str):
            raise wrong_type("query", "a string", query)
        if limit < 0 or offset < 0:
            raise ValueError(f"limit and offset must not be negative, got {limit} and {offset}")
        self._warn()
        return stored_pages.search(self._index, query, limit=limit, offset=offset, collapse=collapse)

    def prepare_search(self, progress: Callable[[Progress], None] | None = None) -> None:
        """Add new texts of a file to its full-text index, until ``search`` finds all; ``scan`` and ``add`` leave that to searches.

        Opened for reading only, this object adds them for itself, in memory. Nothing is added while another process writes. What was
        added before an error, such as one that ``progress`` raises, is kept.
        """
        self._index.prepare_search(progress)

    def count(self) -> int:
        """Number of stored pages."""
        return self._index.count()

    def loose_clusters(self) -> tuple[str, ...]:
        """See ``batch.stored_pages``."""
        return stored_pages.loose_clusters(self._index)

    def stats(self) -> dict[str, object]:
        """Counts and sizes of what is stored, and the settings it was made with.

        ``clusters`` have at least two pages each; ``unique_pages`` have no duplicate; ``duplicates`` are the pages of clusters without their
        canonical documents. ``pages_since`` of ``statistics`` is how many more pages there are now than when they were learned.
        """
        sizes = self._index.cluster_sizes()
        unique = sizes.pop(1, 0)
        statistics, differ, pages = self._statistics(), self.settings_differ, self._index.count()
        return {
            "pages": pages,
            "clusters": sizes.total(),
            "unique_pages": unique,
            "duplicates": sum((size - 1) * count for size, count in sizes.items()),
            "largest_cluster": max(sizes, default=0),
            "clusters_pending": self.clusters_pending,
            "bytes": self._index.sizes(),
            "statistics": {
                "version": statistics.version,
                "pages": statistics.pages,
                "pages_since": max(0, pages - statistics.pages),
                "features": len(statistics.grams) + len(statistics.clauses),
            },
            "settings": {**self._index.features, **decision_settings(self._settings)},
            "settings_not_in_force": [] if differ is None else [*differ.features, *differ.decisions],
            "root": self.root() or "",
        }

    def _statistics(self) -> Statistics:
        return self._in_force().statistics

    def _in_force(self) -> EffectiveSettings:
        """Statistics and settings in force; another process may have clustered everything again with others."""
        now = time.monotonic()
        found = self._basis  # which another thread may replace, or remove
        if found is None or now - self._looked >= STATISTICS_SECONDS:
            note = self._index.note(STATISTICS)
            try:
                self._basis = found = EffectiveSettings.read(self._index, self._given, note, found)
            except ValueError as error:
                problem = (
                    "its statistics are damaged: run `es-dedup elastic recluster`, which learns them anew"
                )
                raise NotAnIndex(self._name, problem) from error
            self._looked = now
        return found

    def _lookup(self, settings: Settings | None = None) -> CandidateSearch:
        return CandidateSearch(self._index, settings or self._settings, self._statistics())

    def _featurise(self, pages: list[Page], ignored: Ignored | None = None) -> tuple[Pages, dict[str, str]]:
        """Features of pages without the passages that never count; None: as the index has them now."""
        ignored = overrides.load_ignored(self._index) if ignored is None else ignored
        maker = featurise.FeatureMaker(self._settings, None, self._index.keeps_named, ignored)
        return maker.pages(pages)

    def _pages_of(self, side: str | Page) -> Pages:
        if isinstance(side, Page):
            pages, failed = self._featurise([side])
            if failed:
                raise ValueError(next(iter(failed.values())))
            return pages
        pages = self._lookup().load([checked_id(side)])
        if not pages.ids:
            raise UnknownPage(side)
        return pages

    def _shown(
        self, groups: Sequence[Sequence[Assignment]], wanted: Collection[str] | None = None, least: int = 1
    ) -> list[Cluster]:
        with collector_paused():
            found = stored_pages.clusters_with_evidence(groups, self._index, self._lookup(), wanted)
        return [each for each in found if each.size >= least]
