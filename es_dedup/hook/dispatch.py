"""Index now, decide later: dispatchers of documents that wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.hook.report import HookReport


class Dispatcher(Protocol):
    """Passes pages on to be decided: by ``DedupHook.decide`` in this process, or by a task."""

    def ingest(self, page_ids: Sequence[str]) -> None:
        """Take pages whose documents have been written; they may be decided on more than once.

        Documents that were updated or deleted are named too. When it raises, the documents stay ``pending``, the
        report names them as inconclusive, and ``DedupHook.recheck`` finds them.
        """


def hand_over(dispatcher: Dispatcher, page_ids: Sequence[str], report: HookReport) -> None:
    """Pass written documents on; where that fails, the report names them as inconclusive."""
    if not page_ids:
        return
    try:
        dispatcher.ingest(page_ids)
    except Exception as error:  # noqa: BLE001 - whatever its queue raises: the documents are written
        report.inconclusive.update(dict.fromkeys(page_ids, f"the decision could not be queued: {error}"))


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
