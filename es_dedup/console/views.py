"""Lists: what is stored, clusters, hits of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.console.frame import anchor, framed, path, time_of
from es_dedup.console.words import words
from es_dedup.model.explanation import format_number
from es_dedup.report.compare import title_of
from es_dedup.report.evidence import share_spans
from es_dedup.report.markup import element, escape, table

if TYPE_CHECKING:
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import Cluster

LISTED: Final = 50
"""Rows of a list."""
MAX_CHARS: Final = 200
"""Characters of a title in a list."""
_TILES: Final = (
    ("pages", "pages", "in the index"),
    ("clusters", "clusters", "of two pages or more"),
    ("duplicates", "duplicates", ""),
    ("unique_pages", "unique pages", ""),
    ("largest_cluster", "largest cluster", ""),
)


def overview(reader: IndexReader, language: str, jobs: str) -> bytes:
    """Counts, jobs that are not over (markup), and the facts of the index."""
    stats = reader.stats()
    tiles = []
    for name, label, note in _TILES:
        value, pages = stats[name], stats["pages"]
        said = words(language, note)
        if name == "duplicates" and isinstance(value, int) and isinstance(pages, int) and pages:
            said = f"{value / pages:.1%} {words(language, 'of all pages')}"
        shown = element("b", format_number(value)), element("span", escape(words(language, label)))  # type: ignore[arg-type]
        tiles.append(element("div", *shown, element("small", escape(said))))
    facts = {name: value for name, value in stats.items() if isinstance(value, int | float | str)}
    rows = ((escape(name), escape(format_number(value))) for name, value in facts.items())
    heads = words(language, "Fact"), words(language, "Value")
    about = element(
        "details", element("summary", escape(words(language, "About this index"))), table(heads, rows)
    )
    body = element("section", *tiles, class_="tiles") + jobs + about
    return framed(words(language, "Overview"), body, language)


def clusters(reader: IndexReader, language: str, min_size: int, after: str | None) -> bytes:
    """Clusters by id, ``LISTED`` at a time."""
    found = list(reader.clusters(min_size=min_size, after=after, limit=LISTED + 1))
    listed = found[:LISTED]
    label = escape(words(language, "At least so many pages"))
    form = element(
        "form",
        element("label", label, f'<input type="number" name="min_size" min="1" value="{min_size}">'),
        element("button", escape(words(language, "Show"))),
        action=path("clusters"),
        class_="bar",
    )
    if not listed:
        body = element("p", escape(words(language, "No cluster of this size.")), class_="empty")
    else:
        heads = (
            "Pages",
            "Canonical document",
            "Site",
            "Published",
            "Shared of it",
            "Shared of the others",
        )
        rows = [_row(reader, cluster) for cluster in listed]
        body = table([words(language, head) for head in heads], rows, class_="rows")
    more = ""
    if len(found) > LISTED:
        address = path("clusters", min_size=min_size, after=listed[-1].id)
        more = element("p", anchor(words(language, "Next"), address, rel="next"))
    return framed(words(language, "Clusters"), form + body + more, language)


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
    heads = [words(language, head) for head in ("Page", "Id", "further pages of the cluster")]
    total = element("p", f"{found.total_groups:,} {escape(words(language, 'hits'))}", class_="note")
    body = total + table(heads, rows, class_="rows")
    if not rows:
        body = element("p", escape(words(language, "No page has these words.")), class_="empty")
    if offset + LISTED < found.total_groups:
        address = path("search", q=query, offset=offset + LISTED)
        body += element("p", anchor(words(language, "Next"), address, rel="next"))
    return framed(words(language, "Search"), body, language, query=query)


def short(text: str) -> str:
    """A title for a list."""
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"


def _row(reader: IndexReader, cluster: Cluster) -> tuple[str, ...]:
    record = reader.record(cluster.canonical)
    return (
        element("b", f"{cluster.size:,}"),
        anchor(short(title_of(record)), path("clusters", cluster.id)),
        escape(record.site),
        time_of(record.published[:10]),
        *share_spans(cluster),
    )
