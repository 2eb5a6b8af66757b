"""Feature records as documents."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexUnavailable
from es_dedup.index import validation
from es_dedup.index.elastic.bulk import OVERHEAD_BYTES, Write
from es_dedup.index.elastic.reading import WINDOW, any_of, pages_of_hits, partial
from es_dedup.index.elastic.server import searched
from es_dedup.index.elastic.tokens import hash_of, hash_token, key_of
from es_dedup.index.records import FeatureRecord, version_of
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.index.elastic.fields import TermFields
    from es_dedup.index.elastic.server import Server
    from es_dedup.index.records import RecordBatch

WORDS: Final = ("published", "site", "language", "skipped", "url", "title")
"""Short strings, in the order of ``RecordBatch.words``; an empty one is left out of the document."""
FIELDS: Final = ("page_id", "content_hash", "length", "payload_version", *WORDS)
BY_ID: Final = ({"page_id": "asc"},)
HASHES_AT_A_TIME: Final = 500
FEW: Final = 1_000  # exact copies that are read at once, of all hashes asked for

COMPARED: Final = ("page_id", "payload", "published")
"""Doc values that comparing two pages needs. Read from columns, they cost less than whole documents, but only a search
can read them, and it sees a write after a refresh. ``payload_version`` tells whether it has seen the last one."""


def writes(
    batch: RecordBatch,
    places: Sequence[int],
    index: str,
    fields: TermFields,
    *,
    named: bool,
    operation: str = "index",
) -> Iterator[Write]:
    """One write per page.

    Args:
        batch: columns.
        places: which pages.
        index: where to.
        fields: of the index.
        named: see ``TermFields.columns_of``.
        operation: ``index``, or ``create``.
    """
    size = len(batch.ids)
    columns = {
        name: column if len(column) else (default,) * size
        for name, column, default in zip(WORDS, batch.words, validation.WORD_DEFAULTS, strict=True)
    }
    now = int(time.time() * 1000)
    for place, terms in zip(places, fields.columns_of(batch, places, named=named), strict=True):
        body: dict[str, Any] = {
            "page_id": batch.ids[place],
            **terms,
            "payload": base64.b64encode(batch.payloads[place]).decode(),
            "payload_version": hash_token(version_of(batch.payloads[place])),
            "length": int(batch.lengths[place]),
            "indexed_at": now,
        }
        if batch.content_hashes[place]:
            body["content_hash"] = hash_token(batch.content_hashes[place])
        body.update({name: column[place] for name, column in columns.items() if column[place]})
        room = OVERHEAD_BYTES + len(body["payload"]) + fields.room_of(terms)
        room += 3 * (len(body.get("title", "")) + len(body.get("url", "")))
        yield Write(operation, index, key_of(batch.ids[place]), body, room)


def record_of(document: Mapping[str, Any]) -> FeatureRecord:
    """The record that a document holds, read with ``FIELDS``; without payload, text and terms."""
    source = document["_source"]
    token = source.get("content_hash")
    return FeatureRecord(
        page_id=source["page_id"],
        length=source["length"],
        content_hash=hash_of(token) if token else 0,
        terms=(),
        payload=b"",
        version=hash_of(source["payload_version"]),
        **{name: source.get(name, "") for name in WORDS},
    )


def named_of(document: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Page id, and what people read of its features, of a document read with ``page_id`` and ``TermFields.types``."""
    source = dict(document["_source"])
    return source.pop("page_id"), source


def payload_of(hit: Mapping[str, Any]) -> tuple[str, tuple[bytes, str]]:
    """Page id, and payload with time of publication, of a hit with the doc values ``COMPARED``."""
    values = hit["fields"]
    text = values.get("payload", ("",))[0]
    # OpenSearch writes doc values for URLs, without padding.
    payload = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_")
    return values["page_id"][0], (payload, values.get("published", ("",))[0])


def hash_searches(hashes: Sequence[int]) -> list[dict[str, Any]]:
    """Searches whose answers ``pages_with_hash`` reads."""
    return [
        {
            "query": any_of("content_hash", some),
            "sort": list(BY_ID),
            "size": FEW,
            "_source": ["content_hash"],
            "track_total_hits": False,
        }
        for some in chunked(_hash_tokens(hashes), HASHES_AT_A_TIME)
    ]


def pages_with_hash(
    server: Server,
    index: str,
    hashes: Sequence[int],
    answers: Sequence[Mapping[str, Any]],
    limit: int | None,
) -> dict[int, list[str]]:
    """Page ids, ascending, by content hash; at most ``limit`` for each.

    Args:
        server: where to.
        index: alias or index.
        hashes: what is asked for.
        answers: of ``hash_searches`` of the same hashes.
        limit: None: all.

    Raises:
        IndexUnavailable: a part of the index did not answer.
    """
    found: dict[int, list[str]] = {}
    for some, answer in zip(chunked(_hash_tokens(hashes), HASHES_AT_A_TIME), answers, strict=True):
        if problem := partial(answer):
            raise IndexUnavailable(server.name, problem)
        hits = searched(answer)
        if len(hits) == FEW:  # some have very many: each is asked for by itself
            hits = [hit for token in some for hit in _copies(server, index, token, limit)]
        for hit in hits:
            found.setdefault(hash_of(hit["_source"]["content_hash"]), []).append(hit["sort"][0])
    return {value: page_ids[:limit] for value, page_ids in found.items()}


def _hash_tokens(hashes: Sequence[int]) -> list[str]:
    return [hash_token(value) for value in dict.fromkeys(hashes) if value]


def _copies(server: Server, index: str, token: str, limit: int | None) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    size = WINDOW if limit is None else min(limit, WINDOW)
    for hits in pages_of_hits(
        server, index, any_of("content_hash", [token]), BY_ID, size=size, fields=("content_hash",)
    ):
        found += hits
        if limit is not None and len(found) >= limit:
            break
    return found
