"""How long do the views of the console take on 73,000 pages, and how long the first after the start of the server?

The index has documents of W1 with made sites and days, and copies of one document, or is that of ``--index``. Each view is made by the
function that the server calls, without HTTP, some times: the first, the median and the slowest are shown. Then a server is started on the
index: its address, its readiness and the first overview are timed from the start of the process. With ``--browser``, Chromium, driven by
Playwright (extra ``browser``), shows lists of clusters and the largest cluster: until the first byte has come, and until something is painted.
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
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

from bench_serve import serving
from harness import Row, expect, parser_of, quantile, report
from w1 import documents

from es_dedup import Deduplicator, Page
from es_dedup.model import Relation, Scope
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery
from es_dedup.views import clusters, overrides, overview, review, search, tune
from es_dedup.views import pages as pages_
from es_dedup.views.frame import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.model.cluster_lists import ClusterSummary

GOALS: Final = {"goal, ms of a list of clusters": 300}
VISITOR: Final = Visitor()
SITES: Final = 100
FIRST_DAY: Final = date(2024, 1, 1)
DAYS: Final = 730


WAIT_SECONDS: Final = 0.02
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
            dedup.prepare_search()  # which the server does in the background
            stored = dedup.count()
            (largest,) = dedup.list_clusters(ClusterQuery(2, order=ClusterOrder.LARGEST), limit=1)
            rows = [_row(dedup, name, view, given.rounds) for name, view in _views(dedup, largest)]
        if "://" not in place:
            rows += _started(Path(place), Path(folder))
        if given.browser:
            rows += _painted(Path(place), Path(folder), largest.id, given.rounds)
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


def _views(dedup: Deduplicator, largest: ClusterSummary) -> Iterator[tuple[str, partial[bytes]]]:
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
    one = partial(clusters.one, visitor=VISITOR, done="")
    yield "cluster of most pages", partial(one, name=largest.id, offset=0)
    name, other = largest.canonical, largest.weakest
    shown = partial(pages_.page, visitor=VISITOR, page_id=name, done="")
    yield "page", partial(shown, features=False)
    yield "page with features", partial(shown, features=True)
    pair = partial(pages_.pair, visitor=VISITOR, left=name, right=other, done="")
    yield "compare", partial(pair, features=False)
    yield "overrides", partial(overrides.listed, visitor=VISITOR, offset=0, done="")
    yield "review, pairs drawn", partial(review.draw, seed=1)
    ask = partial(review.ask, visitor=VISITOR, name="a", second=False, skipped=(), wanted=None)
    yield "review, a pair", partial(ask, queue=[(name, other)])
    yield "tune", partial(tune.tune, visitor=VISITOR, changes={"decision.preset": "strict"})
    words = " ".join(dedup.text(name).split()[:3])[:12]
    yield "search", partial(search.search, visitor=VISITOR, query=words, offset=0)


def _row(dedup: Deduplicator, name: str, view: partial[bytes], rounds: int) -> Row:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        size = len(view(dedup))
        times.append(1000 * (time.perf_counter() - begun))
        expect(size > 0, f"{name}: nothing is shown")
    return {
        "view": name,
        "first ms": times[0],
        "ms": quantile(times, 0.5),
        "slowest": max(times),
        "bytes": size,
    }


def _started(place: Path, folder: Path) -> list[Row]:
    """Milliseconds from the start of a server until it takes requests, has read the index, and has shown the overview."""
    begun, found = time.perf_counter(), []

    def note(view: str) -> None:
        found.append({"view": view, "first ms": 1000 * (time.perf_counter() - begun)})

    with serving(place, folder) as server:
        note("server: address")
        while not _answers(f"{server.address}/readyz"):
            time.sleep(WAIT_SECONDS)
        note("server: ready")
        form = urlencode({"token": server.token}).encode()
        expect(_answers(f"{server.address}/console/sign-in", form), "no overview is shown")
        note("server: overview shown")
    return found


def _answers(address: str, form: bytes | None = None) -> bool:
    """Whether a request, and what it leads to, is answered; cookies are kept meanwhile."""
    request = Request(address, form)  # noqa: S310 - of the server above
    try:
        with build_opener(HTTPCookieProcessor()).open(request) as answer:
            return bool(answer.read())
    except HTTPError:
        return False


def _painted(place: Path, folder: Path, largest: str, rounds: int) -> list[Row]:
    """First byte and first contentful paint in milliseconds after the start of the navigation, in a new tab each."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - of an extra

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    found = []
    cluster = f"/clusters/{quote(largest, safe='')}"
    lists = ("/clusters", "/clusters?order=largest", "/clusters?order=confidence")
    with serving(place, folder) as server, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(base_url=server.address)
        page = context.new_page()
        page.goto("/console")
        page.fill("[name=token]", server.token)
        page.keyboard.press("Enter")
        page.get_by_role("navigation").wait_for()
        for path in (*lists, cluster, f"{cluster}?offset=5000"):
            times = []
            for _ in range(rounds):
                page = context.new_page()
                page.goto(f"/console{path}")
                expect(page.locator(".rows").count() > 0, f"{path}: nothing is shown")
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
