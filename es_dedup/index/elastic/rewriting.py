"""Changes of whole documents where a partial update will not do: it cannot remove a field, and it raises ``_version``.

A document is read, changed, and indexed again under a condition. Where its index keeps external versions the condition is the version
itself (``external_gte``), which stays as it is; elsewhere it is the sequence number. A document that another writer changes meanwhile
is read again. Ingest pipelines are passed by (``_none``). Only for indices whose ``_source`` is the whole document, see ``facts``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexUnavailable
from es_dedup.index.elastic.bulk import Result, Write, write_all
from es_dedup.index.elastic.collection import mget
from es_dedup.index.elastic.server import CONFLICT, NOT_FOUND, OK, reason_in
from es_dedup.index.source_index import FieldUpdateReport
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from es_dedup.index.elastic.server import Server
    from es_dedup.index.source_index import DocumentKey

    Change = Callable[[str, dict[str, Any]], dict[str, Any]]

DOCUMENTS_AT_A_TIME: Final = 100
NOWHERE: Final = ("index_not_found_exception", "routing_missing_exception")
"""Errors that say that a document cannot be there."""
TRIES: Final = 6  # of one document that other writers change meanwhile


def rewrite(
    server: Server,
    keys: Mapping[str, DocumentKey],
    change: Change,
    *,
    external: Collection[str] = (),
) -> dict[str, Result]:
    """Change documents; one result each.

    Args:
        server: where they are.
        keys: the documents, by page id.
        change: gives the new fields of a document, from its page id and its fields; the same fields change nothing.
        external: indices whose documents keep their ``_version``.
    """
    results: dict[str, Result] = {}
    for some in chunked(keys, DOCUMENTS_AT_A_TIME):
        waiting = list(some)
        for _ in range(TRIES):
            writes: dict[str, Write] = {}
            answers = server.call(partial(mget, [place_of(keys[name]) for name in waiting]))
            for name, answer in zip(waiting, answers, strict=True):
                if not is_there(answer, server):
                    results[name] = Result(NOT_FOUND, "there is no such document")
                    continue
                new = change(name, dict(answer["_source"]))
                if new == answer["_source"]:
                    results[name] = Result(OK, noop=True)
                else:
                    writes[name] = _write(keys[name], answer, new, external)
            done = write_all(server, writes.values(), alias=False)
            results.update(zip(writes, done, strict=True))
            waiting = [name for name in writes if results[name].status == CONFLICT]
            if not waiting:
                break
    return results


def is_there(answer: Mapping[str, Any], server: Server) -> bool:
    """Whether ``mget`` has found a document.

    Raises:
        IndexUnavailable: it could not look for it.
    """
    if "error" in answer and answer["error"].get("type") not in NOWHERE:
        raise IndexUnavailable(server.name, reason_in(answer["error"]))
    return bool(answer.get("found"))


def place_of(key: DocumentKey) -> dict[str, Any]:
    """What ``mget`` takes for a document."""
    place = {"_index": key.index, "_id": key.id}
    return place | {"routing": key.routing} if key.routing else place


def _write(
    key: DocumentKey, answer: Mapping[str, Any], source: dict[str, Any], external: Collection[str]
) -> Write:
    is_external = key.index in external
    return Write(
        "index",
        key.index,
        key.id,
        source,
        condition=None if is_external else (answer["_seq_no"], answer["_primary_term"]),
        routing=key.routing,
        version=answer["_version"] if is_external else None,
        pipeline="_none",
    )


def report_of(results: Mapping[str, Result]) -> FieldUpdateReport:
    """What became of writes of ``dedup`` fields, from the result of each."""
    changed = unchanged = 0
    gone: list[str] = []
    failed: dict[str, str] = {}
    for page_id, result in results.items():
        if result.status == NOT_FOUND:
            gone.append(page_id)
        elif result.done:
            changed += not result.noop
            unchanged += result.noop
        else:
            failed[page_id] = f"{_class_of(result)}: {result.reason}"
    return FieldUpdateReport(changed, unchanged, tuple(gone), failed)


def _class_of(result: Result) -> str:
    if result.status == CONFLICT:
        return "conflict"
    parsing = ("document_parsing_exception", "mapper_parsing_exception", "strict_dynamic_mapping_exception")
    return "mapping" if any(name in result.reason for name in parsing) else "refused"
