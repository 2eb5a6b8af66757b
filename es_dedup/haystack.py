"""Haystack: a component that drops near-duplicates before documents are embedded, or collapses them behind a retriever.

Main name: ``DocumentDeduplicator``.
"""

from __future__ import annotations

from typing import Any

from es_dedup.errors import needs_extra
from es_dedup.settings import Settings
from es_dedup.tables.documents import grouped, kept_rows, row_of

with needs_extra("haystack", "es_dedup.haystack"):
    from haystack import Document, component

__all__ = ["DocumentDeduplicator"]


@component
class DocumentDeduplicator:
    """Divides documents into those that stay and near-duplicates, by their content and ``title``, ``url`` and ``published`` of their metadata.

    Documents without a text stay.

    Args:
        keep: ``first``: of each cluster the first document, for hits in the order of a retriever; ``canonical``: its canonical document.
        index: an index file or ``http://host:9200/name`` that documents are compared with and stored in by their ids, for use before a
            writer; ``keep`` is not used then. None: documents are compared with each other alone.
        top_k: documents that stay, at most; None: all. Documents beyond are in neither output.
        settings: sections of the settings by name, as ``{"decision": {"preset": "strict"}}``; None: those of the settings file and the
            environment.

    Raises:
        ValueError: ``keep`` is another word.
    """

    def __init__(
        self,
        keep: str = "first",
        index: str | None = None,
        top_k: int | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        if keep not in {"first", "canonical"}:
            raise ValueError(f"keep must be 'first' or 'canonical', not {keep!r}")
        self.keep, self.index, self.top_k, self.settings = keep, index, top_k, settings
        self._settings = None if settings is None else Settings.model_validate(settings)

    @component.output_types(documents=list[Document], duplicates=list[Document])  # type: ignore[untyped-decorator] # types of Haystack are not read
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """``documents`` that stay and ``duplicates``, each in order.

        Raises:
            IndexLocked, IndexUnavailable: see ``errors``.
        """
        rows = [row_of(document.content, document.meta, "url") for document in documents]
        if self.index is None:
            kept = list(grouped(rows, self._settings, keep_first=self.keep == "first"))
        else:
            kept = kept_rows(rows, [document.id for document in documents], self.index, self._settings)
        places = set(kept)
        return {
            "documents": [documents[row] for row in kept[: self.top_k]],
            "duplicates": [each for row, each in enumerate(documents) if row not in places],
        }
