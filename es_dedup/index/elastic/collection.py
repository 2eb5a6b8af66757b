"""The documents of one index of ours: read by id as they are now, searched, and written; a partial answer is never taken for a whole one."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexInterrupted, IndexReadOnly, IndexUnavailable, WriteFailed
from es_dedup.index.elastic.server import (
    BUSY,
    BUSY_STATUS,
    CONFLICT,
    NOT_FOUND,
    TOO_LARGE,
    Unanswered,
    pauses,
    reason_in,
    tell_watchers,
)
from es_dedup.model.batches import chunked, chunked_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from elasticsearch import Elasticsearch

    from es_dedup.index.elastic.server import Server

    Document = Mapping[str, Any]
    Fields = Sequence[str] | bool
    Version = tuple[int, int]

KEYS_AT_A_TIME: Final = 1_000
KEYS_OF_SEVERAL: Final = 2_000  # out of several of our own indices; a batch of 100 pages asks for about 1,400
WINDOW: Final = 10_000  # hits of one search; Elasticsearch's own limit
SILENT: Final = frozenset(
    {
        "circuit_breaking_exception",
        "es_rejected_execution_exception",
        "illegal_index_shard_state_exception",
        "no_shard_available_action_exception",
        "node_closed_exception",
        "node_disconnected_exception",
        "node_not_connected_exception",
        "shard_not_found_exception",
        "unavailable_shards_exception",
    }
)
"""Errors of single documents and searches that pass: a shard is starting, moving or busy, or its node has gone."""
VALUES_AT_A_TIME: Final = 1_000  # of one ``terms`` query
MAX_ITEMS: Final = 2_000  # of one request
GONE: Final = ("index_not_found_exception", "index_closed_exception")


class Collection:
    """The documents of one index of ours; threads may share it.

    Reads by id see every write at once, searches after a refresh. What this object has written since then is kept in mind: searches are
    ``behind`` until ``refresh``, or, where the writer completes what they find by what it keeps itself, only searches that are not completed.

    Args:
        server: where to.
        name: alias or index.
        before_write: called before each write; what it raises keeps the write back.
        alias: the name is an alias; where it has gone, no write makes an index in its place.

    Attributes:
        unseen: marks of the last writes that searches may not see, by whether completed searches need not see them.
    """

    def __init__(
        self,
        server: Server,
        name: str,
        before_write: Callable[[], None] = lambda: None,
        *,
        alias: bool = True,
    ) -> None:
        self.server, self.name = server, name
        self._before_write, self._alias = before_write, alias
        self._guard = threading.Lock()
        self.unseen: dict[bool, object] = {}

    # Reading by id

    def read(self, keys: Iterable[str], *, fields: Fields = True) -> Iterator[Document]:
        """Documents with these ``_id`` as they are now, those that are not there left out; ``get`` answers.

        Raises:
            IndexUnavailable: some could not be read.
        """
        for some in chunked(keys, KEYS_AT_A_TIME):
            yield from read_several((self, some, fields))[0]

    def read_one(self, key: str) -> Document | None:
        """One document as it is now, or None; errors as of ``read``."""
        return next(self.read([key]), None)

    # Searching

    def answer(
        self, body: Mapping[str, Any], *, missing: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """The answer of one search, of which every shard has answered in time.

        Args:
            body: of the search, and its options.
            missing: the answer where there is no such index; None: that is an error, too.

        Raises:
            IndexUnavailable: a part of the index did not answer.
        """
        options = {"track_total_hits": False, "allow_partial_search_results": False, **body}
        answer: Mapping[str, Any] | None = self.server.call_unless(
            lambda client: client.search(index=self.name, **options).body,
            *([] if missing is None else [NOT_FOUND]),
        )
        found = (missing or {}) if answer is None else answer
        self.hits_in(found)
        return found

    def hits(self, body: Mapping[str, Any]) -> Sequence[Document]:
        """The hits of one search; errors as of ``answer``."""
        return self.hits_in(self.answer(body))

    def hits_in(self, answer: Mapping[str, Any]) -> Sequence[Document]:
        """The hits of an answer; errors as of ``answer``."""
        if problem := partial_problem(answer):
            raise IndexUnavailable(self.server.name, problem)
        hits: Sequence[Document] = answer["hits"]["hits"]
        return hits

    def count(self, query: Mapping[str, Any]) -> int:
        """Number of the documents that a query finds."""
        answer = self.answer({"query": query, "size": 0, "track_total_hits": True})
        return int(answer["hits"]["total"]["value"])

    def pages(
        self,
        query: Mapping[str, Any],
        sort: Sequence[Any],
        *,
        after: Sequence[Any] | None = None,
        size: int = WINDOW,
        fields: Fields = True,
        values: Sequence[str] = (),
    ) -> Iterator[Sequence[Document]]:
        """All hits of a query in a strict order, in lists of at most ``size``.

        Args:
            query: what to find.
            sort: must tell any two documents apart.
            after: sort values; only later hits are met.
            size: most hits at once, at most ``WINDOW``.
            fields: what of each document's source is read; with False not even its key.
            values: fields whose doc values are read.

        Raises:
            IndexUnavailable: a part of the index did not answer.
        """
        body = {"query": query, "sort": list(sort), "size": size, "source": _as_list(fields)}
        if values:
            body["docvalue_fields"] = list(values)
        if fields is False:
            body["stored_fields"] = "_none_"
        last = after
        while True:
            hits = self.hits(body if last is None else {**body, "search_after": list(last)})
            if hits:
                yield hits
            if len(hits) < size:
                return
            last = hits[-1]["sort"]

    def first(
        self, query: Mapping[str, Any], sort: Sequence[Any], limit: int | None, *, fields: Fields = True
    ) -> list[Document]:
        """The first hits of a query in a strict order, at most ``limit``; None: all. Errors as of ``pages``."""
        found: list[Document] = []
        size = WINDOW if limit is None else max(1, min(limit, WINDOW))
        for hits in self.pages(query, sort, size=size, fields=fields):
            found += hits
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def all_hits(self, asked: Sequence[tuple[Mapping[str, Any], Sequence[Any]]]) -> list[Sequence[Document]]:
        """All hits of some queries, each with its strict order, whole documents; in one request while none has more than ``WINDOW``.

        Raises:
            IndexUnavailable: a part of the index did not answer.
        """
        found: list[Sequence[Document]] = []
        options = {"size": WINDOW, "track_total_hits": False}
        bodies = [{"query": query, "sort": list(sort), **options} for query, sort in asked]
        answers = self.answers(bodies) if len(bodies) > 1 else map(self.answer, bodies)
        for (query, sort), hits in zip(asked, map(self.hits_in, answers), strict=True):
            more = self.pages(query, sort, after=hits[-1]["sort"]) if len(hits) == WINDOW else ()
            found.append([*hits, *(hit for some in more for hit in some)])
        return found

    def answers(self, bodies: Sequence[str | Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The answers of some searches in one request; those to which a part of the index did not answer are sent again, as a request would be.

        Raises:
            IndexUnavailable: a part of the index did not answer.
            IndexRefused: a search is wrong, or the index is closed.
        """
        # No answer is asked for twice: to keep it would only take room.
        options = {"index": self.name, "allow_partial_search_results": False, "request_cache": False}
        head = json.dumps(options)
        found: dict[int, Mapping[str, Any]] = {}

        def ask(client: Elasticsearch) -> None:
            left = [place for place in range(len(bodies)) if place not in found]
            searches: Any = [line for place in left for line in (head, bodies[place])]
            answers = client.msearch(searches=searches)["responses"]
            found.update(
                (place, answer)
                for place, answer in zip(left, answers, strict=True)
                if not self._passing_problem(answer)
            )
            if len(found) < len(bodies):
                raise Unanswered(next(filter(None, map(partial_problem, answers))))

        if bodies:
            self.server.call(ask)
        return [found[place] for place in range(len(bodies))]

    def _passing_problem(self, answer: Mapping[str, Any]) -> str:
        """Why one search of a request of several has to be sent again; empty where the answer is complete. A failure is counted, see ``tell_watchers``.

        Raises:
            IndexRefused, IndexUnavailable: to send it again would not help.
        """
        if problem := partial_problem(answer):
            status = answer["status"] if "error" in answer else BUSY_STATUS
            tell_watchers("item", status)
            if status not in BUSY and not _passes(answer["error"]):
                if status == NOT_FOUND:
                    raise IndexUnavailable(self.server.name, problem)
                raise self.server.refused(problem)
        return problem

    # Writing

    def put(
        self, key: str, body: Mapping[str, Any], *, operation: str = "index", condition: Version | None = None
    ) -> Write:
        """A write, for ``write``, that stores a document; arguments as of ``Write``."""
        return Write(operation, self.name, key, body, condition)

    def delete(self, key: str, condition: Version | None = None) -> Write:
        """A write, for ``write``, that removes a document."""
        return Write("delete", self.name, key, condition=condition)

    def attempt(self, writes: Iterable[Write], *, completed: bool = False) -> list[Result]:
        """What became of each write, in order; some may be of other collections.

        Args:
            writes: taken before anything is sent: an iterator may be slow, or read this index.
            completed: the writer completes searches by what was written.

        Raises:
            IndexInterrupted, IndexRefused, IndexReadOnly: see ``write_all``.
        """
        self._before_write()
        given = list(writes)
        if not given:
            return []
        try:
            return write_all(self.server, given, alias=self._alias)
        finally:  # only now: a refresh of another thread that came earlier need not show them
            self.mark(completed=completed)

    def write(self, writes: Iterable[Write], *, completed: bool = False) -> list[Result]:
        """As ``attempt``, where every write has to be done.

        Raises:
            WriteFailed: some were refused; also as ``attempt``.
        """
        results = self.attempt(writes, completed=completed)
        self.must_be_done(results)
        return results

    def write_if(self, write: Write) -> Version | None:
        """The new version of a document, or None where the condition of its write did not hold; errors as of ``write``."""
        (result,) = self.attempt([write])
        if result.status in (CONFLICT, NOT_FOUND):
            return None
        self.must_be_done([result])
        return result.condition

    def must_be_done(self, results: Iterable[Result]) -> None:
        """Refuse to go on where a write failed.

        Raises:
            WriteFailed: one did.
        """
        if problems := [result.reason for result in results if not result.done]:
            raise WriteFailed(self.server.name, f"{len(problems)} writes failed: {problems[0]}")

    # What searches see

    def mark(self, *, completed: bool = False) -> None:
        """Note that searches may not see what was written; ``completed``: those that are completed need not see it."""
        with self._guard:
            self.unseen[completed] = object()

    def behind(self, *, completed: bool = False) -> bool:
        """Whether a search, completed or not, would miss something that this object has written."""
        return False in self.unseen or (True in self.unseen and not completed)

    def refresh(self) -> None:
        """Make all earlier writes visible to searches."""
        refresh([self])

    def saw(self, unseen: Mapping[bool, object]) -> None:
        """Take back the marks of writes that searches see now."""
        with self._guard:
            for completed, mark in unseen.items():
                if self.unseen.get(completed) is mark:
                    del self.unseen[completed]


