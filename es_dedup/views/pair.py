"""Two pages side by side, with their evidence, as one HTML page that works offline."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from es_dedup.decision.alignment import MOST_CHARS
from es_dedup.index.records import FeatureRecord
from es_dedup.model.translations import ENGLISH
from es_dedup.views.compare import PageView, pair_view
from es_dedup.views.markup import element, escape
from es_dedup.views.shell import document
from es_dedup.views.templates import render

if TYPE_CHECKING:
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import Page
    from es_dedup.views.compare import MemberComparison


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
    shown = render(
        "pair",
        ENGLISH,
        pair=pair_view(left, right, MOST_CHARS),
        roles=("A", "B"),
        blind=False,
        heading="h3",
    )
    body = head + render("legend", ENGLISH) + shown + element("footer", written)
    return document(title, body).encode("utf-8", "replace")
