"""Two pages side by side, with their evidence, as one HTML page that works offline."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from es_dedup.decision.alignment import MOST_CHARS
from es_dedup.index.records import FeatureRecord
from es_dedup.report.alignment import legend
from es_dedup.report.compare import comparison
from es_dedup.report.data import PageView
from es_dedup.report.markup import element, escape
from es_dedup.report.shell import document

if TYPE_CHECKING:
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import Page
    from es_dedup.report.data import MemberComparison


def page_view(reader: IndexReader, side: str | Page) -> PageView:
    """A page as it is shown, stored or not."""
    if isinstance(side, str):
        return PageView(reader.record(side), reader.text(side))
    content = reader.content_of(side)
    assert content is not None  # noqa: S101 - a page has content
    record = FeatureRecord(
        side.id,
        len(content.text),
        0,
        (),
        b"",
        url=content.url or "",
        site=content.site or "",
        title=content.title,
        language=content.language,
    )
    return PageView(record, content.text)


def pair_page(left: PageView, right: MemberComparison) -> bytes:
    """The HTML page of a pair."""
    title = f"{left.record.page_id} – {right.page.record.page_id}"
    head = element("header", element("p", "es-dedup explain", class_="kicker"), element("h1", escape(title)))
    written = element("p", f"Written {datetime.now().astimezone():%Y-%m-%d %H:%M}", class_="note")
    shown = comparison(left, right, MOST_CHARS, roles=("A", "B"))
    body = head + legend() + shown + element("footer", written)
    return document(title, body).encode("utf-8", "replace")