def refresh(collections: Sequence[Collection]) -> None:
    """Make all earlier writes to some collections of one server visible to searches, in one request."""
    before = [(each, dict(each.unseen)) for each in collections]
    collections[0].server.call(
        lambda client: client.indices.refresh(index=[each.name for each in collections])
    )
    for each, unseen in before:  # another thread that has written meanwhile has to refresh, too
        each.saw(unseen)


def read_several(*places: tuple[Collection, Sequence[str], Fields]) -> list[list[Document]]:
    """Documents by ``_id`` out of several collections of one server, in one request for each ``KEYS_OF_SEVERAL`` keys.

    Args:
        places: of each collection the keys, and the fields that are read of its documents.

    Raises:
        IndexUnavailable: some could not be read.
    """
    server = places[0][0].server
    found: list[list[Document]] = [[] for _ in places]
    asked = [
        (place, {"_index": collection.name, "_id": key, "_source": _as_list(fields)})
        for place, (collection, keys, fields) in enumerate(places)
        for key in keys
    ]
    for some in chunked(asked, KEYS_OF_SEVERAL):
        answers = server.call(partial(mget, [each for _, each in some]))
        for (place, _), answer in zip(some, answers, strict=True):
            if "error" in answer:
                raise server.unread(answer["error"])
            if answer["found"]:
                found[place].append(answer)
    return found


