"""Index now, decide later: dispatchers of documents that wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Dispatcher(Protocol):
    """Passes pages on to be decided: by ``DedupHook.decide`` in this process, or by a task."""

    def ingest(self, page_ids: Sequence[str]) -> None:
        """Take pages whose documents have been written; they may be decided on more than once.

        Documents that were updated or deleted are named too. When it raises, the documents stay ``pending``, the
        report names them as inconclusive, and ``DedupHook.recheck`` finds them.
        """


class Decider(Protocol):
    """Decides on documents that are indexed; ``DedupHook`` is one."""

    def decide(self, page_ids: Sequence[str], /) -> object:
        """Read the documents, decide on them, and update their ``dedup`` fields."""


class InlineDispatcher:
    """Decides at once, in this thread."""

    def __init__(self, hook: Decider) -> None:
        self._hook = hook

    def ingest(self, page_ids: Sequence[str]) -> None:
        """See ``Dispatcher.ingest``."""
        self._hook.decide(page_ids)
