"""Decisions of a corpus, made while another thread still writes it to the index."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from es_dedup.batch.corpus import Corpus
from es_dedup.batch.memory import release_memory
from es_dedup.batch.whole_corpus import decide_corpus

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.batch.whole_corpus import RelatedPairs
    from es_dedup.clustering import PageKey
    from es_dedup.detectors.features import FeatureTable
    from es_dedup.model import Progress
    from es_dedup.settings import Settings

WORTH_PAGES: Final = (
    1_000  # below, deciding takes no longer than starting a thread and sharing the interpreter
)


class _NotNeededError(Exception):
    """Ends the thread."""


class PipelinedDecisions:
    """All related pairs of a corpus, found in a thread that touches no index.

    Progress is kept until ``result`` is called, so that a progress listener is called by its own thread only.

    Args:
        parts: keys and features of all pages, part by part; the thread empties the list when it has put them together.
        settings: detectors and canonical order.
    """

    def __init__(self, parts: list[tuple[list[PageKey], FeatureTable]], settings: Settings) -> None:
        self._events: SimpleQueue[Progress | None] = SimpleQueue()
        self._needed = True
        self._settings = settings
        pool = ThreadPoolExecutor(1, thread_name_prefix="es-dedup-decisions")
        self._found = pool.submit(self._work, parts)
        self._found.add_done_callback(lambda _: self._events.put(None))
        pool.shutdown(wait=False)

    def result(self, report_progress: Callable[[Progress], None]) -> tuple[Corpus, RelatedPairs]:
        """The corpus and its related pairs; waits for the thread, and raises its error."""
        try:
            while (event := self._events.get()) is not None:
                report_progress(event)
            return self._found.result()
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """Let the thread end soon: its result is not wanted."""
        self._needed = False

    def _work(self, parts: list[tuple[list[PageKey], FeatureTable]]) -> tuple[Corpus, RelatedPairs]:
        corpus = Corpus((keys, table, ()) for keys, table in parts)
        parts.clear()
        release_memory()
        return corpus, decide_corpus(corpus, self._settings, self._on_event)

    def _on_event(self, event: Progress) -> None:
        if not self._needed:
            raise _NotNeededError
        self._events.put(event)
