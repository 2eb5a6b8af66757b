"""Whether ingest pipelines leave documents as the hook decides on them."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from es_dedup.errors import IndexError_
from es_dedup.index.source_index import unread_problem, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_dedup.hook.documents import Item
    from es_dedup.hook.report import HookReport
    from es_dedup.index.factory import SourceIndex
    from es_dedup.index.source_index import SourceFields


class PipelineCheck:
    """Tries the pipelines of each index once, and reads back one document that was written to it.

    Args:
        source_index: simulates pipelines and reads documents.
        fields: which fields of a document hold the page.
        unread: gets the indices whose stored documents lack the content field.
    """

    def __init__(self, source_index: SourceIndex, fields: SourceFields, unread: set[str]) -> None:
        self._source_index, self._fields, self._unread = source_index, fields, unread
        self._tried: set[str] = set()
        self._compared: set[str] = set()

    def simulate(self, indices: Iterable[str], report: HookReport | None = None) -> None:
        """Say once of each index what its pipelines do with a sample document, if that matters."""
        for index in sorted({*indices} - self._tried):
            self._tried.add(index)
            with suppress(IndexError_):  # the write that follows returns the error
                effects = self._source_index.pipeline_effects(
                    index, self._fields.sample(), self._fields.content
                )
                if effects.unread:
                    self._unread.add(index)
                _tell(index, (*effects.problems, *effects.notes), report)

    def read_back(self, done: Iterable[Item], report: HookReport) -> None:
        """Read back one written document of each index that is new to this hook."""
        content = self._fields.content
        for item in done:
            index, name = (item.place or item.key).index, item.written_id
            if not item.whole or item.dedup_field is None or index in self._compared:
                continue
            self._compared.add(index)
            stored = self._source_index.read([name], self._fields.names).get(name)
            if stored is None or index in self._unread:
                continue
            problems = (
                [] if stored.dedup else [f"{name} was stored without the field dedup: let pipelines keep it"]
            )
            if value_of(item.source, content) is not None and value_of(stored.source, content) is None:
                self._unread.add(index)
                problems.append(unread_problem(name, "was stored without", content))
            _tell(index, problems, report)


def _tell(index: str, effects: Sequence[str], report: HookReport | None) -> None:
    """Warn of what pipelines of an index do with documents, and add it to the report."""
    if effects:
        warnings.warn("; ".join(effects), stacklevel=4)
        if report is not None:
            report.pipelines[index] = "; ".join(effects)
