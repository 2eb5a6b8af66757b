"""One call of a bulk helper: batches, what the client's helper is given, and what its results mean."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from es_dedup.errors import IndexError_
from es_dedup.hook.documents import WRITES, Batch, item_of
from es_dedup.hook.report import HookReport
from es_dedup.model import WritePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from es_dedup.hook.documents import Item
    from es_dedup.hook.hook import Ahead, DedupHook

    Action = bytes | str | Mapping[str, Any]
    Result = tuple[bool, dict[str, Any]]

MAX_CHUNK_BYTES: Final = 100 * 1024 * 1024


class BulkResult(tuple[int, Any]):  # noqa: SLOT001 - a tuple with an attribute beside it
    """What ``elasticsearch.helpers.bulk`` returns: successes, and errors or their number; ``report`` tells more."""

    report: HookReport

    def __new__(cls, successes: int, errors: int | list[dict[str, Any]], report: HookReport) -> Self:
        """Both, and the report beside them."""
        self = super().__new__(cls, (successes, errors))
        self.report = report
        return self


class Tally:
    """Counts results as ``elasticsearch.helpers.bulk`` does."""

    def __init__(self, report: HookReport | None, *, stats_only: bool) -> None:
        self.report = HookReport() if report is None else report
        self._stats_only = stats_only
        self._successes = 0
        self._errors: list[dict[str, Any]] = []
        self._failed = 0

    def add(self, item: dict[str, Any], *, ok: bool) -> None:
        """Count one result."""
        if ok:
            self._successes += 1
            return
        self._failed += 1
        if not self._stats_only:
            self._errors.append(item)

    @property
    def result(self) -> BulkResult:
        """All that was counted."""
        return BulkResult(self._successes, self._failed if self._stats_only else self._errors, self.report)


class Run:
    """State of one call of a bulk helper.

    Args:
        hook: decides.
        policy: for ``index`` and ``create``.
        report: counts are added to it.
        chunk_size: documents of a batch, at least 1.
        options: of the client's helper, as the caller gave them.
        expand: the helper's ``expand_action``.
    """

    def __init__(
        self,
        hook: DedupHook,
        policy: WritePolicy | str,
        report: HookReport | None,
        chunk_size: int,
        options: Mapping[str, Any],
        expand: Callable[[Any], tuple[Any, Any]],
    ) -> None:
        self._hook, self._policy = hook, WritePolicy(policy)
        self.report = HookReport() if report is None else report
        self._chunk_size = max(1, chunk_size)
        self._rest = dict(options)
        self._expand = self._rest.pop("expand_action_callback", None) or expand
        self.flush_after: float | None = self._rest.pop("flush_after_seconds", None)
        self._bytes = int(self._rest.get("max_chunk_bytes", MAX_CHUNK_BYTES))
        self._raise_on_error = bool(self._rest.pop("raise_on_error", True))
        self._raise_on_exception = bool(self._rest.pop("raise_on_exception", True))
        self.yield_ok = bool(self._rest.pop("yield_ok", True))
        ignored = self._rest.pop("ignore_status", ())
        self._ignored: Collection[int] = (ignored,) if isinstance(ignored, int) else ignored
        self._items: list[Item] = []
        self._ids: set[str] = set()
        self._size = 0

    @property
    def helper_options(self) -> dict[str, Any]:
        """What the client's helper is called with, for one batch."""
        return {
            **self._rest,
            "chunk_size": self._chunk_size,
            "raise_on_error": False,
            "raise_on_exception": False,
            "expand_action_callback": _as_it_is,
        }

    # Batches

    def add(self, action: Action) -> list[Items]:
        """Take one action; gives the batches that are full with it."""
        if isinstance(action, (bytes, str)) or hasattr(action, "items"):
            head, body = self._expand(action)
            item = item_of(head, body, self._rest)
        else:
            return self.flush()  # the helper's mark BULK_FLUSH
        size = _size(item)
        full = []
        if item.head["_id"] in self._ids or (self._items and self._size + size > self._bytes):
            full += self.flush()
        self._items.append(item)
        self._ids.add(item.head["_id"])
        self._size += size
        if len(self._items) >= self._chunk_size:
            full += self.flush()
        return full

    def flush(self) -> list[Items]:
        """What waits, as a batch."""
        items, self._items, self._ids, self._size = self._items, [], set(), 0
        return [items] if items else []

    # One batch

    def prepare(self, items: Items, ahead: Ahead | None = None) -> Batch:
        """Decide on a batch.

        Raises:
            DuplicatePage: see ``DedupHook.prepare``.
        """
        return self._hook.prepare(items, self._policy, self.report, ahead=ahead)

    def look(self, items: Items) -> Ahead:
        """See ``DedupHook.look``."""
        return self._hook.look(items)

    def independent(self, items: Items, before: Items) -> bool:
        """Whether a batch can be looked at while the one before is written: that one only brings other, whole documents."""
        plain = self._policy is WritePolicy.MARK and all(item.operation in WRITES for item in before)
        return plain and not {item.page_id for item in items} & {item.page_id for item in before}

    def take_back(self, items: Items) -> None:
        """See ``DedupHook.take_back``."""
        self._hook.take_back(items, self.report)

    @staticmethod
    def actions(batch: Batch) -> list[Any]:
        """What is written, in order."""
        return [item.action for item in batch if item.kept]

    def finish(self, batch: Batch, results: Iterable[Result]) -> Items:
        """Repair after the write; gives documents that are to be sent again."""
        place = {item.head["_id"]: item for item in batch}
        failed = []
        for ok, result in results:
            ((_, said),) = result.items()
            item = place[str(said["_id"])]
            if not ok:
                failed.append(item.page_id)
            elif said.get("_index", item.key.index) != item.key.index:
                self._hook.moved(item, said["_index"], self.report)
        return self._hook.finish(batch, failed, self.report)

    def lost(self, batch: Batch, results: Iterable[Result]) -> None:
        """After a write of which the outcome is unknown: ask the host index what was written, if it answers."""
        known = {said["_id"] for ok, result in results for said in result.values() if ok}
        unknown = [item.page_id for item in batch if item.head["_id"] not in known]
        with suppress(IndexError_):
            self._hook.finish(batch, unknown, self.report)

    def results(self, batch: Batch, results: Iterable[Result], again: Items) -> list[Result]:
        """What the caller is given of a batch, with decisions.

        Raises:
            BulkIndexError: the caller wants it raised when a document failed.
            ApiError: the same for a request.
        """
        place = {item.head["_id"]: item for item in batch}
        sent_again = {item.head["_id"] for item in again}
        given: list[Result] = []
        errors: list[dict[str, Any]] = []
        for ok, result in results:
            ((operation, said),) = result.items()
            item = place[str(said["_id"])]
            if item.decision is not None:
                said["dedup"] = item.decision.as_dict()
            if not ok and said.get("status") not in self._ignored:
                if self._raise_on_exception and isinstance(said.get("exception"), Exception):
                    raise said["exception"]
                if self._raise_on_error:
                    if item.body is not None:
                        said["data"] = item.body
                    errors.append({operation: said})
            given.append((ok, result))
        given += [
            (True, _left_out(item)) for item in batch if not item.kept and item.head["_id"] not in sent_again
        ]
        if errors:
            _raise(errors)
        return given if self.yield_ok else [each for each in given if not each[0]]


Items = list["Item"]


def _raise(errors: list[dict[str, Any]]) -> None:
    from elasticsearch.helpers import BulkIndexError  # noqa: PLC0415 - of an extra

    raise BulkIndexError(f"{len(errors)} document(s) failed to index.", errors)


def _left_out(item: Item) -> dict[str, Any]:
    said = {"_index": item.key.index, "_id": item.key.id, "status": 200, "result": "skipped"}
    if item.decision is not None:
        said["dedup"] = item.decision.as_dict()
    return {item.operation: said}


def _as_it_is(action: Any) -> Any:
    return action


def _size(item: Item) -> int:
    """About how many bytes a document has."""
    body = item.body or {}
    return 100 + sum(2 * len(value) for value in body.values() if isinstance(value, str))
