"""``ChangeReader``: what becomes of clusters, for those who keep a copy of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from es_dedup.model.cluster_changes import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.index.port import Index
    from es_dedup.model.cluster_changes import ClusterChange


class ChangeReader:
    """The part of ``IndexReader`` that reads the changes of clusters."""

    _index: Index

    def changes(
        self, since: str | None = None, *, poll_seconds: float | None = None
    ) -> Iterator[ClusterChange]:
        """Pages whose cluster has changed, with the present one; for keeping a copy of all clusters elsewhere.

        Keep ``ClusterChange.cursor`` once a change is applied, and pass the last one to go on. Changes may come again, never in part:
        to apply one twice changes nothing. A change with ``reset`` says to forget all pages; all that are clustered follow.

        Args:
            since: cursor of the last change that was applied; None gives all clusters.
            poll_seconds: go on for ever and look for changes so often; None: end after those that there are.

        Raises:
            ValueError: ``since`` is no cursor.
        """
        place = None if since is None else Cursor.parse(since)
        return self._changes(place, poll_seconds)

    def _changes(self, place: Cursor | None, poll_seconds: float | None) -> Iterator[ClusterChange]:
        while True:
            for change in self._index.changes(place):
                place = Cursor.parse(change.cursor)
                yield change
            if poll_seconds is None:
                return
            time.sleep(poll_seconds)

    def changes_cursor(self) -> str:
        """The cursor of now: ``changes`` since then gives what changes later. Take it before an export, not after."""
        return str(self._index.changes_end())
