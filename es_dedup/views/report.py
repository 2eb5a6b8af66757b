"""The report of a scan, one HTML page that works offline, without files beside it."""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from es_dedup.model.translations import ENGLISH
from es_dedup.views.charts import month_axis, score_bars, site_bars, size_bars
from es_dedup.views.compare import pair_view
from es_dedup.views.evidence import share_spans, shares_in_words
from es_dedup.views.frame import STYLE, file_text
from es_dedup.views.report_data import ReportLimits, gather
from es_dedup.views.templates import render

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.views.report_data import ReportData

SCRIPT: Final = "report.js"
LISTED_MEMBERS: Final = 100
"""Members of a cluster that are shown at once."""
ROWS_AT_ONCE: Final = 15
"""Rows of the table of clusters that are shown at once."""


def report_page(
    source: IndexReader,
    *,
    title: str,
    limits: ReportLimits | None = None,
    run: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """The report of an index.

    Args:
        source: an open ``Deduplicator``.
        title: heading of the page.
        limits: how much is written out.
        run: counts of the scan that the index does not hold, by name; shown as totals when above 0.
        progress: called with clusters done and to do.
    """
    data = gather(source, limits or ReportLimits(), run=run, progress=progress)
    style = file_text(STYLE)
    script = file_text(SCRIPT) if data.listed or data.detailed else ""
    policy = f"default-src 'none'; style-src {_source(style)}; base-uri 'none'; form-action 'none'"
    if script:
        policy += f"; script-src {_source(script)}"
    shown = render(
        "report",
        ENGLISH,
        title=title,
        policy=policy,
        style=style,
        script=script,
        written=f"{datetime.now().astimezone():%Y-%m-%d %H:%M}",
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
    return shown.encode("utf-8", "replace")


def _pairs(data: ReportData) -> dict[str, list[Any]]:
    """The compared pairs of each cluster that is written out."""
    return {
        view.cluster.id: [
            pair_view(view.canonical, each, data.limits.chars, ("the canonical document", "the member"))
            for each in view.comparisons
        ]
        for view in data.detailed
    }


def _source(text: str) -> str:
    """An inline style or script as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
