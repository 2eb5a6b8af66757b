"""Documents of source indices removed and written back; deleted documents taken out of segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.index.elastic.bulk import OVERHEAD_BYTES, Result, Write
from es_dedup.index.elastic.server import CONFLICT, NOT_FOUND
from es_dedup.index.elastic.source_metadata import read_facts
from es_dedup.index.source_index import DocumentKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from es_dedup.index.elastic.server import Server
    from es_dedup.index.source_index import RestoredDocument, SourceDocument

    WriteAll = Callable[[Iterable[Write]], list[Result]]

DROPPED: Final = "an ingest pipeline dropped it"


def delete_unchanged(server: Server, write: WriteAll, documents: Iterable[SourceDocument]) -> dict[str, str]:
    """See ``SourceIndex.delete_unchanged``.

    Where an index keeps external versions, the condition is the version itself: a delete without one raises it, and for
    ``index.gc_deletes`` the server refuses every write with the version that the document had.
    """
    given = list(documents)
    facts = read_facts(server, dict.fromkeys(each.key.index for each in given))
    external = {name for name, each in facts.items() if each.external}
    results = write(
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


def create(write: WriteAll, documents: Iterable[RestoredDocument]) -> list[tuple[str, str]]:
    """See ``SourceIndex.create``."""
    given = list(documents)
    results = write(
        Write(
            "index" if each.version else "create",
            each.index,
            each.id,
            dict(each.source),
            OVERHEAD_BYTES + len(repr(each.source)),
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


def expunge(server: Server, indices: Sequence[str]) -> str:
    """Merge segments with deleted documents; what of these is left, in words."""
    names = ",".join(indices)
    server.call(lambda client: client.indices.refresh(index=names))
    server.call(lambda client: client.indices.forcemerge(index=names, only_expunge_deletes=True))
    stats = server.call(lambda client: client.indices.stats(index=names, metric="docs"))
    left = int(stats["_all"]["primaries"]["docs"]["deleted"])
    if not left:
        return ""
    return (
        f"{left:,} deleted documents are still in segments until the server merges them; "
        f"POST {names}/_forcemerge?max_num_segments=1 does so at once"
    )


def _outcome(result: Result) -> str:
    if result.status == NOT_FOUND:
        return "gone"
    if result.done:
        return ""
    return "conflict" if result.status == CONFLICT else result.reason
