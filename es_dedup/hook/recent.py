"""What a process has stored a moment ago, kept so that it is not read back: a server that is asked for it writes a segment first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.columns import RecordBatch
    from es_dedup.index.port import Assignment, Index

    Payload = tuple[bytes, str]

MOST_PAGES: Final = 5_000


class Recent:
    """An index of which payloads and clusters of the pages stored last are at hand; all else is asked of the index itself.

    For finding and comparing, not for deciding what is written: others may have changed a page since. Threads may share it.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._guard = threading.Lock()
        self._payloads: OrderedDict[str, Payload] = OrderedDict()
        self._assigned: dict[str, Assignment] = {}

    def as_index(self) -> Index:
        """Itself, with the type of what it stands for."""
        return cast("Index", self)

    def add(self, records: RecordBatch) -> None:
        """Keep pages that were stored just now."""
        published = records.published or ("",) * len(records.ids)
        with self._guard:
            for name, payload, when in zip(records.ids, records.payloads, published, strict=True):
                self._payloads[name] = payload, when
                self._payloads.move_to_end(name)
            while len(self._payloads) > MOST_PAGES:
                name, _ = self._payloads.popitem(last=False)
                self._assigned.pop(name, None)

    def assign(self, assigned: Iterable[Assignment]) -> None:
        """Keep assignments of such pages."""
        with self._guard:
            self._assigned.update((each.page_id, each) for each in assigned if each.page_id in self._payloads)

    def forget(self) -> None:
        """Keep nothing: others have written."""
        with self._guard:
            self._payloads.clear()
            self._assigned.clear()

    def payloads(self, page_ids: Iterable[str]) -> dict[str, Payload]:
        """See ``FeatureIndex.payloads``."""
        names = list(page_ids)
        with self._guard:
            found = {name: self._payloads[name] for name in names if name in self._payloads}
        missing = [name for name in names if name not in found]
        return found | self._index.payloads(missing) if missing else found

    def payloads_with_assignments(
        self, page_ids: Iterable[str]
    ) -> tuple[dict[str, Payload], dict[str, Assignment]]:
        """See ``Index.payloads_with_assignments``."""
        names = list(page_ids)
        with self._guard:
            here = {
                name: (self._payloads[name], self._assigned[name])
                for name in names
                if name in self._payloads and name in self._assigned
            }
        payloads, assigned = self._index.payloads_with_assignments(name for name in names if name not in here)
        payloads.update((name, payload) for name, (payload, _) in here.items())
        assigned.update((name, each) for name, (_, each) in here.items())
        return payloads, assigned

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)
