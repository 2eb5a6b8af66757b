"""Clusters as tables: all pages of clusters, or the pages to keep and to drop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.model import Cluster, Member, Relation
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader

SHARES: Final = ("shared_of_canonical", "shared_of_page")
FIGURES: Final = ("score", *SHARES)
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "clusters": ("cluster_id", "page_id", "canonical", "relation", *FIGURES, "size", "title", "url"),
    "keep": ("page_id", "cluster_id", "size"),
    "drop": ("page_id", "cluster_id", "reason", "because_of", *FIGURES),
}
RECORD: Final = ("title", "url", "site", "published", "language", "text")
"""Columns that what is stored of a page fills."""
_ROWS: Final = 1_000
"""Clusters and rows that are read at a time."""


def columns_of(what: str, *, records: bool = False) -> tuple[str, ...]:
    """The columns of a table; with ``records`` also those of ``RECORD``."""
    return tuple(dict.fromkeys((*COLUMNS[what], *(RECORD if records else ()))))


def page_rows(
    reader: IndexReader, what: str, columns: Sequence[str], *, contained: bool = False
) -> Iterator[dict[str, Any]]:
    """One row a page.

    Args:
        reader: an index whose pages are clustered.
        what: ``clusters``, all pages of clusters of several; ``keep`` and ``drop``, lists of which every stored page is in exactly one.
        columns: of ``columns_of``.
        contained: also drop pages that are contained in a longer page.
    """
    rows = _rows(reader, what, contained=contained)
    wanted = [name for name in columns if name in RECORD]
    return _with_records(reader, rows, wanted) if wanted else rows


def _rows(reader: IndexReader, what: str, *, contained: bool) -> Iterator[dict[str, Any]]:
    clusters = reader.clusters(min_size=2 if what == "clusters" else 1)
    for some in chunked(clusters, _ROWS):
        inner = [each.canonical for each in some if contained and each.contained_in]
        dropped = reader.redundant(inner, contained=True)[1] if inner else ()
        for cluster in some:
            if what == "clusters":
                yield from _pages(cluster)
            elif what == "keep" and cluster.canonical not in dropped:
                yield {"page_id": cluster.canonical, "cluster_id": cluster.id, "size": cluster.size}
            elif what == "drop":
                if cluster.canonical in dropped:
                    yield _dropped(cluster, cluster.canonical, "contained", cluster.contained_in[0])
                for each in cluster.members:
                    yield _dropped(cluster, each.page_id, each.relation, cluster.canonical) | _measured(each)


def _pages(cluster: Cluster) -> Iterator[dict[str, Any]]:
    own = Member(cluster.canonical, Relation.EXACT, 1.0, {"left_cover": 1.0, "right_cover": 1.0})
    for member in (own, *cluster.members):
        page = {"cluster_id": cluster.id, "page_id": member.page_id, "canonical": member is own}
        yield {**page, "relation": str(member.relation), **_measured(member), "size": cluster.size}


def _dropped(cluster: Cluster, page_id: str, reason: str, because_of: str) -> dict[str, Any]:
    page = {"page_id": page_id, "cluster_id": cluster.id, "reason": str(reason), "because_of": because_of}
    return {**page, "score": None, **dict.fromkeys(SHARES)}


def _measured(member: Member) -> dict[str, float | None]:
    """How much a member shares with the canonical document."""
    return {"score": round(member.score, 4), **dict(zip(SHARES, member.shares or (None, None), strict=True))}


def _with_records(
    reader: IndexReader, rows: Iterator[dict[str, Any]], wanted: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Rows with these columns of their pages' records."""
    for batch in chunked(rows, _ROWS):
        pages = [row["page_id"] for row in batch]
        records = reader.records_of(pages)
        texts = reader.texts_of(pages) if "text" in wanted else {}
        for row in batch:
            page_id = row["page_id"]
            found = {name: getattr(records.get(page_id), name, "") for name in wanted}
            yield row | found | ({"text": texts.get(page_id, "")} if "text" in wanted else {})