def mget(asked: Sequence[Document], client: Elasticsearch) -> list[Document]:
    """Documents by index and ``_id``, for ``Server.call``; one that is not there, and one of no index, has an answer, too.

    Raises:
        Unanswered: a shard did not answer.
    """
    return all_answered(client.mget(docs=asked).body["docs"])


def all_answered(answers: list[Document]) -> list[Document]:
    """The answers for single documents as they are, for ``Server.call``; errors as of ``mget``."""
    for error in (each["error"] for each in answers if "error" in each):
        if _passes(error):
            raise Unanswered(f"some pages could not be read: {reason_in(error)}")
    return answers


def _passes(error: Any) -> bool:
    """Whether it is one of ``SILENT``, or caused by one."""
    return any(kind in reason_in(error) for kind in SILENT)


def partial_problem(answer: Mapping[str, Any]) -> str:
    """Why the answer of a search is not whole; empty when it is."""
    if "error" in answer:
        return reason_in(answer["error"]) or "a search failed"
    if answer.get("timed_out"):
        return "a search ran out of time"
    shards = answer.get("_shards", {})
    if shards.get("failed"):
        return f"{shards['failed']} of {shards.get('total')} shards did not answer"
    return ""


def any_of(field: str, values: Sequence[str]) -> dict[str, Any]:
    """A query for documents with any of these values, without a score."""
    return {"bool": {"filter": [{"terms": {field: list(values)}}]}}


