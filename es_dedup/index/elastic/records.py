"""Feature records as documents."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index import checks
from es_dedup.index.elastic.bulk import OVERHEAD_BYTES, Write
from es_dedup.index.elastic.tokens import TOKEN_CHARS, hash_of, hash_token, key_of, terms_of, tokens_of
from es_dedup.index.port import FeatureRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.index.columns import RecordBatch

WORDS: Final = ("published", "site", "language", "skipped", "url", "title")
"""Short strings, in the order of ``RecordBatch.words``; an empty one is left out of the document."""
FIELDS: Final = ("page_id", "terms", "payload", "content_hash", "length", *WORDS)

COMPARED: Final = ("page_id", "payload", "published")
"""What comparing two pages needs."""


def writes(batch: RecordBatch, places: Sequence[int], index: str) -> Iterator[Write]:
    """One write per page.

    Args:
        batch: columns.
        places: which pages.
        index: where to.
    """
    size = len(batch.ids)
    columns = {
        name: column if len(column) else (default,) * size
        for name, column, default in zip(WORDS, batch.words, checks.WORD_DEFAULTS, strict=True)
    }
    tokens = tokens_of(batch.terms)
    bounds = batch.term_offsets.tolist()
    now = int(time.time() * 1000)
    for place in places:
        body: dict[str, Any] = {
            "page_id": batch.ids[place],
            "terms": tokens[bounds[place] : bounds[place + 1]],
            "payload": base64.b64encode(batch.payloads[place]).decode(),
            "length": int(batch.lengths[place]),
            "indexed_at": now,
        }
        if batch.content_hashes[place]:
            body["content_hash"] = hash_token(batch.content_hashes[place])
        body.update({name: column[place] for name, column in columns.items() if column[place]})
        room = OVERHEAD_BYTES + len(body["payload"]) + (TOKEN_CHARS + 3) * len(body["terms"])
        room += 3 * (len(body.get("title", "")) + len(body.get("url", "")))
        yield Write("index", index, key_of(batch.ids[place]), body, room)


def record_of(source: Mapping[str, Any]) -> FeatureRecord:
    """The record that a document holds, without text."""
    token = source.get("content_hash")
    return FeatureRecord(
        page_id=source["page_id"],
        length=source["length"],
        content_hash=hash_of(token) if token else 0,
        terms=terms_of(source["terms"]),
        payload=base64.b64decode(source["payload"]),
        **{name: source.get(name, "") for name in WORDS},
    )


def payload_of(source: Mapping[str, Any]) -> tuple[str, tuple[bytes, str]]:
    """Page id, and payload with time of publication."""
    return source["page_id"], (base64.b64decode(source["payload"]), source.get("published", ""))
