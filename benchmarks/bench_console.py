"""How long do the first views of the console take on 73,000 pages, one cluster of 10,000 among them?

The index has documents of W1 with made sites and days, and copies of one document; it is scanned into a file or, with ``--url``, into
Elasticsearch. Each view is made by the function that the server calls, without HTTP, some times; the median and the slowest are shown.
With ``--browser`` a server is started on the index, and Chromium, driven by Playwright (extra ``browser``), shows lists of clusters and the
largest cluster: until the first byte has come, and until something is painted.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench_serve import serving
from harness import Row, expect, parser_of, quantile, report
from w1 import documents

from es_dedup import Deduplicator, Page
from es_dedup.model import Relation, Scope
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery
from es_dedup.views import clusters, overview
from es_dedup.views.frame import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GOALS: Final = {"goal, ms of a list of clusters": 300}
VISITOR: Final = Visitor()
SITES: Final = 100
FIRST_DAY: Final = date(2024, 1, 1)
DAYS: Final = 730


SHOWN: Final = (
    "/clusters",
    "/clusters?order=largest",
    "/clusters?order=confidence",
    "/clusters/p0000000",
    "/clusters/p0000000?offset=5000",
)
PAINTED: Final = """new Promise((found) => new PerformanceObserver((list) => {
  const [asked] = performance.getEntriesByType("navigation");
  found([asked.responseStart, list.getEntriesByName("first-contentful-paint")[0].startTime]);
}).observe({ type: "paint", buffered: true }))"""
"""A script that gives both times."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--bases", type=int, default=45_000, help="documents of W1 before copies")
    parser.add_argument("--copies", type=int, default=10_000, help="pages of the largest cluster")
    parser.add_argument("--rounds", type=int, default=5, help="how often each view is made")
    parser.add_argument("--index", help="file or address of the index; used as it is when it has pages")
    parser.add_argument("--browser", action="store_true", help="measure in Chromium, too")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = given.index or str(Path(folder) / "console.db")
        with Deduplicator.open(place) as dedup:
            if not dedup.count():
                dedup.scan(pages(given.bases, given.copies))
            stored = dedup.count()
            rows = [_row(dedup, name, view, given.rounds) for name, view in _views()]
        if given.browser:
            rows += _painted(Path(place), Path(folder), given.rounds)
    report(f"Views of the console on {stored:,} pages", rows, given.json, GOALS)
    return 0


def pages(bases: int, copies: int) -> Iterator[Page]:
    """Documents of W1, and copies of the first."""
    made = documents(bases, 7)
    for at, each in enumerate((*made, *made[:1] * copies)):
        day = FIRST_DAY + timedelta(days=at * 37 % DAYS)
        yield Page(
            id=f"p{at:07}", text=each.text, site=f"site-{at % SITES}.example", published=day.isoformat()
        )


def _views() -> Iterator[tuple[str, partial[bytes]]]:
    list_of = partial(clusters.listed, visitor=VISITOR, after=None)
    yield "overview", partial(overview.overview, visitor=VISITOR, jobs=())
    for order in ClusterOrder:
        yield f"clusters, {order}", partial(list_of, query=ClusterQuery(min_size=2, order=order))
    site = Scope(site="site-7.example", published_from="2024-06", published_to="2025-06")
    yield (
        "clusters, site and dates",
        partial(list_of, query=ClusterQuery(2, None, site, ClusterOrder.LARGEST)),
    )
    pairs = ClusterQuery(2, Relation.DUPLICATE, order=ClusterOrder.CONFIDENCE)
    yield "clusters, relation", partial(list_of, query=pairs)
    yield "cluster of most pages", partial(clusters.one, visitor=VISITOR, name="p0000000", offset=0, done="")


def _row(dedup: Deduplicator, name: str, view: partial[bytes], rounds: int) -> Row:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        size = len(view(dedup))
        times.append(1000 * (time.perf_counter() - begun))
        expect(size > 1_000, f"{name}: nothing is shown")
    return {"view": name, "ms": quantile(times, 0.5), "slowest": max(times), "bytes": size}


def _painted(place: Path, folder: Path, rounds: int) -> list[Row]:
    """First byte and first contentful paint in milliseconds after the start of the navigation, in a new tab each."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - of an extra

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    found = []
    with serving(place, folder) as server, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(base_url=server.address)
        page = context.new_page()
        page.goto("/console")
        page.fill("[name=token]", server.token)
        page.keyboard.press("Enter")
        page.wait_for_url("**/console")
        for path in SHOWN:
            times = []
            for _ in range(rounds):
                page = context.new_page()
                page.goto(f"/console{path}")
                expect(page.locator(".rows tbody tr").count() > 0, f"{path}: nothing is shown")
                times.append(page.evaluate(PAINTED))
                page.close()
            for at, what in enumerate(("first byte", "first paint")):
                some = [each[at] for each in times]
                name = f"Chromium, {path}: {what}"
                found.append({"view": name, "ms": quantile(some, 0.5), "slowest": max(some)})
        browser.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
