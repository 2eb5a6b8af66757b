"""Kept texts, and the search over them.

Words are made here and split by the server at spaces only, so that every distribution finds the same.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.bulk import OVERHEAD_BYTES, Write
from es_dedup.index.elastic.reading import WINDOW, documents, pages_of_hits, whole
from es_dedup.index.elastic.tokens import key_of, storable
from es_dedup.index.texts import compress_text, decompress_text
from es_dedup.index.validation import encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from es_dedup.index.elastic.server import Server
    from es_dedup.index.records import RecordBatch

TITLE_WEIGHT: Final = 3.0  # a word of the title counts like three of the body
MAX_QUERY_WORDS: Final = 64  # further ones are left out
MAX_WORD_CHARS: Final = 255  # longer ones are cut: the server cuts them too
_WORD: Final = re.compile(r"\w+")
_BY_SCORE: Final = ({"_score": "desc"}, {"page_id": "asc"})


def words_of(segmented: str) -> list[str]:
    """Words of a segmented text, lower case."""
    found = _WORD.findall(segmented.lower().replace("_", " "))
    return [word[:MAX_WORD_CHARS] for word in found]


def writes(
    batch: RecordBatch,
    places: Sequence[int],
    index: str,
    segment: Callable[[Sequence[str]], list[str]],
    operation: str = "index",
) -> Iterator[Write]:
    """One write per page with a text.

    Args:
        batch: columns; texts plain or packed.
        places: which pages.
        index: where to.
        segment: makes words, separated by spaces, of each text.
        operation: ``index``, or ``create``.
    """
    for place in places:
        given = batch.texts[place] if len(batch.texts) else ""
        if not given:
            continue
        packed = given if isinstance(given, bytes) else compress_text(given)
        text = given if isinstance(given, str) else decompress_text(given)
        title = batch.titles[place] if len(batch.titles) else ""
        title, text = segment([title, text])
        body = {
            "page_id": batch.ids[place],
            "title": " ".join(words_of(title)),
            "body": " ".join(words_of(text)),
            "text": base64.b64encode(packed).decode(),
        }
        room = OVERHEAD_BYTES + len(body["text"]) + 4 * len(body["body"])
        yield Write(operation, index, key_of(batch.ids[place]), body, room)


def texts(server: Server, index: str, page_ids: Iterable[str]) -> dict[str, str]:
    """Main texts by id, where kept."""
    wanted = storable(page_ids)
    found = {
        document["_source"]["page_id"]: decompress_text(base64.b64decode(document["_source"]["text"]))
        for document in documents(server, index, map(key_of, wanted), fields=("page_id", "text"))
    }
    return {page_id: found[page_id] for page_id in wanted if page_id in found}


def search(server: Server, index: str, query: str, limit: int, offset: int) -> list[tuple[str, float]]:
    """Ids and scores of the pages that hold all words of a segmented query or, if none does, any of them."""
    for wanted in _queries(query) if limit > 0 else ():
        hits = _hits(server, index, wanted, limit, offset)
        if hits or (offset and _hits(server, index, wanted, 1, 0)):
            return hits
    return []


def matches(server: Server, index: str, query: str) -> int:
    """Number of the pages that ``search`` finds."""
    bodies = ({"query": wanted, "size": 0, "track_total_hits": True} for wanted in _queries(query))
    totals = (int(whole(server, index, body)["hits"]["total"]["value"]) for body in bodies)
    return next(filter(None, totals), 0)


def _queries(query: str) -> list[dict[str, Any]]:
    """All words of a segmented query, then any of them; none without words."""
    words = list(dict.fromkeys(words_of(query if encodable(query) else "")))[:MAX_QUERY_WORDS]
    ways = [_in_title_or_body(word) for word in words]
    return [{"bool": {"must": ways}}, {"bool": {"should": ways}}] if ways else []


def _in_title_or_body(word: str) -> dict[str, Any]:
    title = {"term": {"title": {"value": word, "boost": TITLE_WEIGHT}}}
    return {"bool": {"should": [title, {"term": {"body": word}}]}}


def _hits(
    server: Server, index: str, query: dict[str, Any], limit: int, offset: int
) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    size = min(offset + limit, WINDOW)
    for hits in pages_of_hits(server, index, query, _BY_SCORE, size=size, fields=False):
        found += ((hit["sort"][1], float(hit["sort"][0])) for hit in hits)
        if len(found) >= offset + limit:
            break
    return found[offset : offset + limit]
