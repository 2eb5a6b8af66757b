"""Cache of payloads and assignments that this process read or wrote recently: half of a batch's candidates were read before."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from es_dedup.index.port import Assignment, CandidateStore
    from es_dedup.index.records import RecordBatch
    from es_dedup.model import CandidateQuery, CandidateResult

    Payload = tuple[bytes, str]

Value = TypeVar("Value")

MOST_PAGES: Final = 10_000  # some ten megabytes
KEPT_SECONDS: Final = 60.0  # a process that died between features and clusters has told nobody of them


class ExpiringCache(Generic[Value]):
    """Cache of values by name, bounded in number and age.

    Args:
        most: values that are kept.
        seconds: how long.
        clock: seconds, never going back.
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._values: OrderedDict[str, tuple[Value, float]] = OrderedDict()

    def put(self, values: Mapping[str, Value]) -> None:
        """Keep values, in place of older ones of the same names."""
        now = self._clock()
        for name, value in values.items():
            self._values[name] = value, now
            self._values.move_to_end(name)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def get(self, names: Iterable[str]) -> dict[str, Value]:
        """Those of the names that are kept."""
        oldest = self._clock() - self._seconds
        found = ((name, self._values.get(name)) for name in names)
        return {name: each[0] for name, each in found if each is not None and each[1] >= oldest}

    def clear(self) -> None:
        """Keep nothing."""
        self._values.clear()


class FeatureCache:
    """A candidate store with cached payloads and assignments; all else is read from the index.

    For finding and comparing, not for deciding what is written: others may have changed a page since. Threads may share it.
    A server that is asked by id for what was just written makes a segment of it first, so what is stored is kept, too.
    """

    def __init__(
        self,
        index: CandidateStore,
        *,
        most: int = MOST_PAGES,
        seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index = index
        self._guard = threading.Lock()
        self._payloads = ExpiringCache["Payload"](most, seconds, clock)
        self._assigned = ExpiringCache["Assignment"](most, seconds, clock)
        self._changes = 0  # what was read before a change is not kept after it

    def add(self, records: RecordBatch) -> None:
        """Keep pages that were stored just now."""
        published = records.published or ("",) * len(records.ids)
        stored = zip(records.payloads, published, strict=True)
        with self._guard:
            self._changes += 1
            self._payloads.put(dict(zip(records.ids, stored, strict=True)))

    def assign(self, assigned: Iterable[Assignment]) -> None:
        """Keep assignments that were made just now."""
        with self._guard:
            self._changes += 1
            self._assigned.put({each.page_id: each for each in assigned})

    def forget(self) -> None:
        """Keep nothing: others have written."""
        with self._guard:
            self._changes += 1
            self._payloads.clear()
            self._assigned.clear()

    def payloads(self, page_ids: Iterable[str]) -> dict[str, Payload]:
        """See ``FeatureIndex.payloads``."""
        names = list(page_ids)
        with self._guard:
            found, before = self._payloads.get(names), self._changes
        if missing := [name for name in names if name not in found]:
            read = self._index.payloads(missing)
            self._keep(before, read, {})
            found |= read
        return found

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        """See ``ClusterStore.assignments``."""
        names = list(page_ids)
        with self._guard:
            found, before = self._assigned.get(names), self._changes
        if missing := [name for name in names if name not in found]:
            read = self._index.assignments(missing)
            self._keep(before, {}, read)
            found |= read
        return found

    def payloads_with_assignments(
        self, page_ids: Iterable[str]
    ) -> tuple[dict[str, Payload], dict[str, Assignment]]:
        """See ``Index.payloads_with_assignments``."""
        names = list(page_ids)
        with self._guard:
            payloads, assigned, before = self._payloads.get(names), self._assigned.get(names), self._changes
        if missing := [name for name in names if name not in payloads or name not in assigned]:
            read = self._index.payloads_with_assignments(missing)
            self._keep(before, *read)
            payloads, assigned = payloads | read[0], assigned | read[1]
        return payloads, assigned

    @property
    def keeps_named(self) -> bool:
        """See ``FeatureIndex.keeps_named``."""
        return self._index.keeps_named

    def named(self, page_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """See ``FeatureIndex.named``."""
        return self._index.named(page_ids)

    def candidates_many(self, candidate_queries: Sequence[CandidateQuery]) -> list[CandidateResult]:
        """See ``FeatureIndex.candidates_many``."""
        return self._index.candidates_many(candidate_queries)

    def candidates_with_copies(
        self, candidate_queries: Sequence[CandidateQuery], hashes: Sequence[int], *, limit: int | None = None
    ) -> tuple[list[CandidateResult], dict[int, list[str]]]:
        """See ``FeatureIndex.candidates_with_copies``."""
        return self._index.candidates_with_copies(candidate_queries, hashes, limit=limit)

    def _keep(self, before: int, payloads: Mapping[str, Payload], assigned: Mapping[str, Assignment]) -> None:
        """Keep what was read, unless something has changed since that was begun."""
        with self._guard:
            if self._changes == before:
                self._payloads.put(payloads)
                self._assigned.put(assigned)
