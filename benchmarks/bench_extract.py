"""How much of the main text of pages is found, and in how many milliseconds a page, on one core?

Character 5-grams without white space, as multisets, against the gold text: precision, recall and F1 of each page, then the
mean over pages. Pages without gold, or with an empty one, are left out. Times are processor time from bytes to content,
parsing and metadata included, the best of several rounds. Each set is a row of its own.
"""

from __future__ import annotations

import base64
import gc
import itertools
import json
import resource
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import lxml.html
from harness import MIB, Row, data_file, expect, parser_of, report, rows_of

from es_dedup.extraction import create_extractor, extractor_names
from es_dedup.model import Content
from es_dedup.settings.loading import ExtractionConfig
from experiments.extractors import grams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction import HtmlExtractor

SETS: Final = ("pages-mixed", "pages-en", "pages-zh", "pages-threads", "pages-web")
GROWTH_MIB: Final = 50
"""What 10,000 pages in a row may add to the process: caches of names fill up."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--extractors", nargs="+", default=["blocks"], choices=extractor_names())
    parser.add_argument(
        "--test-pages",
        type=Path,
        nargs="*",
        default=[],
        metavar="FOLDER",
        help="folders of other pages: in each a folder for each page, with source.html and expected.html",
    )
    parser.add_argument(
        "--rendered",
        type=Path,
        nargs="*",
        default=[],
        metavar="FOLDER",
        help="folders of pages made by scripts/render_pages; each program is a row",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=None, help="pages of each set; all when absent")
    parser.add_argument(
        "--growth", type=int, default=0, help="so many pages in a row, and what they add to memory"
    )
    given = parser.parse_args(arguments)
    pages = [page for name in given.sets for page in gold_pages(name, given.data, given.pages)]
    pages += [page for folder in given.test_pages for page in test_pages(folder)]
    pages += [page for folder in given.rendered for page in rendered_pages(folder)]
    table: list[Row] = []
    means: list[str] = []
    for name in given.extractors:
        extractor = create_extractor(ExtractionConfig(extractor=name))
        groups: dict[str, list[dict[str, float]]] = {}
        for page in pages:
            groups.setdefault(page["group"], []).append(measure(extractor, page, given.rounds))
        table += [row_of(name, group, figures) for group, figures in groups.items()]
        every = [figure for figures in groups.values() for figure in figures]
        means.append(
            f"{name} {statistics.fmean(figure['ms'] for figure in every):.1f} ms, F1 {statistics.fmean(figure['f1'] for figure in every):.3f}"
        )
    notes: dict[str, Any] = {
        "lost whole": " ".join(lost(table)) or "none",
        "mean of all pages": ", ".join(means),
    }
    if labelled := [page for page in pages if page.get("about")]:
        notes["metadata"] = metadata(labelled)
    if given.growth:
        notes["growth"] = growth(pages, given.growth)
    report("Main text against gold, one core", table, given.json, notes)
    return 0


def gold_pages(name: str, data: Path | None, most: int | None) -> list[Row]:
    """Pages of one set that have a gold text, with their bytes and the group they are reported in."""
    found: list[Row] = []
    for row in rows_of(data_file(data, f"{name}.jsonl.xz")):
        if not row.get("text") or (most is not None and len(found) >= most):
            continue
        group = row.get("source") or row.get("kind") or row["id"].partition("/")[0]
        html = base64.b64decode(row["html_base64"])
        found.append({**row, "group": f"{name}: {group}", "html": html})
    return found


def test_pages(folder: Path) -> list[Row]:
    """Pages kept as Mozilla's Readability keeps its own: a folder each, with the page and its main text as markup."""
    sources = sorted(folder.glob("*/source.html"))
    expect(bool(sources), f"{folder}: no */source.html")
    found: list[Row] = []
    for source in sources:
        gold = lxml.html.fromstring((source.parent / "expected.html").read_text("utf-8", "replace"))
        labels = source.parent / "expected-metadata.json"
        found.append(
            {
                "text": "".join(map(str, gold.itertext())),
                "group": folder.name,
                "html": source.read_bytes(),
                "about": json.loads(labels.read_bytes()) if labels.is_file() else {},
            }
        )
    return found