def _as_list(fields: Fields) -> list[str] | bool:
    return fields if isinstance(fields, bool) else list(fields)


@dataclass(frozen=True, slots=True)
class Write:
    """One write: ``operation`` is ``index``, ``create``, ``update`` or ``delete``.

    ``retries`` of an ``update`` count how often it may meet another writer; ``condition`` is a sequence number and a term.
    """

    operation: str
    index: str
    key: str
    body: Mapping[str, Any] | None = None
    condition: tuple[int, int] | None = None
    routing: str = ""
    retries: int = 0

    def encoded(self) -> bytes:
        """Its lines in a bulk request."""
        head: dict[str, Any] = {"_index": self.index, "_id": self.key}
        if self.condition is not None:
            head["if_seq_no"], head["if_primary_term"] = self.condition
        if self.routing:
            head["routing"] = self.routing
        if self.retries:
            head["retry_on_conflict"] = self.retries
        lines = [{self.operation: head}] if self.body is None else [{self.operation: head}, self.body]
        as_json = partial(json.dumps, default=_plain(), ensure_ascii=False, separators=(",", ":"))
        return "\n".join(map(as_json, lines)).encode("utf-8", "surrogatepass")


@cache
def _plain() -> Callable[[Any], Any]:
    """Numbers of numpy and times as the client writes them."""
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
                tell_watchers("item", result.status)
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
