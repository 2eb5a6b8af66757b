"""Kept texts, and the search over them.

Words are made here and split by the server at spaces only, so that every distribution finds the same.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.server import reads_answers
from es_dedup.index.elastic.store import Store
from es_dedup.index.elastic.tokens import key_of, storable
from es_dedup.index.texts import compress_text, decompress_text
from es_dedup.index.validation import encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from es_dedup.index.elastic.bulk import Write
    from es_dedup.index.records import RecordBatch
    from es_dedup.model import Progress

TITLE_WEIGHT: Final = 3.0  # a word of the title counts like three of the body
MAX_QUERY_WORDS: Final = 64  # further ones are left out
MAX_WORD_CHARS: Final = 255  # longer ones are cut: the server cuts them too
_WORD: Final = re.compile(r"\w+")
_BY_SCORE: Final = ({"_score": "desc"}, {"page_id": "asc"})


def words_of(segmented: str) -> list[str]:
    """Words of a segmented text, lower case."""
    found = _WORD.findall(segmented.lower().replace("_", " "))
    return [word[:MAX_WORD_CHARS] for word in found]


@reads_answers()
class TextDocuments(Store):
    """The methods of ``Index`` that read and search texts; what writes and removes them."""

    _segment: Callable[[Sequence[str]], list[str]]  # makes words, separated by spaces, of each text

    def texts(self, page_ids: Iterable[str]) -> dict[str, str]:
        """See ``FeatureIndex.texts``."""
        read = self._texts.read(map(key_of, storable(page_ids)), fields=("page_id", "text"))
        sources = (document["_source"] for document in read)
        return {each["page_id"]: decompress_text(base64.b64decode(each["text"])) for each in sources}

    def search(self, query: str, *, limit: int = 10, offset: int = 0) -> list[tuple[str, float]]:
        """See ``FeatureIndex.search``: pages that hold all words of the query or, if none does, any of them."""
        self._catch_up(self._texts)
        for wanted in self._queries(query) if limit > 0 else ():
            hits = self._texts.first(wanted, _BY_SCORE, offset + limit, fields=False)
            if hits:
                return [(hit["sort"][1], float(hit["sort"][0])) for hit in hits[offset:]]
        return []

    def matches(self, query: str) -> int:
        """See ``FeatureIndex.matches``."""
        self._catch_up(self._texts)
        return next(filter(None, map(self._texts.count, self._queries(query))), 0)

    def prepare_search(self, progress: Callable[[Progress], None] | None = None) -> None:
        """See ``FeatureIndex.prepare_search``: writes do so."""

    def _queries(self, query: str) -> list[dict[str, Any]]:
        """All words of a query, then any of them; none without words."""
        segmented = self._segment([query])[0] if encodable(query) else ""
        words = list(dict.fromkeys(words_of(segmented)))[:MAX_QUERY_WORDS]
        ways = [_in_title_or_body(word) for word in words]
        return [{"bool": {"must": ways}}, {"bool": {"should": ways}}] if ways else []

    def _text_writes(
        self, batch: RecordBatch, places: Sequence[int], operation: str = "index"
    ) -> Iterator[Write]:
        """One write for each of some pages that have a text, plain or packed.

        Args:
            batch: columns.
            places: which pages.
            operation: ``index``, or ``create``.
        """
        for place in places:
            given = batch.texts[place]
            packed = given if isinstance(given, bytes) else compress_text(given)
            text = given if isinstance(given, str) else decompress_text(given)
            title = batch.titles[place] if len(batch.titles) else ""
            title, text = self._segment([title, text])
            body = {
                "page_id": batch.ids[place],
                "title": " ".join(words_of(title)),
                "body": " ".join(words_of(text)),
                "text": base64.b64encode(packed).decode(),
            }
            yield self._texts.put(key_of(batch.ids[place]), body, operation=operation)

    def _drop_texts(self, page_ids: Iterable[str]) -> None:
        """Remove the texts of some pages; those that have none are no error."""
        there = self._texts.read(map(key_of, page_ids), fields=False)
        self._texts.write(self._texts.delete(document["_id"]) for document in there)


def _in_title_or_body(word: str) -> dict[str, Any]:
    title = {"term": {"title": {"value": word, "boost": TITLE_WEIGHT}}}
    return {"bool": {"should": [title, {"term": {"body": word}}]}}
