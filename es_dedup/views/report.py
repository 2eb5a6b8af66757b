"""Reports that work offline: a scan's result, and two pages with their evidence, each as one HTML page without files beside it."""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from es_dedup.decision.alignment import MOST_CHARS
from es_dedup.index.records import FeatureRecord
from es_dedup.model.translations import ENGLISH
from es_dedup.views.charts import month_axis, score_bars, site_bars, size_bars
from es_dedup.views.compare import PageView, pair_view
from es_dedup.views.evidence import share_spans, shares_in_words
from es_dedup.views.frame import STYLE, file_text
from es_dedup.views.report_data import ReportLimits, gather
from es_dedup.views.target import open_target
from es_dedup.views.templates import render

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import Page
    from es_dedup.views.compare import MemberComparison
    from es_dedup.views.report_data import ReportData

SCRIPT: Final = "report.js"
LISTED_MEMBERS: Final = 100
"""Members of a cluster that are shown at once."""
ROWS_AT_ONCE: Final = 15
"""Rows of the table of clusters that are shown at once."""


def write_report(
    source: IndexReader,
    path: Path,
    *,
    title: str,
    limits: ReportLimits | None = None,
    run: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write the report of an index to ``path``, replacing what is there only when it is complete.

    Args:
        source: an open ``Deduplicator``.
        path: the HTML file.
        title: heading of the page.
        limits: how much is written out.
        run: counts of the scan that the index does not hold, by name; shown as totals when above 0.
        progress: called with clusters done and to do.

    Raises:
        OSError: the file cannot be written.
    """
    page = report_page(source, title=title, limits=limits, run=run, progress=progress)
    with open_target(path) as stream:
        stream.write(page)


def report_page(
    source: IndexReader,
    *,
    title: str,
    limits: ReportLimits | None = None,
    run: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """The report of an index; see ``write_report``."""
    data = gather(source, limits or ReportLimits(), run=run, progress=progress)
    return _document(
        "report",
        title,
        script=SCRIPT if data.listed or data.detailed else "",
        data=data,
        run=[(name, count) for name, count in data.run.items() if isinstance(count, int) and count > 0],
        facts={name: value for name, value in data.stats.items() if isinstance(value, (int, float, str))},
        places={view.cluster.id: place for place, view in enumerate(data.detailed, 1)},
        sizes=size_bars(data.totals.sizes),
        scores=score_bars(data.totals.scores),
        sites=site_bars(data.sites),
        months=month_axis(data.months),
        pairs=_pairs(data),
        share_spans=share_spans,
        shares_in_words=shares_in_words,
        listed_members=LISTED_MEMBERS,
        rows_at_once=ROWS_AT_ONCE,
    )


def _pairs(data: ReportData) -> dict[str, list[Any]]:
    """The compared pairs of each cluster that is written out."""
    return {
        view.cluster.id: [
            pair_view(view.canonical, each, data.limits.chars, ("the canonical document", "the member"))
            for each in view.comparisons
        ]
        for view in data.detailed
    }


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
    """Two pages side by side, with their evidence."""
    title = f"{left.record.page_id} – {right.page.record.page_id}"
    return _document("explain", title, pair=pair_view(left, right, MOST_CHARS, ("A", "B")))


def _document(template: str, title: str, *, script: str = "", **values: object) -> bytes:
    """A page that loads nothing: its policy allows only its own style and, where there is one, its own script, by their hashes."""
    style, code = file_text(STYLE), file_text(script) if script else ""
    policy = f"default-src 'none'; style-src {_source(style)}; base-uri 'none'; form-action 'none'"
    if code:
        policy += f"; script-src {_source(code)}"
    shown = render(
        template,
        ENGLISH,
        title=title,
        policy=policy,
        style=style,
        script=code,
        written=f"{datetime.now().astimezone():%Y-%m-%d %H:%M}",
        **values,
    )
    return shown.encode("utf-8", "replace")


def _source(text: str) -> str:
    """An inline style or script as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
