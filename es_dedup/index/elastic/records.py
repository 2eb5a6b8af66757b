"""Feature records as documents."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.collection import any_of
from es_dedup.index.elastic.tokens import hash_of, hash_token, key_of
from es_dedup.index.records import FeatureRecord, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.index.elastic.bulk import Write
    from es_dedup.index.elastic.collection import Collection
    from es_dedup.index.elastic.fields import TermFields
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
    documents: Collection,
    fields: TermFields,
    *,
    named: bool,
    operation: str = "index",
) -> Iterator[Write]:
    """One write per page.

    Args:
        batch: columns.
        places: which pages.
        documents: where to.
        fields: of the index.
        named: see ``TermFields.columns_of``.
        operation: ``index``, or ``create``.
    """
    columns = dict(zip(WORDS, batch.words, strict=True))
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
        yield documents.put(key_of(batch.ids[place]), body, operation=operation)


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


def copies_search(tokens: Sequence[str]) -> dict[str, Any]:
    """The search for pages with any of these content hashes, as ``hash_token`` writes them."""
    return {
        "query": any_of("content_hash", tokens),
        "sort": list(BY_ID),
        "size": FEW,
        "_source": ["content_hash"],
        "track_total_hits": False,
    }
