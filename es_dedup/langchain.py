"""LangChain: near-duplicates are dropped before documents are embedded, and collapsed among the documents that a retriever finds.

Main names: ``DedupTransformer`` for lists of documents, ``DedupRetriever`` around a retriever. Both read the text of a document, and of its
metadata ``title``, ``source`` or ``url`` (an address) and ``published``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import needs_extra
from es_dedup.settings import Settings
from es_dedup.tables.documents import address_of, document_id, grouped, kept_rows, row_of

with needs_extra("langchain", "es_dedup.langchain"):
    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["DedupRetriever", "DedupTransformer"]

ADDRESSES: Final = ("source", "url")
"""Metadata that may hold the address of a document."""
COLLAPSED: Final = "near_duplicates"
"""Metadata of a document that a retriever returns: ids or sources of the documents that were left out for it."""


class DedupTransformer(BaseDocumentTransformer):  # type: ignore[misc] # types of LangChain are not read
    """Documents without near-duplicates of each other and, with an index, of those that were transformed before.

    Args:
        index: an index file or ``http://host:9200/name`` that documents are compared with and stored in; None: they are compared
            with each other alone, and the canonical document of each cluster is kept.
        settings: None: those of the settings file and the environment.
    """

    def __init__(self, index: str | Path | None = None, *, settings: Settings | None = None) -> None:
        self._index, self._settings = index, settings

    def transform_documents(self, documents: Sequence[Document], **_: Any) -> Sequence[Document]:
        """The documents that stay, in order.

        With an index, documents are known by their id, or else by their text: those that were stored before stay.

        Raises:
            IndexLocked, IndexUnavailable: see ``errors``.
        """
        rows = list(map(_row, documents))
        if self._index is None:
            return [documents[row] for row in grouped(rows, self._settings, keep_first=False)]
        ids = [document.id or document_id(document.page_content) for document in documents]
        return [documents[row] for row in kept_rows(rows, ids, self._index, self._settings)]


class DedupRetriever(BaseRetriever):  # type: ignore[misc]
    """The documents of a retriever, the best one of each cluster; metadata ``near_duplicates`` names those left out for it.

    Attributes:
        retriever: asked for documents; let it return more than ``k``.
        k: documents returned, at most; None: all.
        settings: None: those of the settings file and the environment.
    """

    retriever: BaseRetriever
    k: int | None = None
    settings: Settings | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self._collapsed(self.retriever.invoke(query, config={"callbacks": run_manager.get_child()}))

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = await self.retriever.ainvoke(query, config={"callbacks": run_manager.get_child()})
        return list(await run_in_executor(None, self._collapsed, found))

    def _collapsed(self, documents: list[Document]) -> list[Document]:
        groups = grouped(list(map(_row, documents)), self.settings, keep_first=True)
        kept = []
        for row, duplicates in list(groups.items())[: self.k]:
            left_out = (documents[at] for at in duplicates)
            names = [each.id or address_of(each.metadata, *ADDRESSES) or "" for each in left_out]
            metadata = {**documents[row].metadata, COLLAPSED: names}
            kept.append(documents[row].model_copy(update={"metadata": metadata}))
        return kept


def _row(document: Document) -> dict[str, Any]:
    return row_of(document.page_content, document.metadata, *ADDRESSES)
