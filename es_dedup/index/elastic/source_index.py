"""The source index on Elasticsearch: the mapping of ``dedup``, reading and scanning documents, writing their ``dedup`` fields."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexRefused, MappingConflict, SourceIncomplete
from es_dedup.index.elastic import source_facts
from es_dedup.index.elastic.collection import KEYS_AT_A_TIME, Collection, Result, Write, mget
from es_dedup.index.elastic.schema import KINDS, SOURCE_INDEX, load_mapping
from es_dedup.index.elastic.server import CONFLICT, NOT_FOUND, Server, reads_answers, version_numbers
from es_dedup.index.elastic.source_facts import CLOSED, INDICES_AT_A_TIME, Alias, IndexFacts, read_facts
from es_dedup.index.elastic.source_writes import SourceWrites, is_there, place_of, report_of, write_to
from es_dedup.index.source_index import (
    DEDUP,
    DocumentKey,
    FieldUpdateReport,
    Findings,
    Shard,
    SourceDocument,
    WriteTarget,
    document_key,
)
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from elasticsearch import Elasticsearch

    from es_dedup.index.source_index import DedupField

# unmapped: an index that has never had a document
BY_SEQUENCE: Final = {"_seq_no": {"order": "asc", "unmapped_type": "long"}}
EVERY: Final[Mapping[str, Any]] = {"match_all": {}}
CLUSTER_ID: Final = f"{DEDUP}.cluster_id"
WAITING: Final = {"term": {f"{DEDUP}.waiting": True}}
NO_HITS: Final[Mapping[str, Any]] = {"hits": {"total": {"value": 0}, "hits": []}}
NO_VECTORS: Final = (9, 2)  # from this version on, what is read of a document may lack its vectors
CHECKED_SECONDS: Final = 1.0  # for which what an index was found to be holds, where the caller allows it
RETRIES: Final = 5  # of one partial update that meets another writer
_OURS: Final = re.compile(rf"-dedup-({'|'.join((*KINDS, 'jobs'))})-v\d+-\d+$")


@reads_answers()
class SourceIndex(SourceWrites):
    """Reads documents of the source indices of one cluster and writes their ``dedup`` fields; threads may share it.

    A ``target`` is an index, an alias, a data stream or a pattern.

    Args:
        server: where the source indices are.
    """

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._last: dict[str, tuple[float, IndexFacts]] = {}  # when facts were read, and which

    def close(self) -> None:
        """Let go of the connections; may be called twice."""
        self._server.close()

    def indices(self, target: str, *, closed: bool = False) -> list[str]:
        """Concrete indices behind a target, open ones and with ``closed`` all, by name, without our own; empty when there is none."""
        found = self._server.call_unless(
            lambda client: client.indices.get_settings(
                index=target,
                name=["index.uuid", CLOSED],
                expand_wildcards=["open", "closed"],
                flat_settings=True,
            ),
            NOT_FOUND,
        )
        return sorted(
            name
            for name, said in (found or {}).items()
            if (closed or CLOSED not in said["settings"]) and not _OURS.search(name)
        )

    def prepare(self, indices: Iterable[str]) -> None:
        """Put the mapping of ``dedup`` on existing indices; on one that has it nothing changes.

        Args:
            indices: concrete ones; those that do not exist are passed over.

        Raises:
            IndexRefused: a field ``dedup`` of another kind is there, or the role does not allow it.
            MappingConflict: a field below ``dedup`` has another type, most often by dynamic mapping.
            SourceIncomplete: see ``check``; no mapping was changed.
        """
        self._prepare(self._checked(indices))

    def _prepare(self, found: Mapping[str, IndexFacts]) -> None:
        for problem in self._unprepared(found).values():
            raise problem

    def _unprepared(self, found: Mapping[str, IndexFacts]) -> dict[str, IndexRefused]:
        """Put the mapping of ``dedup`` on indices; those that cannot have it, and why."""
        conflicts = {name: _conflicts(facts) for name, facts in found.items()}
        refused: dict[str, IndexRefused] = {
            name: MappingConflict(name, problem) for name, problem in conflicts.items() if problem
        }
        wanted = [name for name, facts in found.items() if not (conflicts[name] or _prepared(facts))]
        for some in chunked(wanted, INDICES_AT_A_TIME):
            try:
                self._server.call(partial(_put_mapping, some), writing=True)
            except IndexRefused as problem:
                if len(some) == 1:
                    refused[some[0]] = problem
                    continue
                for name in some:  # one of them may be the reason
                    refused |= self._unprepared({name: found[name]})
        return refused

    def pipeline_effects(self, index: str, source: Mapping[str, Any], content: str) -> Findings:
        """What the default and the final pipeline of a concrete index do with a document, which is not written.

        Args:
            index: as it is known; no effects where there is none.
            source: the document, with its ``dedup`` field.
            content: name of the field that holds the page.
        """
        return source_facts.pipeline_effects(self._server, index, source, content)

    @property
    def mapping(self) -> dict[str, Any]:
        """The mapping of ``dedup``, for ``mappings.properties`` of an index template."""
        return source_properties()

    def prepared(self, index: str) -> bool:
        """Whether a concrete index has the mapping of ``dedup``."""
        return any(map(_prepared, read_facts(self._server, [index]).values()))

    def check(self, indices: Iterable[str], *, readable: bool = False) -> None:
        """Refuse concrete indices whose documents cannot be updated without losing data; indices that do not exist pass.

        Every method that writes to documents checks their indices first. ``readable``: refuse those, too, of which a part is left out of
        what is read.

        Raises:
            SourceIncomplete: ``_source`` of an index does not hold whole documents.
        """
        for name in self._checked(indices):
            if readable and version_numbers(self._server.oldest_version()) >= NO_VECTORS:
                raise SourceIncomplete(name, "this server may leave vectors out of what is read")

    def _checked(self, indices: Iterable[str]) -> dict[str, IndexFacts]:
        """Facts of the indices that are open; asked for anew each time, as an index may be created again under its name."""
        asked = time.monotonic()
        facts_by_index = read_facts(self._server, dict.fromkeys(indices))
        found = {name: facts for name, facts in facts_by_index.items() if not facts.closed}
        for name, facts in found.items():
            if facts.source_problem:
                raise SourceIncomplete(name, facts.source_problem)
        self._last.update((name, (asked, facts)) for name, facts in found.items())
        return found

    def _just_checked(self, indices: Iterable[str]) -> dict[str, IndexFacts]:
        """As ``_checked``; indices that were checked within the last ``CHECKED_SECONDS`` are not asked for again."""
        names = set(indices)
        since = time.monotonic() - CHECKED_SECONDS
        last = {name: each[1] for name in names if (each := self._last.get(name)) and each[0] >= since}
        return last if last.keys() == names else self._checked(names)

    def cluster(self) -> str:
        """UUID of the cluster."""
        said = self._server.call(
            lambda client: client.cluster.state(metric="version", filter_path="cluster_uuid")
        )
        return str(said["cluster_uuid"])

    def server(self) -> tuple[str, float]:
        """Lowest version of the nodes, and seconds by which the server's clock is ahead of ours, about."""
        before = time.time()
        said = self._server.call(lambda client: client.nodes.stats(metric="os"))
        now = (before + time.time()) / 2
        clocks = [node["timestamp"] / 1000 - now for node in said["nodes"].values()]
        return self._server.oldest_version(), max(clocks, key=abs, default=0.0)

    def shards(self, index: str) -> list[Shard]:
        """The shards of a concrete index, after a refresh; none when the index was deleted."""
        self.refresh(index)
        settings = self._server.call_unless(
            lambda client: client.indices.get_settings(index=index, name="index.number_of_shards"), NOT_FOUND
        )
        if settings is None:
            return []
        ((_, found),) = settings.items()
        count = int(found["settings"]["index"]["number_of_shards"])
        newest = {"_seq_no": {"order": "desc", "unmapped_type": "long"}}
        body = {"size": 1, "sort": [newest], "source": False, "track_total_hits": True}
        found = [self._search(index, number, body)["hits"] for number in range(count)]
        last = [hits["hits"][0]["sort"][0] if hits["hits"] else -1 for hits in found]
        return [Shard(index, at, int(hits["total"]["value"]), int(last[at])) for at, hits in enumerate(found)]

    def read(self, page_ids: Iterable[str], fields: Sequence[str] | None) -> dict[str, SourceDocument]:
        """Documents as they are now, by page id; those that are not there are absent.

        Args:
            page_ids: of the documents; what an alias or another routing leads to is not there.
            fields: that are read; None: all.
        """
        found: dict[str, SourceDocument] = {}
        wanted = True if fields is None else [*fields, DEDUP]
        for some in chunked(dict.fromkeys(page_ids), KEYS_AT_A_TIME):
            keys = [document_key(page_id) for page_id in some]
            docs = [place_of(key) | {"_source": wanted} for key in keys]
            answers = self._server.call(partial(mget, docs))
            for key, answer in zip(keys, answers, strict=True):
                document = _document(answer, answer["_seq_no"]) if is_there(answer, self._server) else None
                if document and document.key == key:  # not when an alias named it, or it has another routing
                    found[key.page_id] = document
        return found

    def scan(
        self,
        shard: Shard,
        fields: Sequence[str],
        *,
        above: int = -1,
        to: int | None = None,
        batch: int = 500,
        query: Mapping[str, Any] = EVERY,
    ) -> Iterator[list[SourceDocument]]:
        """Documents of a shard by sequence number ascending; none when the index was deleted.

        A sequence number survives restarts of the server, so that a scan goes on where another stopped. A document
        that is written meanwhile gets a higher one, and is met there.

        Args:
            shard: of a concrete index.
            fields: that are read.
            above: only documents with a higher sequence number.
            to: only documents with at most this one; None: all.
            batch: most documents at once.
            query: only documents that it finds.
        """
        last = above
        while True:
            bounds = {"gt": last} if to is None else {"gt": last, "lte": to}
            body = {
                "query": {"bool": {"filter": [query, {"range": {"_seq_no": bounds}}]}},
                "sort": [BY_SEQUENCE],
                "size": batch,
                "source": [*fields, DEDUP],
                "version": True,
            }
            hits = self._search(shard.index, shard.number, body)["hits"]["hits"]
            if hits:
                last = int(hits[-1]["sort"][0])
                yield [_document(hit, int(hit["sort"][0])) for hit in hits]
            if len(hits) < batch:
                return

    def without_dedup_field(
        self, index: str, fields: Sequence[str], *, batch: int = 500
    ) -> Iterator[list[SourceDocument]]:
        """Documents of a concrete index without ``dedup.cluster_id``, and those that wait for a decision."""
        unseen = {"bool": {"must_not": {"exists": {"field": CLUSTER_ID}}}}
        for shard in self.shards(index):
            yield from self.scan(shard, fields, batch=batch, query={"bool": {"should": [unseen, WAITING]}})

    def count(self, target: str, query: Mapping[str, Any] | None = None) -> int:
        """Number of documents of a target, or of those that a query finds; 0 when there is no such index."""
        said = self._server.call(
            lambda client: client.count(
                index=target, query=query or EVERY, ignore_unavailable=True, allow_no_indices=True
            )
        )
        return int(said["count"])

    def write_dedup_fields(
        self, dedup_fields: Mapping[str, DedupField | None], *, checked: bool = False
    ) -> FieldUpdateReport:
        """Write ``dedup`` fields by page id; None sets the field to null, after which no search finds it. Repeating it is safe.

        Args:
            dedup_fields: by page id.
            checked: a ``check`` or ``write_target`` of all their indices within the last second counts as the check of this call.

        Returns:
            What became of each; fields of an index without a mapping of ``dedup``, on which none can be put, are not written, and failed.
            Another mapping that is there stays, and each document says what is wrong.

        Raises:
            SourceIncomplete: see ``check``; no document was changed.
        """
        keys = {page_id: document_key(page_id) for page_id in dedup_fields}
        there = (self._just_checked if checked else self._checked)(key.index for key in keys.values())
        # an index that a rollover has made may lack the mapping, and must not get a dynamic one
        refused = self._unprepared(there) if any(dedup_fields.values()) else {}
        unmapped = {
            page_id: f"mapping: {refused[key.index]}"
            for page_id, key in keys.items()
            if dedup_fields[page_id]
            and key.index in refused
            and not isinstance(refused[key.index], MappingConflict)
        }
        mapped = [page_id for page_id in dedup_fields if page_id not in unmapped]
        results = dict.fromkeys(mapped, Result(NOT_FOUND, "there is no such index"))
        wanted = [page_id for page_id in mapped if keys[page_id].index in there]  # others would be created
        done = self._write(_write(keys[page_id], dedup_fields[page_id]) for page_id in wanted)
        results |= dict(zip(wanted, done, strict=True))
        self._wrote({page_id: results[page_id] for page_id in wanted})
        return report_of(results, unmapped)

    def refresh(self, target: str) -> None:
        """Make earlier writes to a target visible to searches."""
        self._server.call(lambda client: client.indices.refresh(index=target, ignore_unavailable=True))

    def shown_in_part(self, target: str) -> str:
        """Which alias of a target has a filter or a search routing, in words: searches by it find a part of its indices; empty when none has."""
        return source_facts.shown_in_part(self._server, target)

    def write_target(self, target: str, known: WriteTarget | None = None) -> WriteTarget:
        """Where a document that is written to a target goes; the index is ready for ``dedup``.

        An index that is not there is made; a target whose index the server alone can make is given back as it is.

        Args:
            target: index, alias or data stream.
            known: what the last call gave; where it still is that, this takes one request.
        """
        facts = self._checked([known.index]).get(known.index) if known else None
        if known and facts:
            alias = facts.aliases.get(target, Alias(writes=known.index == target))
            if alias.writes and alias.routing == known.routing and not alias.filtered:
                self._prepare({known.index: facts})
                return known
        place = source_facts.write_target(self._server, target)
        self.prepare([place.index])
        return place

    def waiting(self, target: str, fields: Sequence[str]) -> Iterator[list[SourceDocument]]:
        """Documents that wait for a decision (``dedup.waiting``), as far as they were written before the call."""
        for index in self.indices(target):
            for number in range(len(self.shards(index))):
                # now: to decide on documents of one shard has written to those of the next
                for shard in self.shards(index)[number:][:1]:  # none when the index was deleted meanwhile
                    yield from self.scan(shard, fields, to=shard.last, query=WAITING)

    def decided(self, documents: Iterable[SourceDocument], fields: Sequence[str]) -> int:
        """Say that documents were decided on as they were read with these fields.

        Those that waited and still hold the same do not wait any more; what was written meanwhile waits on.

        Returns:
            How many do not wait any more.
        """
        waiting = {each.key.page_id: each.source for each in documents if each.waits}
        self._checked(document_key(page_id).index for page_id in waiting)
        done = 0
        for _ in range(RETRIES):
            now = self.read(waiting, fields) if waiting else {}
            same = [each for name, each in now.items() if each.waits and each.source == waiting[name]]
            if not same:
                break
            results = self._write([_release(each) for each in same])
            done += sum(result.done for result in results)
            again = [each for each, result in zip(same, results, strict=True) if result.status == CONFLICT]
            waiting = {each.key.page_id: each.source for each in again}
        return done

    def count_waiting(self, target: str) -> int:
        """How many these are, as a search sees it; 0 when there is no such index."""
        return self.count(target, WAITING)

    def _search(self, index: str, shard: int, body: Mapping[str, Any]) -> Mapping[str, Any]:
        documents = Collection(self._server, index)
        return documents.answer({**body, "preference": f"_shards:{shard}"}, missing=NO_HITS)


