"""Texts of other frameworks: divided among themselves, or against an index."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import xxhash

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.model import AddReport, Decision, Outcome, Page
from es_dedup.model.batches import by_key
from es_dedup.model.times import time_given
from es_dedup.tables.call import deduplicate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from es_dedup.settings import Settings


_log = logging.getLogger(__name__)


def grouped(
    rows: Sequence[Mapping[str, Any]], settings: Settings | None, *, keep_first: bool
) -> dict[int, list[int]]:
    """The positions of rows that stay, ascending, each with those of its duplicates.

    Args:
        rows: with the attributes of ``Page`` but ``id``.
        settings: None: those of the settings file and the environment.
        keep_first: keep the first row of a cluster, else its canonical document.
    """
    clusters = dict[int, list[int]]()
    if rows:
        result = deduplicate(rows, settings=settings)
        _log.info("%r", result)
        clusters = by_key((canonical, row) for row, canonical in enumerate(result.to_dict()["canonical"]))
    kept = {members[0] if keep_first else canonical: members for canonical, members in clusters.items()}
    return {row: [each for each in kept[row] if each != row] for row in sorted(kept)}


def kept_rows(
    rows: Sequence[Mapping[str, Any]], ids: Sequence[str], index: str | Path, settings: Settings | None
) -> list[int]:
    """The positions of rows that are no duplicates in an index or of each other, ascending; they are stored there.

    Args:
        rows: with the attributes of ``Page`` but ``id``; of several with one id the first counts.
        ids: of each row.
        index: an index file or ``http://host:9200/name``.
        settings: None: those of the settings file and the environment.

    Raises:
        IndexLocked, IndexUnavailable: see ``errors``.
    """
    first = {name: row for row, name in reversed(list(enumerate(ids)))}
    pages = [Page(ids[row], **rows[row]) for row in sorted(first.values())]
    with Deduplicator.open(index, settings=settings) as dedup:
        decisions = decided(dedup, pages, store=True)
    return [first[each.page_id] for each in decisions if each.outcome is not Outcome.DUPLICATE]


def row_of(text: str | None, metadata: Mapping[str, Any], *addresses: str) -> dict[str, Any]:
    """Attributes of ``Page`` of a document; the address is the first one that its metadata has under these names."""
    title = metadata.get("title")
    return {
        "text": text or "",
        "title": str(title) if title else None,
        "url": address_of(metadata, *addresses),
        "published": time_given(metadata.get("published")),
    }


def address_of(metadata: Mapping[str, Any], *names: str) -> str | None:
    """The first value that there is under some names, as text."""
    return next((str(metadata[name]) for name in names if metadata.get(name)), None)


def document_id(text: str) -> str:
    """An id of a document that has none, from its text."""
    return f"text-{xxhash.xxh3_128_hexdigest(text.encode('utf-8', 'surrogatepass'))}"


def decided(dedup: Deduplicator, pages: Sequence[Page], *, store: bool) -> list[Decision]:
    """A decision on each page against an index, in order; of several equal new pages one is unique.

    A page that is stored already with the same content is unique, or the duplicate that it was. A page that cannot be processed is
    inconclusive.

    Args:
        dedup: opened for writing when pages are stored.
        pages: of several with one id the last is decided on.
        store: store the pages, so that later ones are compared with them; else they are compared with the index alone.

    Raises:
        IndexLocked, IndexUnavailable: see ``errors``.
    """
    if not store:
        return dedup.check_many(pages)
    named = {page.id: page for page in pages}
    report = dedup.add_many(named.values())
    _log.info("%d documents, outcomes %s; preset %s", report.read, dict(report.outcomes), report.preset)
    return [report.decisions.get(page.id) or _unlisted(dedup, page.id, report) for page in pages]


def _unlisted(dedup: Deduplicator, page_id: str, report: AddReport) -> Decision:
    """The decision on a page that a report does not list: it is unique, or stored before, or failed."""
    if page_id in report.failed:
        return Decision(page_id, Outcome.INCONCLUSIVE, page_id, notes=(report.failed[page_id],))
    if report.unchanged:
        cluster = dedup.cluster(page_id)
        if cluster.canonical != page_id:
            return Decision(page_id, Outcome.DUPLICATE, cluster.id, duplicate_of=cluster.canonical)
    return Decision(page_id, Outcome.UNIQUE, page_id)
