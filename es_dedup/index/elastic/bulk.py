"""Many writes at once: in requests of bounded size, each item's result looked at."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexInterrupted, IndexReadOnly
from es_dedup.index.elastic.server import (
    BUSY,
    NOT_FOUND,
    TOO_LARGE,
    pauses,
    reason_in,
    watchers,
)
from es_dedup.model.batches import chunked_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from es_dedup.index.elastic.server import Server

MAX_ITEMS: Final = 2_000  # of one request
GONE: Final = ("index_not_found_exception", "index_closed_exception")


@dataclass(frozen=True, slots=True)
class Write:
    """One write: ``operation`` is ``index``, ``create``, ``update`` or ``delete``.

    ``retries`` of an ``update`` count how often it may meet another writer; ``condition`` is a sequence number and a term.
    ``version`` is an external one that the document may have already, and has afterwards; ``pipeline`` takes the place of the index's.
    """

    operation: str
    index: str
    key: str
    body: Mapping[str, Any] | None = None
    condition: tuple[int, int] | None = None
    routing: str = ""
    retries: int = 0
    version: int | None = None
    pipeline: str = ""

    def encoded(self) -> bytes:
        """Its lines in a bulk request."""
        head: dict[str, Any] = {"_index": self.index, "_id": self.key}
        if self.condition is not None:
            head["if_seq_no"], head["if_primary_term"] = self.condition
        if self.routing:
            head["routing"] = self.routing
        if self.version is not None:
            head |= {"version": self.version, "version_type": "external_gte"}
        if self.pipeline:
            head["pipeline"] = self.pipeline
        if self.retries:
            head["retry_on_conflict"] = self.retries
        lines = [{self.operation: head}] if self.body is None else [{self.operation: head}, self.body]
        text = "\n".join([_compact(line) for line in lines])
        return text.encode("utf-8", "surrogatepass")


def _compact(value: Mapping[str, Any]) -> str:
    """As JSON; numbers of numpy and times as the client writes them."""
    return json.dumps(value, default=_plain(), ensure_ascii=False, separators=(",", ":"))


@cache
def _plain() -> Callable[[Any], Any]:
    from elastic_transport import JsonSerializer  # noqa: PLC0415 - of an extra

    return JsonSerializer().default


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one write: HTTP status, the reason when it failed, the document's new sequence number and primary term, its new version.

    ``noop``: an update that changed nothing. ``index``: the real one behind an alias.
    """

    status: int
    reason: str = ""
    condition: tuple[int, int] | None = None
    noop: bool = False
    index: str = ""
    version: int = 0

    @property
    def done(self) -> bool:
        """Whether it was done; to delete what is not there is done too."""
        return not self.reason and (self.status < 300 or self.status == NOT_FOUND)  # noqa: PLR2004 - HTTP


def write_all(server: Server, writes: Iterable[Write], *, alias: bool) -> list[Result]:
    """Do all writes; one result each, in order.

    What the server is too busy for is repeated with growing pauses, a request that is too large is halved. How large requests are, and how
    long they are repeated, say the server's options.

    Args:
        server: where to.
        writes: taken lazily.
        alias: the writes name an alias; where it has gone, no index is made in its place.

    Raises:
        IndexInterrupted: the server stayed busy or silent; what was written before stays.
        IndexRefused, IndexReadOnly: as ``Server.call``.
    """
    results: list[Result] = []
    items = (write.encoded() for write in writes)
    for chunk in chunked_by_size(items, server.options.chunk_bytes, len, count=MAX_ITEMS):
        results += _write_chunk(server, chunk, alias=alias)
    return results


def _write_chunk(server: Server, chunk: list[bytes], *, alias: bool) -> list[Result]:
    results: dict[int, Result] = {}
    waiting = list(range(len(chunk)))
    end = time.monotonic() + server.options.retry_seconds
    for pause in pauses():
        answers = _send(server, [chunk[place] for place in waiting], alias=alias)
        for place, result in zip(waiting, answers, strict=True):
            if "cluster_block_exception" in result.reason:
                raise IndexReadOnly(server.name, result.reason)
            if any(cause in result.reason for cause in GONE):
                raise IndexInterrupted(server.name, result.reason)
            results[place] = result
            if result.reason:
                watchers.tell(server.name, "item", result.status)
        waiting = [place for place in waiting if results[place].status in BUSY]
        if not waiting:
            return [results[place] for place in range(len(chunk))]
        if time.monotonic() + pause > end:
            busy = results[waiting[0]].reason
            raise IndexInterrupted(server.name, f"{len(waiting)} writes were turned away: {busy}")
        time.sleep(pause)
    raise AssertionError  # pauses never end


def _send(server: Server, items: list[bytes], *, alias: bool) -> list[Result]:
    """One request, halved when it is too large."""

    def ask(client: Any) -> list[Result]:
        answers = client.bulk(operations=items, require_alias=alias)["items"]
        return [_result(answer) for _, answer in zip(items, answers, strict=True)]

    results = server.call_unless(ask, TOO_LARGE, writing=True)
    if results is not None:
        return results
    if len(items) == 1:
        return [Result(TOO_LARGE, "the page is larger than the server takes (http.max_content_length)")]
    half = len(items) // 2
    return _send(server, items[:half], alias=alias) + _send(server, items[half:], alias=alias)


def _result(item: dict[str, Any]) -> Result:
    (said,) = item.values()
    reason = reason_in(said.get("error"))
    if said.get("failure_store") == "used":  # reported as a success
        reason = "it was put into the failure store of its data stream"
    condition = (said["_seq_no"], said["_primary_term"]) if "_seq_no" in said else None
    noop = said.get("result") == "noop"
    return Result(
        int(said["status"]), reason, condition, noop, said.get("_index", ""), said.get("_version", 0)
    )
