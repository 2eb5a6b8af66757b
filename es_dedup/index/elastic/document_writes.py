"""Documents of source indices removed and written back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.errors import IndexUnavailable
from es_dedup.index.elastic.bulk import Result, Write, write_all
from es_dedup.index.elastic.server import CONFLICT, NOT_FOUND, reads_answers
from es_dedup.index.elastic.shard_writes import WritesOfOthers
from es_dedup.index.elastic.source_metadata import read_facts
from es_dedup.index.source_index import DocumentKey, document_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.source_index import RestoredDocument, SourceDocument

DROPPED: Final = "an ingest pipeline dropped it"


@reads_answers()
class DocumentWrites(WritesOfOthers):
    """The methods of ``SourceIndex`` that remove documents and write them back."""

    def delete(self, page_ids: Iterable[str]) -> None:
        """Remove documents; those that are not there are no error.

        Raises:
            IndexUnavailable: some could not be removed.
        """
        keys = map(document_key, page_ids)
        results = self._write(Write("delete", key.index, key.id, routing=key.routing) for key in keys)
        if problems := [result.reason for result in results if not result.done]:
            raise IndexUnavailable(self._server.name, problems[0])

    def delete_unchanged(self, documents: Iterable[SourceDocument]) -> dict[str, str]:
        """Remove those documents that are still as they were read; by page id why one was not removed, empty where it was.

        The reason is ``gone``, ``conflict`` (it was written meanwhile), or what the server said. Where an index keeps external versions,
        the condition is the version itself: a delete without one raises it, and for ``index.gc_deletes`` the server refuses every write
        with the version that the document had.
        """
        given = list(documents)
        facts = read_facts(self._server, dict.fromkeys(each.key.index for each in given))
        external = {name for name, each in facts.items() if each.external}
        results = self._write(
            Write(
                "delete",
                each.key.index,
                each.key.id,
                condition=None if each.key.index in external else (each.seq_no, each.term),
                routing=each.key.routing,
                version=each.version if each.key.index in external else None,
            )
            for each in given
        )
        return {each.key.page_id: _outcome(result) for each, result in zip(given, results, strict=True)}

    def create(self, documents: Iterable[RestoredDocument]) -> list[tuple[str, str]]:
        """Write documents that are not there; for each its page id, and why it was not written, empty where it was.

        The reason is ``conflict`` where a document of that id is there, or what the server said.
        """
        given = list(documents)
        results = self._write(
            Write(
                "index" if each.version else "create",
                each.index,
                each.id,
                dict(each.source),
                routing=each.routing,
                version=each.version or None,
                pipeline="_none",
            )
            for each in given
        )
        return [
            (
                DocumentKey(result.index or each.index, each.id, each.routing).page_id,
                DROPPED if result.noop else _outcome(result),
            )
            for each, result in zip(given, results, strict=True)
        ]

    def _write(self, writes: Iterable[Write]) -> list[Result]:
        return write_all(self._server, writes, alias=False)


def _outcome(result: Result) -> str:
    if result.status == NOT_FOUND:
        return "gone"
    if result.done:
        return ""
    return "conflict" if result.status == CONFLICT else result.reason
