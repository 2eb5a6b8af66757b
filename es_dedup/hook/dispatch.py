"""Index now, decide later: who is told of documents that wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.hook.hook import DedupHook


class Dispatcher(Protocol):
    """Hands pages to whoever decides on them: ``DedupHook.decide`` does it, or a task."""

    def ingest(self, page_ids: Sequence[str]) -> None:
        """Take pages whose documents have been written; they may be decided on more than once.

        Documents that were updated or deleted are named too. When it raises, the documents stay marked ``pending``, the
        report names them as inconclusive, and ``DedupHook.recheck`` finds them.
        """


class InlineDispatcher:
    """Decides at once, in this thread."""

    def __init__(self, hook: DedupHook) -> None:
        self._hook = hook

    def ingest(self, page_ids: Sequence[str]) -> None:
        """See ``Dispatcher.ingest``."""
        self._hook.decide(page_ids)
