"""Writes that shards have had, and documents that had no others than ours since they were read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.server import NOT_FOUND, is_engine_error, status_of
from es_dedup.index.elastic.source_metadata import INDICES_AT_A_TIME, read_facts
from es_dedup.index.source_index import ShardWrites
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from elasticsearch import Elasticsearch

    from es_dedup.index.elastic.bulk import Result
    from es_dedup.index.elastic.server import Server
    from es_dedup.index.source_index import SourceDocument

REMEMBERED: Final = 50_000  # documents: many batches, some MB
CLOSED: Final = "index_closed_exception"
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


def _read_writes(server: Server, indices: Iterable[str]) -> dict[str, dict[int, ShardWrites]]:
    """Writes of each shard of each index, see ``SourceIndex.writes``."""
    found: dict[str, dict[int, ShardWrites]] = {}
    for some in chunked(indices, INDICES_AT_A_TIME):
        terms = server.call(partial(_terms, some))
        for index, said in _asked(server, some).items():
            primaries = {
                int(number): copy
                for number, copies in said["shards"].items()
                for copy in copies
                if copy["routing"]["primary"] and "seq_no" in copy
            }
            of_index = terms.get(index, {}).get("primary_terms", {})
            found[index] = {
                number: _writes(copy, str(of_index.get(str(number)))) for number, copy in primaries.items()
            }
    return found


def _terms(names: Sequence[str], client: Elasticsearch) -> Mapping[str, Any]:
    """Primary terms of indices: they rise whenever a primary is started, and its counts begin anew."""
    answer = client.cluster.state(
        metric="metadata",
        index=list(names),
        ignore_unavailable=True,
        filter_path="metadata.indices.*.primary_terms",
    )
    said: Mapping[str, Any] = answer.body.get("metadata", {}).get("indices", {})
    return said


def _asked(server: Server, names: Sequence[str]) -> Mapping[str, Any]:
    """What the server says of some indices; those that were deleted or closed meanwhile are asked for apart, and left out."""
    found: Mapping[str, Any] | None = server.call(partial(_ask, names))
    if found is not None or len(names) == 1:
        return found or {}
    return {index: said for name in names for index, said in _asked(server, [name]).items()}


def _ask(names: Sequence[str], client: Elasticsearch) -> Mapping[str, Any] | None:
    try:
        answer = client.indices.stats(
            index=list(names), metric="indexing", level="shards", filter_path=list(FILTER)
        )
    except Exception as error:
        if is_engine_error(error) and (status_of(error) == NOT_FOUND or CLOSED in str(error)):
            return None
        raise
    said: Mapping[str, Any] = answer.body.get("indices", {})
    return said


def _writes(copy: Mapping[str, Any], term: str) -> ShardWrites:
    seq_no, history = copy["seq_no"], str(copy["commit"]["user_data"]["history_uuid"])
    return ShardWrites(
        history,
        int(seq_no["global_checkpoint"]),
        int(seq_no["max_seq_no"]),
        (f"{history} {term} {copy['routing']['node']}", int(copy["indexing"]["delete_total"])),
    )


class KnownVersions:
    """Versions of documents that are known, and that stay known when this process writes their ``dedup`` field; threads may share it.

    A partial update raises ``_version`` by one, whatever it was made on top of: with the known version before it, nobody else has written
    the document in between.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: OrderedDict[str, tuple[int, int]] = OrderedDict()  # version and sequence number

    def remember(self, documents: Iterable[SourceDocument]) -> None:
        """See ``SourceIndex.remember``."""
        with self._guard:
            for each in documents:
                self._known[each.key.page_id] = (each.version, each.seq_no)
                self._known.move_to_end(each.key.page_id)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def forget(self, documents: Iterable[SourceDocument]) -> None:
        """See ``SourceIndex.forget``."""
        with self._guard:
            for each in documents:
                self._known.pop(each.key.page_id, None)

    def knows(self, document: SourceDocument) -> bool:
        """See ``SourceIndex.knows``."""
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


class WritesOfOthers(KnownVersions):
    """The methods of ``SourceIndex`` that tell what others have written.

    Args:
        server: where the source indices are.
    """

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server

    def writes(self, indices: Iterable[str]) -> dict[str, dict[int, ShardWrites]]:
        """See ``SourceIndex.writes``."""
        return _read_writes(self._server, indices)

    def exists(self, index: str) -> bool:
        """See ``SourceIndex.exists``."""
        return index in read_facts(self._server, [index])