def _put_mapping(indices: Sequence[str], client: Elasticsearch) -> None:
    client.indices.put_mapping(index=list(indices), properties=source_properties())


def source_properties() -> dict[str, Any]:
    """The mapping of ``dedup``, as ``put_mapping`` takes it; ``_meta`` of a source index stays its owner's."""
    properties: dict[str, Any] = load_mapping(SOURCE_INDEX)["template"]["mappings"]["properties"]
    return properties


def _prepared(facts: IndexFacts) -> bool:
    wanted = source_properties()[DEDUP]["properties"]
    return all(facts.types.get(name) == field["type"] for name, field in wanted.items())


def _conflicts(facts: IndexFacts) -> str:
    """Fields below ``dedup`` that were mapped otherwise, most often by dynamic mapping; empty when there are none."""
    wanted = source_properties()[DEDUP]["properties"]
    return ", ".join(
        f"{DEDUP}.{name} is {found}, not {wanted[name]['type']}"
        for name, found in facts.types.items()
        if name in wanted and found != wanted[name]["type"]
    )


def _write(key: DocumentKey, dedup_field: DedupField | None) -> Write:
    # a partial update merges objects, and cannot remove a field: that takes a script, which a server need not allow
    body = {"doc": {DEDUP: dedup_field and dedup_field.as_dict()}}
    return write_to(key, "update", body, retries=RETRIES)


def _release(document: SourceDocument) -> Write:
    """Only of the very version that was read: another one waits for a decision of its own."""
    condition = document.seq_no, document.term
    return write_to(document.key, "update", {"doc": {DEDUP: {"waiting": None}}}, condition=condition)


def _document(answer: Mapping[str, Any], seq_no: int) -> SourceDocument:
    source = dict(answer.get("_source") or {})
    dedup = source.pop(DEDUP, None)
    key = DocumentKey(answer["_index"], answer["_id"], answer.get("_routing") or "")
    found = dedup if isinstance(dedup, dict) else None
    return SourceDocument(
        key, source, found, seq_no, answer.get("_primary_term", 0), answer.get("_version", 0)
    )
