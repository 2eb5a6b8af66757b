"""A scan's result as one HTML page that works offline.

``write_report`` is all a caller needs. ``evidence`` is shared with the command line, so that page and terminal show
the same measures beside the same thresholds.

Traps:
- every text of a page is hostile: markup is made in ``markup`` only, and everything passes ``escape``;
- a style attribute would be refused by the page's own security policy: styles go to ``page.css``.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from es_dedup.report.data import ReportLimits, gather
from es_dedup.report.render import render
from es_dedup.report.target import open_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from es_dedup.deduplicator.index_reader import IndexReader

__all__ = ["ReportLimits", "report_page", "write_report"]


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
    return render(data, title=title, generated=datetime.now().astimezone()).encode()