def rendered_pages(folder: Path) -> list[Row]:
    """Pages of programs and themes that ``scripts/render_pages`` has made."""
    files = sorted(folder.glob("*.jsonl.xz"))
    expect(bool(files), f"{folder}: no *.jsonl.xz")
    return [
        {**row, "group": f"rendered: {row['program']}", "html": base64.b64decode(row["html_base64"])}
        for path in files
        for row in rows_of(path)
    ]


def measure(extractor: HtmlExtractor, page: Row, rounds: int) -> dict[str, float]:
    """Precision, recall, F1 and milliseconds of one page."""
    best, text = float("inf"), ""
    for _ in range(rounds):
        start = time.process_time()
        found = extractor.extract(page["html"], url=page.get("url"))
        best = min(best, time.process_time() - start)
        text = found.text if isinstance(found, Content) else ""
    precision, recall, f1 = agreement(page["text"], text)
    return {"p": precision, "r": recall, "f1": f1, "ms": 1e3 * best}


def agreement(gold: str, got: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of two texts' character 5-grams."""
    wanted, found = grams(gold), grams(got)
    shared = (wanted & found).total()
    precision, recall = shared / (found.total() or 1), shared / (wanted.total() or 1)
    return precision, recall, 2 * precision * recall / (precision + recall or 1)


def row_of(extractor: str, group: str, figures: list[dict[str, float]]) -> Row:
    """One line of the table."""
    times = sorted(figure["ms"] for figure in figures)
    scores = [figure["f1"] for figure in figures]
    expect(all(0 <= score <= 1 for score in scores), f"{group}: a score is no share")
    expect(any(scores), f"{group}: nothing was found at all")
    means = {key: round(statistics.fmean(figure[key] for figure in figures), 3) for key in ("p", "r", "f1")}
    return {
        "extractor": extractor,
        "set": group,
        "pages": len(figures),
        **means,
        "median f1": round(statistics.median(scores), 3),
        "lost": sum(score < 0.1 for score in scores),
        "ms mean": round(statistics.fmean(times), 2),
        "ms median": round(statistics.median(times), 2),
        "ms p95": round(times[min(len(times) - 1, int(0.95 * len(times)))], 2),
    }


def lost(table: list[Row]) -> list[str]:
    """Sets with pages of which next to nothing was found, and how many."""
    return [f"{row['extractor']}, {row['set']}: {row['lost']};" for row in table if row["lost"]]


def metadata(pages: list[Row]) -> str:
    """How many of the labels are met, where there is one: letter by letter, but for white space and case; days of times."""
    extractor, met = create_extractor(), Counter[str]()
    labels = {"title": "title", "language": "lang"}
    given: Counter[str] = Counter()
    for page in pages:
        found, about = extractor.extract(page["html"]), page["about"]
        for name, label in labels.items():
            if wanted := plain(about.get(label)):
                given[name] += 1
                got = plain(getattr(found, name, ""))
                met[name] += got == (wanted[:2] if name == "language" else wanted)
        if day := str(about.get("publishedTime") or "")[:10]:
            given["published"] += 1
            met["published"] += str(getattr(found, "published", ""))[:10] == day
    return ", ".join(f"{name} {met[name]} of {count}" for name, count in given.items())


def plain(text: str | None) -> str:
    """A label or a value as it is compared."""
    return " ".join((text or "").casefold().split())


def growth(pages: list[Row], count: int) -> str:
    """What many pages in a row add to the process, after each page was read once."""
    extractor = create_extractor()
    for page in pages:
        extractor.extract(page["html"], url=page.get("url"))
    gc.collect()
    before = _memory()
    for page in itertools.islice(itertools.cycle(pages), count):
        extractor.extract(page["html"], url=page.get("url"))
    gc.collect()
    added = _memory() - before
    expect(added <= GROWTH_MIB * MIB, f"{count} pages added {added / MIB:.0f} MiB")
    return f"{count:,} pages added {added / MIB:.1f} MiB"


def _memory() -> int:
    """Bytes that the process holds now; the most it ever held where the system does not say."""
    status = Path("/proc/self/statm")
    if status.is_file():
        return int(status.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
