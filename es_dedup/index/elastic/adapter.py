"""``ElasticIndex``: features, clusters and statistics in Elasticsearch, behind the ports."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexError_
from es_dedup.index import validation
from es_dedup.index.base import IndexBase
from es_dedup.index.elastic import changes, clusters, fulltext, records
from es_dedup.index.elastic.bulk import Write
from es_dedup.index.elastic.candidates import CandidateSearcher
from es_dedup.index.elastic.cluster_lists import ClusterLists
from es_dedup.index.elastic.deletion import expunge
from es_dedup.index.elastic.locking import WAITING
from es_dedup.index.elastic.mappings import CLUSTERS, FEATURES, KINDS, META, TEXTS
from es_dedup.index.elastic.notes import note_key
from es_dedup.index.elastic.options import Options
from es_dedup.index.elastic.read_your_writes_clusters import ClusterBatch, ClusterChanges
from es_dedup.index.elastic.read_your_writes_pages import CREATED
from es_dedup.index.elastic.reading import (
    WINDOW,
    any_of,
    documents,
    documents_of_several,
    pages_of_hits,
    search,
    whole,
)
from es_dedup.index.elastic.server import CONFLICT, reading, reads_answers
from es_dedup.index.elastic.store import Store
from es_dedup.index.elastic.tokens import key_of, storable
from es_dedup.index.port import NO_NOTES, WriteReport
from es_dedup.model.batches import chunked
from es_dedup.text.tokens import characters_apart

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.elastic.address import Address
    from es_dedup.index.elastic.bulk import Result
    from es_dedup.index.elastic.fields import TermFields
    from es_dedup.index.port import Assignment
    from es_dedup.index.records import FeatureRecord, RecordBatch
    from es_dedup.model import CandidateQuery, CandidateResult, Edge
    from es_dedup.model.cluster_changes import ClusterChange, Cursor
    from es_dedup.model.cluster_lists import ClusterQuery, ClusterSummary, Place


REPLACED_AT_A_TIME: Final = (
    5_000  # edges or assignments of ``replace_all`` whose answers are looked at together
)


@reads_answers("put_edges", "assign_many", "replace_all")
class ElasticIndex(Store, IndexBase):
    """All ports of ``es_dedup.index.port`` over four Elasticsearch indices whose names begin with one name.

    Threads may share one object. Reads by id see every write at once; searches see the writes of the same object, because
    they are preceded by a refresh where something was written since the last one (``Options.fresh_reads``).

    Traps:
        - A write is many requests: when it raises, a part of it may be kept. To repeat it is safe.
        - ``replace_all`` makes a new index and puts it in use in one step; what others write meanwhile is lost. Hold
          ``writing()`` around it, as ``Deduplicator`` does.
        - A forked process gets connections of its own.

    Use it in a ``with`` block, or call ``close``.
    """

    def __init__(
        self,
        address: Address,
        *,
        features: Mapping[str, Any] | None,
        segment: Callable[[Sequence[str]], list[str]] | None = None,
        options: Options | None = None,
        read_only: bool = False,
        fields: Callable[[Mapping[str, Any]], TermFields] | None = None,
    ) -> None:
        """Open an index, or make it when it is not there.

        Args:
            address: the server, and the name that all its indices begin with.
            features: the settings that shape features, JSON-ready by name; must equal those the index was made with. None: whatever
                these are; the index must exist.
            segment: makes words, separated by spaces, of a text; for ``search`` only. Without it each Chinese
                character counts as a word.
            options: how to talk to the server.
            read_only: the index must exist and is never written.
            fields: the fields of the methods that make such features. None: no method declares any.

        Raises:
            MissingExtra: the client is not installed.
            ServerTooOld: its version is not supported.
            NotAnIndex: missing while ``read_only``, or another application's.
            SchemaMismatch: made by another version.
            SettingsMismatch: filled with other settings.
            IndexUnavailable: the server does not answer.
            IndexRefused: the server does not let us.
        """
        super().__init__(address, features, options or Options(), fields, read_only=read_only)
        self._segment = segment or characters_apart
        self._searcher = CandidateSearcher(self._server, self._of[FEATURES], self._recent, self._schema)
        try:
            with reading(self._server.name):
                self._server.must_be_supported()
                self._schema.open(read_only=read_only or features is None)
        except BaseException:
            self._server.close()
            raise

    @property
    def features(self) -> Mapping[str, Any]:
        """See ``Index.features``."""
        return self._schema.features

    def close(self) -> None:
        """Let go of the connections; may be called twice. Later calls raise ``IndexUnavailable``."""
        self._lock.give_up()
        self._server.close()

    # FeatureIndex

    @property
    def keeps_named(self) -> bool:
        """See ``FeatureIndex.keeps_named``; setting ``elastic.named_fields`` when the index was made."""
        return self._schema.keeps_named

    def put_batch(self, batch: RecordBatch, notes: Mapping[str, str | None] = NO_NOTES) -> WriteReport:
        """See ``FeatureIndex.put_batch``."""
        return self._put(batch, "index", notes)[0]

    def put_new(
        self, batch: RecordBatch, notes: Mapping[str, str | None] = NO_NOTES
    ) -> tuple[WriteReport, set[str]]:
        """See ``FeatureIndex.put_new``."""
        return self._put(batch, "create", notes)

    def _put(
        self, batch: RecordBatch, operation: str, notes: Mapping[str, str | None]
    ) -> tuple[WriteReport, set[str]]:
        wrong = dict(validation.problems(batch))
        failed = {batch.ids[place]: reason for place, reason in wrong.items()}
        last = {page_id: place for place, page_id in enumerate(batch.ids) if place not in wrong}
        places = list(last.values())
        results, texts = self._write_pages(batch, places, operation, notes)
        there = {page_id for page_id, result in zip(last, results, strict=True) if result.status == CONFLICT}
        self._must_be_ours(results, last.keys() - there)
        for page_id, result in zip(last, results, strict=True):
            if not result.done and page_id not in there:
                failed[page_id] = result.reason
        # A page that was not there before has no text that could be left over.
        new = {page_id for page_id, result in zip(last, results, strict=True) if result.status == CREATED}
        stored = [place for page_id, place in last.items() if page_id not in failed and page_id not in there]
        self._put_texts(batch, [place for place in stored if place not in texts], new)
        return WriteReport(sum(result.done for result in results), failed), there

    def _write_pages(
        self, batch: RecordBatch, places: Sequence[int], operation: str, notes: Mapping[str, str | None]
    ) -> tuple[list[Result], set[int]]:
        """Write features; where that can be, searches are completed by what is kept here, and need no refresh.

        Returns:
            One result per page, and the places of the pages whose texts were written with them, as those of new pages are.
        """
        schema = self._schema
        index, named = self._of[FEATURES], schema.keeps_named
        pages = records.writes(batch, places, index, schema.fields, named=named, operation=operation)
        before = self._keeping.writes(notes)
        with_text = [
            place for place in places if operation == "create" and len(batch.texts) and batch.texts[place]
        ]
        texts = fulltext.writes(batch, with_text, self._of[TEXTS], self._segment, operation)
        complete = False
        with self._one_write:
            try:
                done = self._write(FEATURES, [*before, *pages, *texts], shown=True)
                if not all(result.done for result in done[: len(before)]):
                    self._keeping.set_notes(notes)  # pages may be stored without them
                self._noted |= notes
                results = done[len(before) : len(before) + len(places)]
                written = [place for place, result in zip(places, results, strict=True) if result.done]
                complete = self._recent.add(batch, written, [result for result in results if result.done])
            finally:
                if not complete or not self._searcher.one_shard:
                    self._mark(FEATURES)
                if with_text:
                    self._mark(TEXTS)
        refused = [
            batch.ids[place]
            for place, result in zip(places, results, strict=True)
            if not result.done and result.status != CONFLICT and place in with_text
        ]
        self._must_all(self._write(TEXTS, self._deletes(TEXTS, refused)))
        of_texts = zip(with_text, done[len(before) + len(places) :], strict=True)
        return results, {place for place, result in of_texts if result.done}

    def _must_be_ours(self, results: Sequence[Result], page_ids: Iterable[str]) -> None:
        """Take features back that went to a generation of other settings, and say so."""
        try:
            self._watch.seen(FEATURES, {result.index for result in results if result.done})
        except IndexError_:
            self._send(self._deletes(FEATURES, page_ids), alias=True)
            raise

    def _put_texts(self, batch: RecordBatch, places: Sequence[int], new: Collection[str]) -> None:
        texts = batch.texts
        with_text = [place for place in places if len(texts) and texts[place]]
        without = [
            batch.ids[place] for place in set(places).difference(with_text) if batch.ids[place] not in new
        ]
        gone = documents(self._server, self._of[TEXTS], map(key_of, without), fields=False)
        deletes = [Write("delete", self._of[TEXTS], found["_id"]) for found in gone]
        writes = fulltext.writes(batch, with_text, self._of[TEXTS], self._segment)
        self._must_all(self._write(TEXTS, writes))
        self._must_all(self._write(TEXTS, deletes))

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """See ``FeatureIndex.get_many``: without payloads."""
        wanted = storable(page_ids)
        keys = map(key_of, wanted)
        read = map(
            records.record_of, documents(self._server, self._of[FEATURES], keys, fields=records.FIELDS)
        )
        found = {record.page_id: record for record in read}
        return {page_id: found[page_id] for page_id in wanted if page_id in found}

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        """See ``FeatureIndex.payloads``."""
        self._catch_up(FEATURES)
        wanted = storable(page_ids)
        found = self._recent.payloads(wanted) if self._searcher.one_shard else {}
        self._search_payloads(wanted, found)
        if len(found) < len(wanted):  # another process has just stored some, or a copy that lags has answered
            with suppress(IndexError_):  # who may only read cannot refresh
                self._refresh([FEATURES])
                self._search_payloads(wanted, found)
        return found

    def _search_payloads(self, wanted: Sequence[str], found: dict[str, tuple[bytes, str]]) -> None:
        """Add payloads and times of the pages that are wanted and not found yet, as searches see them."""
        for some in chunked([page_id for page_id in wanted if page_id not in found], WINDOW):
            body = {
                "query": any_of("page_id", some),
                "size": len(some),
                "source": False,
                "stored_fields": "_none_",
                "docvalue_fields": list(records.COMPARED),
            }
            found.update(map(records.payload_of, search(self._server, self._of[FEATURES], body)))

    def pages_and_assignments(
        self, page_ids: Iterable[str], notes: Sequence[str] = ()
    ) -> tuple[dict[str, FeatureRecord], dict[str, Assignment], dict[str, str | None]]:
        """See ``Index.pages_and_assignments``."""
        wanted = storable(page_ids)
        keys = [key_of(page_id) for page_id in wanted]
        kept_lock = self._lock.kept
        features, kept, said, waiting = documents_of_several(
            self._server,
            (self._of[FEATURES], keys, records.FIELDS),
            (self._of[CLUSTERS], keys, True),
            (self._of[META], [note_key(name) for name in notes], True),
            (self._of[META], [WAITING] if kept_lock else [], False),
        )
        if kept_lock:
            self._lock.saw(next(iter(waiting), None))
        found = {record.page_id: record for record in map(records.record_of, features)}
        groups = clusters.assignments_in(kept)
        return (
            {page_id: found[page_id] for page_id in wanted if page_id in found},
            {page_id: groups[page_id] for page_id in wanted if page_id in groups},
            self._keeping.notes_in(said, notes),
        )

    def named(self, page_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """See ``FeatureIndex.named``."""
        wanted = map(key_of, storable(page_ids))
        found = documents(
            self._server, self._of[FEATURES], wanted, fields=("page_id", *self._schema.fields.types)
        )
        return dict(map(records.named_of, found))

    def texts(self, page_ids: Iterable[str]) -> dict[str, str]:
        """See ``FeatureIndex.texts``."""
        return fulltext.texts(self._server, self._of[TEXTS], page_ids)

    def candidates_with_copies(
        self, candidate_queries: Sequence[CandidateQuery], hashes: Sequence[int], *, limit: int | None = None
    ) -> tuple[list[CandidateResult], dict[int, list[str]]]:
        """See ``FeatureIndex.candidates_with_copies``."""
        if not candidate_queries and not hashes:
            return [], {}
        if any(candidate_query.scope is not None for candidate_query in candidate_queries):
            self._show(FEATURES)
        self._catch_up(FEATURES)
        searches = [json.dumps(search) for search in records.hash_searches(hashes)]
        several, unseen = not self._searcher.one_shard, len(self._recent)
        recent = self._recent.copies(hashes)
        answers, found = self._searcher.ask(candidate_queries, searches)
        if not several and not self._searcher.one_shard and unseen:  # found out just now
            self._show(FEATURES)
            return self.candidates_with_copies(candidate_queries, hashes, limit=limit)
        copies = records.pages_with_hash(self._server, self._of[FEATURES], hashes, found, limit)
        for value, names in recent.items():
            copies[value] = sorted({*copies.get(value, ()), *names})[:limit]
        return answers, copies

    def delete_many(self, page_ids: Iterable[str]) -> int:
        """See ``FeatureIndex.delete_many``."""
        wanted = storable(page_ids)
        if not wanted:
            return 0
        results = self._write(FEATURES, self._deletes(FEATURES, wanted))
        self._must_all(results)
        kept = documents(self._server, self._of[TEXTS], map(key_of, wanted), fields=False)
        self._must_all(self._write(TEXTS, [Write("delete", self._of[TEXTS], found["_id"]) for found in kept]))
        changes = ClusterChanges()
        changes.drop(self.edges_of(wanted))
        changes.unassign(wanted)
        self._change(changes)
        return sum(result.condition is not None and result.status < 300 for result in results)  # noqa: PLR2004 - HTTP

    def erase(self, page_ids: Iterable[str]) -> str:
        """See ``FeatureIndex.erase``: what tells of a page's removal goes, and segments with deleted documents are merged."""
        self._must_all(self._write(CLUSTERS, clusters.removed(self._server, self._of[CLUSTERS], page_ids)))
        return expunge(self._server, list(self._of.values()))

    def names_page(self, page_id: str) -> bool:
        """See ``FeatureIndex.names_page``: in what tells of its removal."""
        return any(clusters.removed(self._server, self._of[CLUSTERS], [page_id]))

    def scan(self, *, after: str | None = None, batch: int = 1000) -> Iterator[list[FeatureRecord]]:
        """See ``FeatureIndex.scan``."""
        self._show(FEATURES)
        for hits in pages_of_hits(
            self._server,
            self._of[FEATURES],
            {"match_all": {}},
            records.BY_ID,
            after=[after] if after else None,
            size=min(batch, WINDOW),
            fields=records.FIELDS,
            values=records.COMPARED,
        ):
            yield [
                replace(records.record_of(hit), payload=records.payload_of(hit)[1][0], version=None)
                for hit in hits
            ]

    def pages_before(self, day: str) -> Iterator[list[str]]:
        """See ``FeatureIndex.pages_before``."""
        self._show(FEATURES)
        old = {"range": {"published": {"gt": "", "lt": day}}}
        for hits in pages_of_hits(self._server, self._of[FEATURES], old, records.BY_ID, fields=False):
            yield [hit["sort"][0] for hit in hits]

    def search(self, query: str, *, limit: int = 10, offset: int = 0) -> list[tuple[str, float]]:
        """See ``FeatureIndex.search``."""
        if not validation.encodable(query):
            return []
        self._catch_up(TEXTS)
        return fulltext.search(self._server, self._of[TEXTS], self._segment([query])[0], limit, offset)

    def matches(self, query: str) -> int:
        """See ``FeatureIndex.matches``."""
        if not validation.encodable(query):
            return 0
        self._catch_up(TEXTS)
        return fulltext.matches(self._server, self._of[TEXTS], self._segment([query])[0])

    def note(self, name: str) -> str | None:
        """See ``FeatureIndex.note``."""
        return self.notes([name])[name]

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        """See ``FeatureIndex.notes``."""
        wanted = list(names)
        if not self._lock.inside():
            return self._keeping.notes(wanted)
        if unread := [name for name in wanted if name not in self._noted]:
            self._noted |= self._keeping.notes(unread)
        return {name: self._noted[name] for name in wanted}

    def note_names(self) -> list[str]:
        """See ``FeatureIndex.note_names``."""
        return self._keeping.names()

    def set_note(self, name: str, value: str | None) -> None:
        """See ``FeatureIndex.set_note``."""
        self.set_notes({name: value})

    def set_notes(self, notes: Mapping[str, str | None]) -> None:
        """See ``FeatureIndex.set_notes``."""
        self._must_write()
        self._noted = {name: value for name, value in self._noted.items() if name not in notes}
        self._keeping.set_notes(notes)
        if self._lock.inside():
            self._noted |= notes

    def count(self) -> int:
        """See ``FeatureIndex.count``."""
        self._show(FEATURES)
        body = {"query": {"match_all": {}}, "size": 0, "track_total_hits": True}
        return int(whole(self._server, self._of[FEATURES], body)["hits"]["total"]["value"])

    def refresh(self) -> None:
        """See ``FeatureIndex.refresh``."""
        self._refresh(KINDS)

    def compact(self, segments: int = 1) -> None:
        """Merge features into few segments: candidate queries become several times cheaper, and what recovery kept is let go of.

        For use after a large load; takes about a minute for a million pages, and room for one more copy meanwhile.

        Args:
            segments: how many are left, at least 1, in each shard.
        """
        self._must_write()
        self._schema.merge(FEATURES, segments)

    # ClusterStore

    def put_edges(self, edges: Iterable[Edge]) -> None:
        """See ``ClusterStore.put_edges``."""
        changes = ClusterChanges()
        changes.put(edges)
        self._change(changes)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        """See ``ClusterStore.edges_of``."""
        return self.edges_and_members(page_ids, ())[0]

    def edges_and_members(
        self, page_ids: Iterable[str], cluster_ids: Iterable[str]
    ) -> tuple[list[Edge], dict[str, list[Assignment]]]:
        """See ``ClusterStore.edges_and_members``."""
        changes = self._known_changes()
        self._catch_up(CLUSTERS)
        pages, wanted = list(page_ids), list(cluster_ids)
        edges, found = clusters.edges_and_members(self._server, self._of[CLUSTERS], pages, wanted)
        return changes.edges_of(pages, edges), clusters.grouped(changes.members(wanted, found))

    @contextmanager
    def batched_cluster_updates(self) -> Iterator[ClusterBatch]:
        """See ``Index.batched_cluster_updates``: one request when the block ends."""
        batch = ClusterBatch(self)
        yield batch
        self._change(batch.changes, batch.changed_notes)

    def drop_edges(self, page_ids: Iterable[str]) -> None:
        """See ``ClusterStore.drop_edges``."""
        changes = ClusterChanges()
        changes.drop(self.edges_of(page_ids))
        self._change(changes)

    def replace_all(self, edges: Iterable[Edge], assignments: Iterable[Assignment]) -> None:
        """See ``ClusterStore.replace_all``."""
        self._must_write()
        concrete = self._schema.next_index(CLUSTERS)
        try:
            for some in chunked(edges, REPLACED_AT_A_TIME):
                self._must_all(self._send(clusters.edge_writes(some, concrete), alias=False))
            for each in chunked(assignments, REPLACED_AT_A_TIME):
                self._must_all(self._send(clusters.assignment_writes(each, concrete), alias=False))
            self._schema.refresh([concrete])
            self._lock.check()
            self._schema.swap(CLUSTERS, concrete)
        except BaseException:
            self._schema.drop(concrete)
            raise
        with self._guard:
            self._others += 1

    def assign_many(self, assignments: Iterable[Assignment]) -> None:
        """See ``ClusterStore.assign_many``."""
        changes = ClusterChanges()
        changes.assign(assignments)
        self._change(changes)

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``ClusterStore.assignments``."""
        return clusters.assignments(self._server, self._of[CLUSTERS], page_ids)

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        """See ``ClusterStore.members``."""
        return self.edges_and_members((), cluster_ids)[1]

    def clusters(self, *, min_size: int = 1, after: str | None = None) -> Iterator[list[Assignment]]:
        """See ``ClusterStore.clusters``."""
        self._show(CLUSTERS)
        yield from clusters.clusters(self._server, self._of[CLUSTERS], min_size=min_size, after=after)

    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        """See ``ClusterStore.list_clusters``."""
        return self._lists().listed(query, after, limit)

    def cluster_sizes(self) -> Counter[int]:
        """See ``ClusterStore.cluster_sizes``."""
        self._show(CLUSTERS)
        return clusters.cluster_sizes(self._server, self._of[CLUSTERS])

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        """See ``ClusterStore.duplicate_counts``."""
        return self._lists().duplicate_counts()

    def _lists(self) -> ClusterLists:
        self._show(FEATURES)
        self._show(CLUSTERS)
        return ClusterLists(self._server, self._of[CLUSTERS], self._of[FEATURES])

    def changes(self, since: Cursor | None = None) -> Iterator[ClusterChange]:
        """See ``ClusterStore.changes``."""
        return changes.changes(self._server, self._of[CLUSTERS], self.refresh_clusters, since)

    def changes_end(self) -> Cursor:
        """See ``ClusterStore.changes_end``."""
        return changes.end(self._server, self._of[CLUSTERS])

    def refresh_clusters(self) -> None:
        """See ``ClusterStore.refresh_clusters``."""
        self._refresh([CLUSTERS])

    # StatisticsStore

    def load_statistics(self) -> bytes | None:
        """See ``StatisticsStore.load_statistics``."""
        return self._keeping.load()

    def save_statistics(self, snapshot: bytes) -> None:
        """See ``StatisticsStore.save_statistics``."""
        self._must_write()
        self._keeping.save(snapshot)

    # Index

    def sizes(self) -> dict[str, int]:
        """Bytes that the server stores per kind of index, without replicas, and their ``total``."""
        self.refresh()
        found = {kind: self._schema.size(kind) for kind in KINDS}
        return found | {"total": sum(found.values())}
