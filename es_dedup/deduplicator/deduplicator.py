"""``Deduplicator``: the whole flow, for one page, a batch, a corpus."""

from __future__ import annotations

import secrets
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup import errors
from es_dedup import settings as config
from es_dedup.batch import annotations as labels
from es_dedup.batch.clusters import CLUSTERS_PENDING, QUICK_PAGES, attached, remove_pages, write_session
from es_dedup.batch.corpus import load_corpus
from es_dedup.batch.featurise import (
    FeatureMaker,
    checked_id,
    checked_ids,
    checked_page,
    checked_pages,
    name_of,
    notes_on,
)
from es_dedup.batch.ingest import Ingest, PageInput
from es_dedup.batch.override_changes import add_override, apply_ignored, end_override, merge_overrides
from es_dedup.batch.overrides import load_constraints, load_ignored
from es_dedup.batch.stored_pages import ForgetReport, erase
from es_dedup.batch.whole_corpus import ReclusterReport, decide_corpus, recluster, silent
from es_dedup.clustering.constraints import ClusterRules
from es_dedup.clustering.star import cluster_all
from es_dedup.decision.page_decisions import stored_decision, with_overridden
from es_dedup.deduplicator.index_reader import ROOT, IndexReader
from es_dedup.errors import IndexLocked, InvalidAnnotation, InvalidOverride, NotAnIndex
from es_dedup.index import factory
from es_dedup.index.closing import on_error
from es_dedup.index.texts import compress_text
from es_dedup.model import AddReport, Decision, Outcome, Page, Progress, RemoveReport, WritePolicy
from es_dedup.model.annotations import Annotation, Label, just_now
from es_dedup.model.batches import chunked
from es_dedup.model.overrides import Override, OverrideKind, OverrideReport
from es_dedup.settings.recorded import STATISTICS, adopted, decisions_in, with_recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_dedup.batch.featurise import Chunk
    from es_dedup.clustering.constraints import Constraints
    from es_dedup.decision.candidate_search import CandidateSearchResult
    from es_dedup.settings import Settings

REMOVED_AT_A_TIME: Final = 500


