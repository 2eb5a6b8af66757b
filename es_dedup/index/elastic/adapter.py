"""``ElasticIndex``: features, clusters and statistics in Elasticsearch, behind the port."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_dedup.errors import IndexError_
from es_dedup.index.cluster_changes import Assignment, ClusterChanges
from es_dedup.index.elastic import documents
from es_dedup.index.elastic.clusters import ClusterDocuments
from es_dedup.index.elastic.collection import WINDOW, Result, Write, any_of, read_several, write_all
from es_dedup.index.elastic.documents import assignments_in, hash_of, hash_token, key_of, storable
from es_dedup.index.elastic.locking import WAITING
from es_dedup.index.elastic.read_your_writes import CREATED
from es_dedup.index.elastic.schema import FEATURES
from es_dedup.index.elastic.server import CONFLICT, reads_answers
from es_dedup.index.elastic.store import note_key
from es_dedup.index.port import NO_NOTES, Notes
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.records import FeatureRecord, RecordBatch
    from es_dedup.model import CandidateQuery, CandidateResult


@reads_answers()
class ElasticIndex(ClusterDocuments):
    """The port ``Index`` over four Elasticsearch indices whose names begin with one name.

    Threads may share one object. Reads by id see every write at once; searches see the writes of the same object, because
    they are preceded by a refresh where something was written since the last one.

    Traps:
        - A write is many requests: when it raises, a part of it may be kept. To repeat it is safe.
        - ``replace_all`` makes a new index and puts it in use in one step; what others write meanwhile is lost. Hold
          ``writing()`` around it, as ``Deduplicator`` does.
        - A forked process gets connections of its own.

    Use it in a ``with`` block, or call ``close``.
    """

    @property
    def keeps_named(self) -> bool:
        """See ``Index.keeps_named``; setting ``elastic.named_fields`` when the index was made."""
        return self._schema.keeps_named

    def put_distinct(self, batch: RecordBatch, notes: Notes) -> dict[str, str]:
        """See ``Index.put_distinct``."""
        return self._put(batch, "index", notes)[0]

    def put_new(self, batch: RecordBatch, notes: Notes = NO_NOTES) -> tuple[dict[str, str], set[str]]:
        """See ``Index.put_new``."""
        kept, failed = batch.storable()
        refused, stored = self._put(kept, "create", notes)
        return failed | refused, stored

    def _put(self, batch: RecordBatch, operation: str, notes: Notes) -> tuple[dict[str, str], set[str]]:
        """Write notes, features and texts in one request; where that can be, searches are completed by what is kept here, and need no refresh."""
        with_text = [place for place, text in enumerate(batch.texts) if text]
        before = self._note_writes(notes)
        pages = documents.writes(
            batch, self._pages, self._schema.fields, named=self.keeps_named, operation=operation
        )
        texts = self._text_writes(batch, with_text, operation)
        complete = False
        with self._one_write:
            try:
                done = self._pages.attempt([*before, *pages, *texts], completed=True)
                results = dict(enumerate(done[len(before) :][: len(batch.ids)]))
                if not all(result.done for result in done[: len(before)]):
                    self._meta.write(self._note_writes(notes))  # pages may be stored without them
                self._session_notes |= notes
                stored = {place: result for place, result in results.items() if result.done}
                complete = self._recent.add(batch, list(stored), list(stored.values()))
            finally:
                if not complete or not self._searcher.one_shard:
                    self._pages.mark()
                if with_text:
                    self._texts.mark()
        conflicts = {batch.ids[place] for place, result in results.items() if result.status == CONFLICT}
        self._must_be_ours(results.values(), set(batch.ids) - conflicts)
        written = dict(zip(with_text, done[len(before) + len(batch.ids) :], strict=True))
        self._take_back(batch, {place: result for place, result in written.items() if place not in stored})
        refused = {place for place in results.keys() - stored.keys() if batch.ids[place] not in conflicts}
        # A page that was removed may have left a text behind, so that it could not be created.
        left_over = [place for place in stored if place in written and not written[place].done]
        self._texts.write(self._text_writes(batch, left_over))
        # A page that was not there before has no text that could be left over.
        without = [
            place for place, result in stored.items() if result.status != CREATED and place not in written
        ]
        self._drop_texts(batch.ids[place] for place in without)
        return {batch.ids[place]: results[place].reason for place in refused}, conflicts

    def _take_back(self, batch: RecordBatch, written: Mapping[int, Result]) -> None:
        """Remove texts that were written, by place, where the index has another version of the page, or none.

        Where an interrupted call has stored the page, its text belongs to it.
        """
        done = {batch.ids[place]: place for place, result in written.items() if result.done}
        there = self.get_many(done)
        gone = [
            self._texts.delete(key_of(page_id), written[place].condition)
            for page_id, place in done.items()
            if page_id not in there or there[page_id].content != batch.content(place)
        ]
        results = self._texts.attempt(gone)
        self._texts.must_be_done(result for result in results if result.status != CONFLICT)

    def _must_be_ours(self, results: Iterable[Result], page_ids: Iterable[str]) -> None:
        """Take features back that went to a generation of other settings, and say so."""
        try:
            self._schema.noticed(FEATURES, {result.index for result in results if result.done})
        except IndexError_:
            writes = [self._pages.delete(key_of(page_id)) for page_id in page_ids]
            write_all(self._server, writes, alias=True)  # the collection itself writes no more
            raise

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        """See ``Index.get_many``: without payloads."""
        read = self._pages.read(map(key_of, storable(page_ids)), fields=documents.FIELDS)
        return {record.page_id: record for record in map(documents.record_of, read)}

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        """See ``Index.payloads``."""
        self._catch_up(self._pages, completed=True)
        wanted = storable(page_ids)
        found = self._recent.payloads(wanted) if self._searcher.one_shard else {}
        self._search_payloads(wanted, found)
        if len(found) < len(wanted):  # another process has just stored some, or a copy that lags has answered
            with suppress(IndexError_):  # who may only read cannot refresh
                self._refresh([self._pages])
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
                "docvalue_fields": list(documents.COMPARED),
            }
            found.update(map(documents.payload_of, self._pages.hits(body)))

    def pages_and_assignments(
        self, page_ids: Iterable[str], notes: Sequence[str] = ()
    ) -> tuple[dict[str, FeatureRecord], dict[str, Assignment], dict[str, str | None]]:
        """See ``Index.pages_and_assignments``."""
        keys = [key_of(page_id) for page_id in storable(page_ids)]
        kept_lock = self._lock.kept
        features, kept, said, waiting = read_several(
            (self._pages, keys, documents.FIELDS),
            (self._clusters, keys, True),
            (self._meta, [note_key(name) for name in notes], True),
            (self._meta, [WAITING] if kept_lock else [], False),
        )
        if kept_lock:
            self._lock.saw(next(iter(waiting), None))
        stored = {record.page_id: record for record in map(documents.record_of, features)}
        return stored, assignments_in(kept), self._notes_in(said, notes)

    def named(self, page_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """See ``Index.named``."""
        fields = ("page_id", *self._schema.fields.types)
        read = self._pages.read(map(key_of, storable(page_ids)), fields=fields)
        sources = (dict(document["_source"]) for document in read)
        return {source.pop("page_id"): source for source in sources}

    def candidates_with_copies(
        self, candidate_queries: Sequence[CandidateQuery], hashes: Sequence[int], *, limit: int | None = None
    ) -> tuple[list[CandidateResult], dict[int, list[str]]]:
        """See ``Index.candidates_with_copies``."""
        if not candidate_queries and not hashes:
            return [], {}
        self._catch_up(self._pages, completed=True)
        tokens = [hash_token(value) for value in dict.fromkeys(hashes) if value]
        parts = list(chunked(tokens, documents.HASHES_AT_A_TIME))
        several, unseen = not self._searcher.one_shard, len(self._recent)
        recent = self._recent.copies(hashes)
        answers, found = self._searcher.ask(
            candidate_queries, [json.dumps(documents.copies_search(some)) for some in parts]
        )
        if not several and not self._searcher.one_shard and unseen:  # found out just now
            self._show_pages()
            return self.candidates_with_copies(candidate_queries, hashes, limit=limit)
        copies: dict[int, list[str]] = {}
        for some, answer in zip(parts, found, strict=True):
            hits = self._pages.hits_in(answer)
            if len(hits) >= documents.FEW:  # some hashes have very many: each is asked for by itself
                fields = ("content_hash",)
                queries = [any_of("content_hash", [token]) for token in some]
                found_of = [
                    self._pages.first(each, documents.BY_ID, limit, fields=fields) for each in queries
                ]
                hits = [hit for of_hash in found_of for hit in of_hash]
            for hit in hits:
                copies.setdefault(hash_of(hit["_source"]["content_hash"]), []).append(hit["sort"][0])
        for value, names in recent.items():
            copies[value] = sorted({*copies.get(value, ()), *names})
        return answers, {value: names[:limit] for value, names in copies.items()}

    def delete_many(self, page_ids: Iterable[str]) -> int:
        """See ``Index.delete_many``."""
        wanted = storable(page_ids)
        if not wanted:
            return 0
        results = self._pages.write(self._pages.delete(key_of(page_id)) for page_id in wanted)
        self._drop_texts(wanted)
        changes = ClusterChanges()
        changes.drop(self.edges_of(wanted))
        changes.unassign(wanted)
        self.change_clusters(changes)
        return sum(result.condition is not None and result.status < 300 for result in results)  # noqa: PLR2004 - HTTP

    def erase(self, page_ids: Iterable[str]) -> str:
        """See ``Index.erase``: what tells of a page's removal goes, and segments with deleted documents are merged."""
        self._clusters.write(self._removals(page_ids))
        names = ",".join(each.name for each in (self._pages, self._clusters, self._texts, self._meta))
        self.refresh()
        self._server.call(lambda client: client.indices.forcemerge(index=names, only_expunge_deletes=True))
        stats = self._server.call(lambda client: client.indices.stats(index=names, metric="docs"))
        left = int(stats["_all"]["primaries"]["docs"]["deleted"])
        if not left:
            return ""
        return (
            f"{left:,} deleted documents are still in segments until the server merges them; "
            f"POST {names}/_forcemerge?max_num_segments=1 does so at once"
        )

    def names_page(self, page_id: str) -> bool:
        """See ``Index.names_page``: in what tells of its removal."""
        return any(self._removals([page_id]))

    def _removals(self, page_ids: Iterable[str]) -> Iterator[Write]:
        """What removes the documents that tell of removed assignments, of pages that were not clustered again."""
        for document in self._clusters.read(map(key_of, storable(page_ids))):
            if "cluster_id" not in document["_source"]:
                condition = document["_seq_no"], document["_primary_term"]
                yield self._clusters.delete(document["_id"], condition)

    def scan(self, *, after: str | None = None, batch: int = 1000) -> Iterator[list[FeatureRecord]]:
        """See ``Index.scan``."""
        self._show_pages()
        for hits in self._pages.pages(
            {"match_all": {}},
            documents.BY_ID,
            after=[after] if after else None,
            size=min(batch, WINDOW),
            fields=documents.FIELDS,
            values=documents.COMPARED,
        ):
            yield [
                replace(documents.record_of(hit), payload=documents.payload_of(hit)[1][0], version=None)
                for hit in hits
            ]

    def pages_before(self, day: str) -> Iterator[list[str]]:
        """See ``Index.pages_before``."""
        self._show_pages()
        old = {"range": {"published": {"gt": "", "lt": day}}}
        for hits in self._pages.pages(old, documents.BY_ID, fields=False):
            yield [hit["sort"][0] for hit in hits]

    def count(self) -> int:
        """See ``Index.count``."""
        self._show_pages()
        return self._pages.count({"match_all": {}})
