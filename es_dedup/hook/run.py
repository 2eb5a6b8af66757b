"""One call of a bulk helper: batches, what the client's helper is given, and what its results mean."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from es_dedup.errors import ContentMissing, DuplicatePage, IndexError_, wrong_type
from es_dedup.hook.documents import Batch, Item, item_of
from es_dedup.hook.report import HookReport
from es_dedup.index.source_index import DEDUP
from es_dedup.model import WritePolicy
from es_dedup.model.values import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_dedup.batch.deciding import Compared
    from es_dedup.batch.featurise import Chunk as Features
    from es_dedup.hook.hook import DedupHook

    Action = Any  # bytes, str, a mapping, or the helper's constant BULK_FLUSH
    Result = tuple[bool, dict[str, Any]]
    Sent = tuple[Item, Any]  # the action, and what is sent for it
    Answer = tuple[Item, bool, dict[str, Any]]
    Send = Callable[[Sequence[Any]], Iterable[Result]]

MAX_CHUNK_BYTES: Final = 100 * 1024 * 1024
NOT_FOUND: Final = 404
TOO_MANY_REQUESTS: Final = 429
CONTENT_SAMPLE: Final = 100  # documents of which one has to have the content field
MOST_AHEAD: Final = 16  # finished batches since a batch was prefetched, far fewer as a rule


class BulkResult(tuple[int, Any]):  # noqa: SLOT001 - a tuple with an attribute beside it
    """What ``elasticsearch.helpers.bulk`` returns: successes, and errors or their number; ``report`` has the details."""

    report: HookReport

    def __new__(cls, successes: int, errors: int | list[dict[str, Any]], report: HookReport) -> Self:
        """Both, and the report beside them."""
        self = super().__new__(cls, (successes, errors))
        self.report = report
        return self


class Run:
    """State of one call of a bulk helper.

    Args:
        hook: decides.
        policy: for ``index`` and ``create``.
        report: counts are added to it.
        chunk_size: documents of a chunk; 0: any number, as for the client's helper.
        options: of the client's helper, as the caller gave them.
        client: its serializer determines the size of an action; None: the default serializer.

    Attributes:
        hook, policy, report: as given.
        stop: once it is set, nothing more is sent.
    """

    def __init__(
        self,
        hook: DedupHook,
        policy: WritePolicy | str,
        report: HookReport | None,
        chunk_size: int,
        options: Mapping[str, Any],
        client: Elasticsearch | AsyncElasticsearch | None = None,
    ) -> None:
        from elasticsearch.helpers import BULK_FLUSH, expand_action  # noqa: PLC0415 - of an extra

        if not isinstance(report, HookReport | None):
            raise wrong_type("report", "a HookReport object", report)
        if not hasattr(hook, "prepare"):
            raise wrong_type("hook", "a DedupHook object", hook, "DedupHook.open(address, fields) makes one")
        self.hook, self.policy = hook, WritePolicy(policy)
        self.report = HookReport() if report is None else report
        self.stop = threading.Event()
        self._chunk_size = chunk_size
        self._rest = dict(options)
        self._expand = self._rest.pop("expand_action_callback", None) or expand_action
        self._flush = BULK_FLUSH
        self._dumps = (
            client.transport.serializers.get_serializer("application/json").dumps if client else None
        )
        if self._rest.pop("flush_after_seconds", None):
            raise ValueError(
                "flush_after_seconds has no effect here: pass BULK_FLUSH where a batch is to end"
            )
        self._max_bytes = int(self._rest.get("max_chunk_bytes", MAX_CHUNK_BYTES))
        self._raise_on_error = bool(self._rest.pop("raise_on_error", True))
        self._raise_on_exception = bool(self._rest.pop("raise_on_exception", True))
        self.yield_ok = bool(self._rest.pop("yield_ok", True))
        ignored = self._rest.pop("ignore_status", ())
        self._ignored: Collection[int] = (ignored,) if isinstance(ignored, int) else ignored
        self._retries = int(self._rest.pop("max_retries", 0))
        self._first_pause = self._rest.pop("initial_backoff", 2)
        self._most_pause = self._rest.pop("max_backoff", 600)
        retried = self._rest.pop("retry_on_status", (TOO_MANY_REQUESTS,))
        self._retried: Collection[int] = (retried,) if isinstance(retried, int) else retried
        self._refreshes = self._rest.get("refresh") not in (None, False, "false")
        self._on_missing = self._rest.pop("on_missing_content", "raise")
        if self._on_missing not in ("raise", "warn"):
            raise ValueError('on_missing_content must be "raise" or "warn"')
        self._held: list[Items] | None = []  # None: the content field is known to be there, or to be missing
        self._without: list[Item] = []  # documents that lack it
        self._found = False
        self._elsewhere: deque[set[str]] = deque(maxlen=MOST_AHEAD)  # places that pipelines chose
        self._items: list[Item] = []
        self._ids: set[str] = set()
        self._count = self._size = 0  # of the chunk that the client's helper would make
        self._errors: list[dict[str, Any]] = []

    @property
    def helper_options(self) -> dict[str, Any]:
        """What the client's helper is called with, for one batch."""
        return {
            **self._rest,
            "chunk_size": self._chunk_size,
            "raise_on_error": False,
            "raise_on_exception": False,
            "expand_action_callback": lambda action: action,
        }

    # Batches

    def add(self, action: Action) -> list[Items]:
        """Take one action; gives the batches that are full with it.

        Chunks are those of the client's helper. One in which an ``_id`` comes more than once is several batches.
        """
        return self.flush() if action is self._flush else self._released(self._added(action), ended=False)

    def _added(self, action: Action) -> list[Items]:
        head, body = self._expand(action)
        item = item_of(head, body, self._rest, self._dumps)
        if self._held is not None and item.whole:
            self._found = value_of(item.source, self.hook.content) is not None
            self._without += () if self._found else (item,)
        full = []
        if self._count and self._size + item.size > self._max_bytes:
            full += self._chunk()
        elif item.key.id in self._ids:
            full.append(self._cut())
        self._items.append(item)
        self._ids.add(item.key.id)
        self._count += 1
        self._size += item.size
        if self._count == self._chunk_size:
            full += self._chunk()
        return full

    def flush(self) -> list[Items]:
        """What waits, as the last batch of a chunk.

        Raises:
            ContentMissing: no document of the call has the content field.
        """
        return self._released(self._chunk(), ended=True)

    def _released(self, full: list[Items], *, ended: bool) -> list[Items]:
        """Full batches; the first ones wait until a document has the content field, enough lack it, or the input has ``ended``."""
        if self._held is None:
            return full
        self._held += full
        without = self._without
        if not (self._found or ended or len(without) == CONTENT_SAMPLE):
            return []
        if without and not self._found:
            problem = ContentMissing(self.hook.content, len(without), tuple(sorted(without[0].source)))
            if self._on_missing == "raise":
                raise problem
            warnings.warn(problem.finding, stacklevel=2)
        full, self._held = self._held, None if self._found or without else []
        self._without = []
        return full

    def _chunk(self) -> list[Items]:
        self._count = self._size = 0
        if not self._items:
            return []
        self._items[-1].ends_chunk = True
        return [self._cut()]

    def _cut(self) -> Items:
        items, self._items, self._ids = self._items, [], set()
        return items

    # One batch

    def prepare(
        self, items: Items, features: Features | None = None, prefetched: Compared | None = None
    ) -> Batch:
        """Decide on a batch.

        Raises:
            DuplicatePage: see ``DedupHook.prepare``.
        """
        if any(item.page_id in names for names in self._elsewhere for item in items):
            prefetched = None  # a batch before has put another document in the place of one of these since
        return self.hook.prepare(items, self.policy, self.report, features=features, prefetched=prefetched)

    def independent(self, items: Items, before: Items) -> bool:
        """Whether a batch can be looked at before an earlier one is written: that one only brings other, whole documents.

        Documents of one ``_id`` may be the same, whatever they say: an alias names no index before it is asked.
        """
        plain = all(item.whole for item in before)
        return plain and not {item.key.id for item in items} & {item.key.id for item in before}

    def written(self, items: Items, send: Send, batch: Batch | None = None) -> Iterator[Result]:
        """Decide on a batch and write it, with what it left out because of documents that then failed; gives the results.

        Args:
            items: the batch.
            send: has the client's helper write actions, and gives its results, those before an error too.
            batch: what was decided on it; None: it is decided on now.

        Raises:
            DuplicatePage: policy ``fail``; the documents before the first duplicate are written.
            BulkIndexError: see ``raise_errors``.
        """
        parts = [(items, None)] if batch else self.hook.parts(items, self.policy)
        for part, made in parts:
            waiting, features = part, made
            while waiting:
                try:
                    batch = batch or self.prepare(waiting, features)
                except DuplicatePage as duplicate:
                    at = next(at for at, item in enumerate(waiting) if item.page_id == duplicate.page_id)
                    if at:
                        yield from self.written(waiting[:at], send)
                    raise
                except KeyboardInterrupt:
                    self.hook.withdraw(waiting, self.report)
                    raise
                answers: list[Answer] = []
                try:
                    self._send([(item, item.action) for item in batch if item.kept], send, answers)
                    # older versions of documents that are left out, once what they are left out for is written
                    failed = [item.page_id for item, ok, said in answers if not _is_written(item, ok, said)]
                    old = [item for item in batch if item.withdrawn and not item.rests_on(failed)]
                    self._send([(item, item.withdrawal) for item in old], send, answers)
                # an interrupt, too: the source index knows what was written, if it answers
                except BaseException:
                    known = {item.page_id for item, ok, _ in answers if ok}
                    with suppress(IndexError_):
                        self._finish(batch, [item.page_id for item in batch if item.page_id not in known])
                    raise
                waiting = self.finish(batch, answers)
                yield from self.results(batch, answers, waiting)
                batch = features = None
        self.raise_errors(items)

    def _send(self, actions: list[Sent], send: Send, answers: list[Answer]) -> None:
        """Send actions, some of them several times where the caller wants that; answers before an error are kept.

        The client's helper would give results of repeated actions in another order than that of the actions, and a pipeline may have
        changed the ``_id`` of each.
        """
        pause: float = 0
        for attempt in range(self._retries + 1):
            if not actions:
                return
            repeated = self._retried if attempt < self._retries else ()
            if self.stop.wait(pause):
                raise CancelledError
            sent, actions = actions, []
            results = send([action for _, action in sent])
            for (ok, answer), (item, action) in zip(results, sent, strict=False):
                (said,) = answer.values()
                if not ok and said.get("status") in repeated:
                    actions.append((item, action))
                else:
                    answers.append((item, ok, said))
            pause = min(self._most_pause, self._first_pause * 2**attempt)

    def finish(self, batch: Batch, answers: Iterable[Answer]) -> Items:
        """Repair after the write; gives documents that are to be sent again."""
        failed, unmapped = [], []
        written: dict[str, list[str]] = {}
        begun: set[str] = set()
        for item, ok, said in answers:
            if item.problem:
                continue
            if not ok and not item.repeated and _unmapped(said):
                unmapped.append(item)
            if item.withdrawn:
                if ok:
                    self.report.removed.append(item.page_id)
                continue
            if not _is_written(item, ok, said):
                failed.append(item.page_id)
                continue
            place = replace(item.key, index=str(said.get("_index", "")), id=str(said.get("_id")))
            item.place = place if place != item.key else None
            written.setdefault(place.index, []).append(item.written_id)
            if item.place or said.get("_seq_no") == 0:
                begun.add(place.index)
        moved = batch.moved
        self._elsewhere.append({*moved.values()})
        if moved:
            self.hook.moved(batch, self.report)
        for index in begun:
            self.hook.begun(index, written[index], self.report)
        again = self._finish(batch, failed)
        for item in unmapped:
            self.report.withdraw(item.page_id, item.decision)
            item.dedup_field, item.decision, item.repeated = None, None, True
        return [*again, *unmapped]

    def _finish(self, batch: Batch, failed: Collection[str]) -> Items:
        return self.hook.finish(batch, failed, self.report, refresh=self._refreshes)

    def results(self, batch: Batch, answers: Sequence[Answer], again: Items) -> Iterator[Result]:
        """What the caller is given of a batch, with decisions; errors wait for the end of the chunk.

        Raises:
            ApiError: a request failed, and the caller wants it raised.
        """
        for item, ok, said in answers:
            if item.withdrawn and (ok or said.get("status") == NOT_FOUND):
                continue
            if not ok and any(item is each for each in again):
                continue
            if item.decision is not None:
                said["dedup"] = item.decision.as_dict()
            if "data" in said:
                said["data"] = item.body
            if not ok and said.get("status") not in self._ignored:
                if self._raise_on_exception and isinstance(said.get("exception"), Exception):
                    raise said["exception"]
                if self._raise_on_error:
                    if item.body is not None:
                        said["data"] = item.body
                    self._errors.append({item.operation: said})
            if (ok and self.yield_ok) or (not ok and not self._errors):
                yield ok, {item.operation: said}
        if self.yield_ok:
            failed = {item.page_id for item, ok, _ in answers if not ok}
            waiting = {item.page_id for item in again} | failed
            yield from (
                (True, _left_out(item)) for item in batch if not item.kept and item.page_id not in waiting
            )

    def raise_errors(self, items: Items) -> None:
        """Raise what failed in a chunk, when the batch is its last one.

        Raises:
            BulkIndexError: the caller wants it raised when a document failed.
        """
        if not self._errors or not items[-1].ends_chunk:
            return
        from elasticsearch.helpers import BulkIndexError  # noqa: PLC0415 - of an extra

        errors, self._errors = self._errors, []
        raise BulkIndexError(f"{len(errors)} document(s) failed to index.", errors)


Items = list["Item"]


def _is_written(item: Item, ok: bool, said: Mapping[str, Any]) -> bool:  # noqa: FBT001 - of the helper's result
    """Whether the document is where searches find it: the server also reports those as a success that a pipeline drops or that it puts into a failure store."""
    dropped = item.whole and said.get("result") == "noop"
    return ok and not dropped and said.get("failure_store") != "used"


def _left_out(item: Item) -> dict[str, Any]:
    said = {"_index": item.key.index, "_id": item.key.id, "status": 200, "result": "skipped"}
    if item.decision is not None:
        said["dedup"] = item.decision.as_dict()
    return {item.operation: said}


def _unmapped(said: Mapping[str, Any]) -> bool:
    """Whether a document was refused because its index, made by a rollover a moment ago, has no mapping of ``dedup``."""
    error = str(said.get("error"))
    return "strict_dynamic_mapping_exception" in error and f"[{DEDUP}]" in error