class Deduplicator(IndexReader):
    """Finds near-duplicate pages among those it has stored, and keeps their clusters; queries are in ``IndexReader``.

    Use ``Deduplicator.open(path)`` in a ``with`` block. One process writes to an index at a time, others may read.

    Traps:
        - A page added under a known id replaces the stored one.
        - Statistics of the corpus are learned anew by ``recluster`` and ``scan``, by a call that adds many pages at once, and by the one with
          which there are twice the pages, which takes as long as a ``recluster``; between, pages are decided with what was known. After ``recluster`` the result does not depend on the order of additions.
        - After a call that was killed, ``clusters_pending`` is true until ``recluster``, ``scan`` or a call that learns statistics anew; an index of at most ``QUICK_PAGES`` pages
          is clustered when it is opened for writing.

    Attributes:
        changed: pages that the last ``remove`` has left and that were related to removed ones, or whose clusters have changed with them.
    """

    changed: frozenset[str] = frozenset()
    _compared: CandidateSearchResult | None = None  # pages of the last call, of few, and their candidates
    _constraints: Constraints | None = None  # in the last call
    _stored: int | None = None  # pages after the last call, while no other session is held

    @classmethod
    def open(
        cls, path: str | Path, *, settings: Settings | None = None, read_only: bool = False
    ) -> Deduplicator:
        """Over a file or an index on Elasticsearch, made when it is not there; ``:memory:`` keeps everything in memory.

        Args:
            path: a file, whose folder must exist; or ``http://host:9200/name`` (or https), see section ``elastic`` of the
                settings for credentials.
            settings: None: those of the settings file and the environment, see ``config.settings_in_force``.
            read_only: never write; the index must exist.

        Raises:
            ConfigError: the settings name an unknown detector or extractor, or the address is none.
            MissingExtra: the client for Elasticsearch is not installed.
            NotAnIndex: another application's, a folder, damaged, or missing while ``read_only``.
            SchemaMismatch: written by another format version.
            SettingsMismatch: made with other settings that shape features; opened ``read_only`` it is read with its own.
            IndexUnavailable: the file cannot be written, or the server does not answer.
            IndexRefused: the server does not let us.
            IndexLocked: another process is making the file.
            TypeError: an argument is of a wrong type.
        """
        if not isinstance(path, str | Path):
            raise errors.wrong_type("path", "a file or an address", path, 'Deduplicator.open("pages.db")')
        settings = config.loading.settings_in_force(settings)
        index = factory.open_index(path, settings, read_only=read_only)
        with on_error(index.close):
            name = factory.shown(path)
            dedup = cls(index, factory.fitted(index, settings, name))
            dedup._name, dedup._features = name, factory.feature_differences(index, settings)
            if not read_only:
                dedup._heal()
        return dedup

    def add(self, page: Page, *, policy: WritePolicy | str = WritePolicy.MARK) -> Decision:
        """Store one page and say what it is; see ``add_many``."""
        report = self.add_many([checked_page(page)], policy=policy)
        for problem in report.failed.values():
            raise ValueError(f"{name_of(page)!r}: {problem}")
        decision = report.decisions.get(page.id)
        if report.stored + report.left_out and (compared := self._compared) is not None:
            decision = decision or Decision(page.id, Outcome.UNIQUE, page.id)
            constraints = self._constraints or load_constraints(self._index)
            by_people = self._decided_by_people(compared.pages, constraints)[0]
            verdicts = tuple(with_overridden(by_people, compared.related(0)))
            notes = notes_on(page, has_words=page.id not in report.skipped_pages)
        else:
            assigned, edges = self._index.assignments([page.id]), self._index.edges_of([page.id])
            decision = decision or stored_decision(page.id, assigned[page.id], edges)
            checked = self.check(page)
            verdicts, notes = checked.verdicts, checked.notes
        limit = self._given.index.limit
        return replace(decision, verdicts=verdicts[:limit], notes=decision.notes + notes)

    def add_many(
        self,
        pages: Iterable[Page],
        *,
        policy: WritePolicy | str = WritePolicy.MARK,
        progress: Callable[[Progress], None] | None = None,
        dry_run: bool = False,
    ) -> AddReport:
        """Store pages, compare them with all others, keep the clusters.

        Pages are written in batches; a batch that was written stays when the process dies, and is clustered when a file of at most
        ``QUICK_PAGES`` pages is opened again, or by ``recluster``. When the input raises an error, the pages before it are stored and the error is passed on.

        Args:
            pages: taken lazily; of several with one id the last wins, the others are named in ``failed``.
            policy: what is done with duplicates of, and pages contained in, stored pages. ``fail`` (like a dry run)
                reads all pages first and holds their features in memory.
            progress: called with the progress.
            dry_run: report what would happen and write nothing.

        Raises:
            DuplicatePage: policy ``fail``, and a page is a duplicate; nothing of the call is kept.
            IndexLocked, IndexUnavailable: see ``errors``; batches written before stay.
            TypeError: ``pages`` is no iterable of ``Page``; pages before a wrong value are stored.
        """
        return self._ingest(pages, WritePolicy(policy), progress, dry_run=dry_run, whole=False)

    def scan(
        self,
        pages: Iterable[Page],
        *,
        progress: Callable[[Progress], None] | None = None,
        dry_run: bool = False,
    ) -> AddReport:
        """Store pages, then learn statistics and cluster the whole index anew.

        Pages that are stored with the same content are passed over, so a scan that was stopped is resumed by the same
        call. Arguments and errors as for ``add_many``.
        """
        return self._ingest(pages, WritePolicy.MARK, progress, dry_run=dry_run, whole=True)

    def update(self, page: Page) -> Decision:
        """Replace a stored page and repair its cluster.

        Raises:
            UnknownPage: no page of that id is stored.
        """
        self.record(checked_page(page).id)
        return self.add(page)

    def remove(self, page_ids: Iterable[str] | str) -> RemoveReport:
        """Remove pages and repair their clusters; unknown ids are reported, not raised."""
        ids = checked_ids(page_ids)
        with write_session(self._index):
            self._stored = None
            # a page that is in a cluster and nowhere else is taken out of it too
            known = self._index.get_many(ids).keys() | self._index.assignments(ids).keys()
            unknown = tuple(name for name in ids if name not in known)
            if not known:
                return RemoveReport(0, unknown)
            removal = remove_pages(self._index, known, self._lookup())
            self.changed = removal.changed
            return RemoveReport(removal.stored, unknown, removal.clusters)

    def remove_before(self, day: str) -> Iterator[RemoveReport]:
        """Remove pages that were published before a day and repair their clusters, one batch at a step; pages without a time stay.

        Args:
            day: ISO 8601 (``2026-08-26``).
        """
        for old in self._index.pages_before(day):
            for some in chunked(old, REMOVED_AT_A_TIME):
                with write_session(self._index):
                    # others may have stored them anew since they were listed
                    stored = self._index.get_many(some).values()
                    report = self.remove(each.page_id for each in stored if "" < each.published < day)
                yield report

    def forget(self, page_ids: Iterable[str] | str) -> ForgetReport:
        """Remove pages and everything that is kept of them: labels of readers, names of clusters, deleted data in the storage.

        A file is written anew, which needs room for a copy of it. Overrides that name a page stay. May be called for pages that were removed
        before.
        """
        ids = checked_ids(page_ids)
        removed = self.remove(ids)
        with write_session(self._index):
            annotations, overrides, problem = erase(self._index, ids)
        return ForgetReport(removed.removed, removed.repaired_clusters, annotations, overrides, problem)

    def override_different(self, left: str, right: str, *, reason: str, author: str) -> OverrideReport:
        """Decide that two stored pages are never in one cluster, not through a third page either; clusters follow at once.

        Args:
            left, right: ids of the pages.
            reason, author: kept with the decision; not empty.

        Raises:
            UnknownPage: a page that is not stored.
            OverrideConflict: it cannot hold beside other overrides; nothing was stored.
            InvalidOverride: the pages are one, or reason or author is empty or longer than 1,000 characters.
        """
        return self._override(OverrideKind.DIFFERENT, (left, right), reason, author)

    def override_same(self, left: str, right: str, *, reason: str, author: str) -> OverrideReport:
        """Decide that two stored pages are always in one cluster, whatever the rules say; see ``override_different``."""
        return self._override(OverrideKind.SAME, (left, right), reason, author)

    def override_canonical(self, page_id: str, *, reason: str, author: str) -> OverrideReport:
        """Decide that a stored page is the canonical document of its cluster; see ``override_different``.

        Members without an edge to it leave the cluster, unless they were decided same as a page that has one.
        """
        return self._override(OverrideKind.CANONICAL, (page_id,), reason, author)

    def override_ignore(self, site: str, text: str, *, reason: str, author: str) -> OverrideReport:
        """Decide that a passage never counts on the pages of a site.

        Features of pages that are added from now on are made without it. Those of stored pages follow at the next ``recluster``, from
        kept texts; what is stored and searched as text stays whole.

        Args:
            site: as pages name it, see ``Page.site``.
            text: of the passage; white space may differ, and it is not found inside a longer word.
            reason, author: kept with the decision; not empty.

        Raises:
            InvalidOverride: an argument is empty.
        """
        if not site.strip() or not text.strip():
            raise InvalidOverride("the site or the passage is empty")
        return self._override(OverrideKind.IGNORE, (), reason, author, site=site.strip(), text=text.strip())

    def undo_override(self, override_id: str, *, reason: str = "", author: str = "") -> OverrideReport:
        """End an override; it stays in the record, and clusters follow at once. One that was undone before stays as it is.

        Raises:
            UnknownOverride: there is none of that id.
        """
        with write_session(self._index):
            return end_override(self._index, self._settings, override_id, reason=reason, author=author)

    def import_overrides(self, overrides: Iterable[Override]) -> OverrideReport:
        """Take over overrides of another index or a file; their pages need not be stored.

        Those that the index has already, or that are in force under another id, are passed over; one that was undone elsewhere is
        undone here.

        Returns:
            Those that were taken over.

        Raises:
            OverrideConflict: one cannot hold beside others; nothing was stored.
        """
        with write_session(self._index):
            return merge_overrides(self._index, self._settings, overrides)

    def annotate(self, left: str, right: str, label: Label, *, reader: str, override: str = "") -> Annotation:
        """Keep what a reader says of two stored pages, in place of what the same reader said before; decisions stay as they are.

        Of a pair labelled ``contain`` the longer page contains the other one. ``override`` is the id of one made with the label, if any.

        Raises:
            UnknownPage: a page that is not stored.
            InvalidAnnotation: the pages are one, or the reader is empty or longer than 1,000 characters.
            ValueError: an unknown label.
        """
        records = [self.record(page_id) for page_id in sorted(map(checked_id, (left, right)))]
        left, right = (record.page_id for record in records)
        if left == right:
            raise InvalidAnnotation(f"page {left!r} is named twice")
        if not reader.strip():
            raise InvalidAnnotation("the reader is empty")
        label = Label(label)
        relation = label.relation(*(record.length for record in records))
        made = Annotation(left, right, label, reader, just_now(), relation, override=override)
        with self._index.writing():
            labels.record(self._index, [made])
        return made

    def remove_annotation(self, left: str, right: str, *, reader: str) -> bool:
        """Take back what a reader said of two pages, which stays in the record; whether there was something."""
        key = (*sorted(map(checked_id, (left, right))), reader)
        with self._index.writing():
            known = [each for each in labels.load_annotations(self._index) if each.key == key]
            if known:
                labels.record(self._index, [replace(known[0], removed=just_now())])
        return bool(known)

    def import_annotations(self, annotations: Iterable[Annotation]) -> int:
        """Take over labels of another index or a file; their pages need not be stored. Of two of one reader on one pair the later counts.

        Returns:
            How many were taken over; those that the index has already are passed over.

        Raises:
            InvalidAnnotation: a string is too long, or no text; nothing was stored.
        """
        with self._index.writing():
            changes = labels.merged(labels.load_annotations(self._index, removed=True), annotations)
            labels.record(self._index, changes)
        return len(changes)

    def _override(
        self, kind: OverrideKind, pages: tuple[str, ...], reason: str, author: str, **of: str
    ) -> OverrideReport:
        named = tuple(sorted(map(checked_id, pages)))
        stored = self._index.get_many(named)
        for page_id in named:
            if page_id not in stored:
                raise errors.UnknownPage(page_id)
        new = Override(secrets.token_hex(6), kind, named, reason, author, just_now(), **of)
        with write_session(self._index):
            return add_override(self._index, self._settings, new)

    def record_root(self, root: str | None, *, dry_run: bool = False) -> None:
        """Record the root of an input before its pages are stored, so that files below it keep their ids.

        Args:
            root: of ``read_pages(…)``; None: the input has no page files. It replaces a recorded one that does not exist
                on this machine, or is a link to it.
            dry_run: nothing is recorded.

        Raises:
            OtherRoot: the index has another one, which still exists.
        """
        if root in (None, self.root()):
            return
        with nullcontext() if dry_run else write_session(self._index):
            recorded = self.root()
            if recorded and Path(recorded).is_dir() and str(Path(recorded).resolve()) != root:
                raise errors.OtherRoot(self._name, recorded, str(root))
            if not dry_run:
                self._index.set_note(ROOT, root)

    def recluster(
        self,
        progress: Callable[[Progress], None] | None = None,
        *,
        dry_run: bool = False,
        settings: Settings | None = None,
    ) -> ReclusterReport:
        """Learn statistics and compare and cluster all stored pages again, from their features.

        From then on these are the settings in force. Features of pages with passages that people have decided to ignore are made again
        from kept texts before.

        Args:
            progress: called with the progress.
            dry_run: report what would change and write nothing; features count as they are stored.
            settings: what to decide by, as ``settings_with`` gives them; None: the caller's.

        Raises:
            IndexLocked, IndexUnavailable: see ``errors``; the clusters stay as they were.
        """
        settings = settings or self._wanted()
        if dry_run:
            corpus, before = load_corpus(self._index), self._canonical()
            edges = decide_corpus(corpus, settings, progress or silent).edges
            rules = ClusterRules(settings.cluster, load_constraints(self._index))
            then = cluster_all(corpus.keys, edges, rules)
            return ReclusterReport.of(before, {each.page_id: each.canonical for each in then.values()})
        with write_session(self._index):
            before = self._canonical()
            self._index.set_note(CLUSTERS_PENDING, "1")
            without_text = apply_ignored(self._index, settings, compress_text)
            self._recluster(settings, progress)
            self._index.set_note(CLUSTERS_PENDING, None)
            return ReclusterReport.of(before, self._canonical(), without_text)

    def recluster_as_before(self, *, keep_pending: bool = False) -> None:
        """``recluster`` with the settings that the clusters were made with: for repair.

        Args:
            keep_pending: leave the note ``CLUSTERS_PENDING`` to the caller, who removes it when documents have followed.
        """
        settings = with_recorded(self._given, decisions_in(self._index.note(STATISTICS)))
        with write_session(self._index):
            self._recluster(settings, None)
            if not keep_pending:
                self._index.set_note(CLUSTERS_PENDING, None)

    def _recluster(self, settings: Settings, progress: Callable[[Progress], None] | None) -> None:
        """Cluster everything anew; the caller removes the note ``CLUSTERS_PENDING``."""
        self._index.set_note(CLUSTERS_PENDING, "1")
        recluster(self._index, settings, progress or silent)
        self._looked = 0.0

    def _canonical(self) -> dict[str, str]:
        """The canonical document of each clustered page, by page id."""
        return {each.page_id: each.canonical for group in self._index.clusters() for each in group}

    def _heal(self) -> None:
        """Recluster a small index when a writer was stopped half-way or the statistics cannot be read; not beside a writer at work.

        With attached source indices the next job or ``audit --repair`` does so, and writes the documents that change.
        """
        unfinished = self._index.note(CLUSTERS_PENDING) is not None and not attached(self._index)
        if (not unfinished and self._readable()) or self._index.count() > QUICK_PAGES:
            return
        with suppress(IndexLocked), self._index.writing():
            if self._index.note(CLUSTERS_PENDING) is not None or not self._readable():
                self.recluster_as_before()

    def _readable(self) -> bool:
        try:
            self._statistics()
        except NotAnIndex:
            return False
        return True

    def _wanted(self) -> Settings:
        """The caller's settings; those that nobody has given are as the index records them."""
        return adopted(self._given, decisions_in(self._index.note(STATISTICS)))

    def _written_with(self, *, whole: bool) -> tuple[Settings, bool]:
        """Settings that pages are clustered with, and whether the caller's differ from those in force.

        The caller's take effect where everything is clustered anew (``whole``), and where nothing is stored yet.
        """
        self._looked = 0.0
        other = bool(self._in_force().differences)
        if other and (whole or not self._index.count()):
            return self._wanted(), other
        if other:
            self._warn()
        return self._settings, other

    def _ingest(
        self,
        pages: Iterable[Page],
        policy: WritePolicy,
        progress: Callable[[Progress], None] | None,
        *,
        dry_run: bool,
        whole: bool,
    ) -> AddReport:
        source = checked_pages(pages)
        reading = PageInput(source)
        made: Iterable[Chunk] | None = None
        if dry_run or policy is WritePolicy.FAIL:
            settings, _ = self._written_with(whole=whole)
            made = list(self._chunks(source, settings, dry_run=dry_run))
            lookup, before = partial(self._lookup, settings), self._index.count()
            report = Ingest(self._index, settings, lookup, progress, before, policy).preview(made)
            if dry_run:
                return report
        with write_session(self._index) as alone:
            settings, other = self._written_with(whole=whole)
            if made is None:
                made = self._chunks(reading, settings)
            before = self._stored if alone and self._stored else self._index.count()
            self._stored = None
            lookup = partial(self._lookup, settings)
            ingest = Ingest(self._index, settings, lookup, progress, before, policy, whole=whole)
            try:
                ingest.write(made, reading)
                report = ingest.finish(again=whole and other)
                self._compared = ingest.compared
                self._constraints = load_constraints(self._index)
                if policy is WritePolicy.MARK:
                    self._stored = ingest.total
            finally:
                self._looked = 0.0  # statistics are read again where the note of them has changed
            if whole:  # another command may follow at once
                self._index.refresh()
        return report

    def _chunks(self, pages: Iterable[Page], settings: Settings, *, dry_run: bool = False) -> Iterator[Chunk]:
        codec = None if dry_run else factory.text_codec(settings)
        maker = FeatureMaker(settings, codec, self._index.keeps_named, load_ignored(self._index))
        return maker.chunks(pages)
