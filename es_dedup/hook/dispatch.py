"""Index now, decide later: who is told of documents that wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.hook.hook import DedupHook


class Dispatcher(Protocol):
    """Hands pages to whoever decides on them: calls ``DedupHook.decide`` with them, now, later, or in another process."""

    def dispatch(self, page_ids: Sequence[str]) -> None:
        """Take pages whose documents have been written; they may be decided on more than once.

        When it raises, the documents stay marked ``pending``, and ``DedupHook.recheck`` finds them.
        """


class InlineDispatcher:
    """Decides at once, in this thread."""

    def __init__(self, hook: DedupHook) -> None:
        self._hook = hook

    def dispatch(self, page_ids: Sequence[str]) -> None:
        """See ``Dispatcher.dispatch``."""
        self._hook.decide(page_ids)
