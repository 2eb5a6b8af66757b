"""Hits of a full-text search, with what was found in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.views.frame import Visitor, path
from es_dedup.views.templates import console_page

if TYPE_CHECKING:
    from es_dedup.deduplicator.index_reader import IndexReader

LISTED: Final = 50
"""Hits of a page."""
BEFORE: Final = 60
"""Characters of a snippet before the first word that was found."""
CHARS: Final = 240
"""Characters of a snippet."""
LONGEST: Final = 25
"""Characters in which the end of a cut word is looked for."""
_WORD: Final = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W\u3400-\u9fff\uf900-\ufaff]+")


def search(reader: IndexReader, visitor: Visitor, query: str, offset: int) -> bytes:
    """Hits of a full-text search, one for each cluster; without a query, what to do."""
    if not query.strip():
        return console_page("search", visitor, query="", rows=(), total=0, searchable=None, following="")
    found = reader.search(query, limit=LISTED, offset=offset)
    ids = [hit.page_id for hit in found.hits]
    records, texts = reader.records_of(ids), reader.texts_of(ids)
    words = pattern_of(query)
    rows = [
        (
            hit,
            records.get(hit.page_id),
            marked(hit.title or hit.url or hit.page_id, words),
            snippet(texts.get(hit.page_id, ""), words),
        )
        for hit in found.hits
    ]
    total = found.total_documents if found.total_groups is None else found.total_groups
    stored = reader.count() if found.not_indexed else 0
    return console_page(
        "search",
        visitor,
        query=query,
        rows=rows,
        total=total,
        searchable=(stored - found.not_indexed, stored) if found.not_indexed else None,
        following=path("search", q=query, offset=offset + LISTED) if offset + LISTED < total else "",
    )


def pattern_of(query: str) -> re.Pattern[str]:
    """What matches the words of a query, the longest first; of Chinese words also parts of two characters."""
    words = set(_WORD.findall(query))
    words |= {word[at : at + 2] for word in words if word[0] >= "\u3400" for at in range(len(word) - 1)}
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, longest)) or r"(?!)", re.IGNORECASE)


def snippet(text: str, words: re.Pattern[str]) -> list[tuple[str, bool]]:
    """The part of a text around the first word that was found, some ``CHARS`` characters, without cut words where words are apart."""
    found = words.search(text)
    start = max(0, found.start() - BEFORE) if found else 0
    end = start + CHARS
    if start:
        start = next((at + 1 for at in range(start, start + LONGEST) if text[at : at + 1].isspace()), start)
    if end < len(text):
        end = next((at for at in range(end, end - LONGEST, -1) if text[at : at + 1].isspace()), end)
    cut = " ".join(text[start:end].split())
    return marked(f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}", words)


def marked(text: str, words: re.Pattern[str]) -> list[tuple[str, bool]]:
    """A text in parts, each with whether it is one of the words."""
    parts, end = [], 0
    for found in words.finditer(text):
        parts += [(text[end : found.start()], False), (found[0], True)]
        end = found.end()
    return [part for part in (*parts, (text[end:], False)) if part[0]]
