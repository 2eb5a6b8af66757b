"""What is stored, and hits of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.model.explanation import format_number
from es_dedup.model.translations import translate
from es_dedup.views import clusters
from es_dedup.views.frame import anchor, framed, path
from es_dedup.views.markup import element, escape, table
from es_dedup.views.templates import short

if TYPE_CHECKING:
    from es_dedup.deduplicator.index_reader import IndexReader

LISTED: Final = 50
"""Rows of a list."""
_TILES: Final = (
    ("pages", "pages", "in the index"),
    ("clusters", "clusters", "of two pages or more"),
    ("duplicates", "duplicates", ""),
    ("unique_pages", "unique pages", ""),
    ("largest_cluster", "largest cluster", ""),
)


def overview(reader: IndexReader, language: str, jobs: str) -> bytes:
    """Counts, jobs that are not over (markup), the newest clusters, where duplicates come from, and the facts of the index."""
    stats = reader.stats()
    tiles = []
    for name, label, note in _TILES:
        value, pages = stats[name], stats["pages"]
        said = translate(language, note)
        if name == "duplicates" and isinstance(value, int) and isinstance(pages, int) and pages:
            said = f"{value / pages:.1%} {translate(language, 'of all pages')}"
        shown = element("b", format_number(value)), element("span", escape(translate(language, label)))  # type: ignore[arg-type]
        tiles.append(element("div", *shown, element("small", escape(said))))
    facts = {name: value for name, value in stats.items() if isinstance(value, int | float | str)}
    rows = ((escape(name), escape(format_number(value))) for name, value in facts.items())
    heads = translate(language, "Fact"), translate(language, "Value")
    about = element(
        "details", element("summary", escape(translate(language, "About this index"))), table(heads, rows)
    )
    body = element("section", *tiles, class_="tiles") + jobs + clusters.newest(reader, language) + about
    return framed(translate(language, "Overview"), body, language)


def search(reader: IndexReader, language: str, query: str, offset: int) -> bytes:
    """Hits of a full-text search, one for each cluster."""
    found = reader.search(query, limit=LISTED, offset=offset)
    rows = [
        (
            anchor(short(hit.title or hit.url or hit.page_id), path("pages", hit.page_id)),
            element("code", escape(hit.page_id)),
            anchor(f"+{hit.similar_count:,}", path("clusters", hit.cluster_id)) if hit.similar_count else "",
        )
        for hit in found.hits
    ]
    heads = [translate(language, head) for head in ("Page", "Id", "further pages of the cluster")]
    pages = found.total_documents if found.total_groups is None else found.total_groups
    total = element("p", f"{pages:,} {escape(translate(language, 'hits'))}", class_="note")
    body = total + table(heads, rows, class_="rows")
    if not rows:
        body = element("p", escape(translate(language, "No page has these words.")), class_="empty")
    if found.not_indexed:
        stored, said = reader.count(), translate(language, "pages are searchable so far")
        so_far = f"{stored - found.not_indexed:,} / {stored:,} {escape(said)}"
        body = element("p", so_far, class_="note") + body
    if offset + LISTED < pages:
        address = path("search", q=query, offset=offset + LISTED)
        body += element("p", anchor(translate(language, "Next"), address, rel="next"))
    return framed(translate(language, "Search"), body, language, query=query)
