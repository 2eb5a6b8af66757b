"""Writes of source documents that keep to what others have written, and how many writes their shards have had."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexUnavailable
from es_dedup.index.elastic.collection import Result, Write, write_all
from es_dedup.index.elastic.server import CONFLICT, NOT_FOUND, Server, reads_answers, reason_in
from es_dedup.index.elastic.source_facts import INDICES_AT_A_TIME, read_facts
from es_dedup.index.source_index import DocumentKey, FieldUpdateReport, ShardWrites, document_key, index_of
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from elasticsearch import Elasticsearch

    from es_dedup.index.source_index import SourceDocument

CLOSED_ERROR: Final = "index_closed_exception"
NOWHERE: Final = ("index_not_found_exception", "routing_missing_exception", CLOSED_ERROR)
"""Errors that say that a document cannot be there, or that no search finds it."""
REMEMBERED: Final = 50_000  # documents: many batches, some MB
FILTER: Final = tuple(
    f"indices.*.shards.*.{name}"
    for name in (
        "routing.primary",
        "routing.node",
        "seq_no",
        "commit.user_data.history_uuid",
        "indexing.delete_total",
    )
)


def is_there(answer: Mapping[str, Any], server: Server) -> bool:
    """Whether ``mget`` has found a document.

    Raises:
        IndexUnavailable: it could not look for it.
    """
    if "error" in answer and answer["error"].get("type") not in NOWHERE:
        raise IndexUnavailable(server.name, reason_in(answer["error"]))
    return bool(answer.get("found"))


def place_of(key: DocumentKey) -> dict[str, Any]:
    """What ``mget`` takes for a document."""
    place = {"_index": key.index, "_id": key.id}
    return place | {"routing": key.routing} if key.routing else place


def write_to(
    key: DocumentKey, operation: str, body: Mapping[str, Any] | None = None, **options: Any
) -> Write:
    """A write of a document; options as of ``Write``."""
    return Write(operation, key.index, key.id, body, routing=key.routing, **options)


def report_of(results: Mapping[str, Result], failed: Mapping[str, str]) -> FieldUpdateReport:
    """What became of writes of ``dedup`` fields, from the result of each; ``failed``: page id to reason, of those that were not sent."""
    gone = [page_id for page_id, result in results.items() if result.status == NOT_FOUND]
    there = {page_id: result for page_id, result in results.items() if result.status != NOT_FOUND}
    refused = {name: f"{_class_of(each)}: {each.reason}" for name, each in there.items() if not each.done}
    changed = sum(result.done and not result.noop for result in there.values())
    return FieldUpdateReport(changed, gone, {**failed, **refused})


def _class_of(result: Result) -> str:
    if result.status == CONFLICT:
        return "conflict"
    parsing = ("document_parsing_exception", "mapper_parsing_exception", "strict_dynamic_mapping_exception")
    return "mapping" if any(name in result.reason for name in parsing) else "refused"


def _outcome(result: Result) -> str:
    if result.status == NOT_FOUND:
        return "gone"
    if result.done:
        return ""
    return "conflict" if result.status == CONFLICT else result.reason


def _primary_terms(names: Sequence[str], client: Elasticsearch) -> Mapping[str, Any]:
    terms = "metadata.indices.*.primary_terms"
    state = client.cluster.state(
        metric="metadata", index=list(names), ignore_unavailable=True, filter_path=terms
    )
    found: Mapping[str, Any] = state.body.get("metadata", {}).get("indices", {})
    return found


def _shard_statistics(server: Server, names: Sequence[str]) -> Mapping[str, Any]:
    """What the server says of some indices; those that were deleted or closed meanwhile are asked for apart, and left out."""
    found = server.call_unless(
        lambda client: client.indices.stats(
            index=list(names), metric="indexing", level="shards", filter_path=list(FILTER)
        ).body.get("indices", {}),
        NOT_FOUND,
        CLOSED_ERROR,
    )
    if found is not None or len(names) == 1:
        return found or {}
    return {index: said for name in names for index, said in _shard_statistics(server, [name]).items()}


def _writes(copy: Mapping[str, Any], term: str) -> ShardWrites:
    seq_no, history = copy["seq_no"], str(copy["commit"]["user_data"]["history_uuid"])
    return ShardWrites(
        history,
        int(seq_no["global_checkpoint"]),
        int(seq_no["max_seq_no"]),
        (f"{history} {term} {copy['routing']['node']}", int(copy["indexing"]["delete_total"])),
    )


@reads_answers()
class SourceWrites:
    """The methods of ``SourceIndex`` that write and remove documents, and tell what others have written; threads may share it.

    Versions of documents stay known when this process writes their ``dedup`` field: a partial update raises ``_version`` by one, whatever
    it was made on top of. With the known version before it, nobody else has written the document in between.

    Args:
        server: where the source indices are.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._guard = threading.Lock()
        self._known: OrderedDict[str, tuple[int, int]] = OrderedDict()  # version and sequence number

    def writes(self, indices: Iterable[str]) -> dict[str, dict[int, ShardWrites]]:
        """How many writes the shards of concrete open indices have had, by index and number of the shard.

        Indices that do not exist or are closed are absent; so are shards without a primary.
        """
        found: dict[str, dict[int, ShardWrites]] = {}
        for names in chunked(indices, INDICES_AT_A_TIME):
            # Primary terms rise whenever a primary is started, and its counts begin anew.
            terms = self._server.call(partial(_primary_terms, names))
            for index, said in _shard_statistics(self._server, names).items():
                of_index = terms.get(index, {}).get("primary_terms", {})
                found[index] = {
                    int(number): _writes(copy, str(of_index.get(number)))
                    for number, copies in said["shards"].items()
                    for copy in copies
                    if copy["routing"]["primary"] and "seq_no" in copy
                }
        return found

    def exists(self, index: str) -> bool:
        """Whether there is a concrete index, open or closed."""
        return index in read_facts(self._server, [index])

    def remember(self, documents: Iterable[SourceDocument]) -> None:
        """Note that documents are known as they were read; only of the latest some ten thousand it is kept in mind."""
        with self._guard:
            for each in documents:
                self._known[each.key.page_id] = (each.version, each.seq_no)
                self._known.move_to_end(each.key.page_id)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def forget_index(self, index: str) -> None:
        """Take ``remember`` back for all documents of an index."""
        with self._guard:
            for page_id in [name for name in self._known if index_of(name) == index]:
                del self._known[page_id]

    def knows(self, document: SourceDocument) -> bool:
        """Whether a document is as it was remembered, but for its ``dedup`` field as this process wrote it."""
        with self._guard:
            return self._known.get(document.key.page_id) == (document.version, document.seq_no)

    def _wrote(self, results: Mapping[str, Result]) -> None:
        """Keep what is known of documents up to date with partial updates of this process, by page id."""
        with self._guard:
            for page_id, result in results.items():
                if not result.done or result.noop or result.condition is None:
                    continue
                if self._known.get(page_id, (0, 0))[0] == result.version - 1:
                    self._known[page_id] = (result.version, result.condition[0])

    def delete(self, page_ids: Iterable[str]) -> None:
        """Remove documents; those that are not there are no error.

        Raises:
            IndexUnavailable: some could not be removed.
        """
        results = self._write(write_to(document_key(page_id), "delete") for page_id in page_ids)
        if problems := [result.reason for result in results if not result.done]:
            raise IndexUnavailable(self._server.name, problems[0])

    def delete_unchanged(self, documents: Iterable[SourceDocument]) -> dict[str, str]:
        """Remove those documents that are still as they were read; by page id why one was not removed, empty where it was.

        The reason is ``gone``, ``conflict`` (it was written meanwhile), or what the server said.
        """
        given = list(documents)
        results = self._write(
            write_to(each.key, "delete", condition=(each.seq_no, each.term)) for each in given
        )
        return {each.key.page_id: _outcome(result) for each, result in zip(given, results, strict=True)}

    def _write(self, writes: Iterable[Write]) -> list[Result]:
        return write_all(self._server, writes, alias=False)
