"""How long does one ``check`` take against all of broadcast-zh, and does it find what is there?

The index holds all items but those held out. Asked, one page at a time: edited copies of stored items (cut at an end,
a sentence added, some characters replaced), and held-out items, which are new. The first pages asked only warm up.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness import Row, data_file, expect, page_of, parser_of, quantile, report, rows_of, share

from es_dedup import Deduplicator, Page

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGES: Final = 500
WARM: Final = 20
LEAST_CHARS: Final = 200  # of an item that is copied; a notice of one line is no article
LEAST_FOUND: Final = 0.9  # of the copies; below, the times are of no interest
GOAL_MS: Final = 5.0
ADDED: Final = "编者按：本文由本站编辑整理，原文内容有删节，标题为编者所加，供读者参考。"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--items", type=int, default=0, help="first so many items are used; 0: all")
    parser.add_argument("--pages", type=int, default=PAGES, help="pages asked, half of them copies")
    parser.add_argument("--index", type=Path, help="keep the index in this file, and use it when it is there")
    given = parser.parse_args(arguments)
    rows = rows_of(data_file(given.data, "broadcast-zh.jsonl.xz"), given.items or None)
    stored, asked = pages_of(rows, given.pages)
    with tempfile.TemporaryDirectory() as folder:
        path = given.index or Path(folder) / "pages.db"
        if not path.exists():
            with Deduplicator.open(path) as dedup:
                dedup.scan(stored)
        with Deduplicator.open(path, read_only=True) as dedup:
            expect(dedup.stats()["pages"] == len(stored), "the index holds other pages: remove the file")
            ask(dedup, asked[:WARM])
            found = rows_of_answers(ask(dedup, asked))
    report(f"One check against {len(stored):,} stored pages", found, given.json, {"goal, p95 in ms": GOAL_MS})
    return 0


def pages_of(rows: Sequence[Row], pages: int) -> tuple[list[Page], list[tuple[Page, str]]]:
    """Pages to store and pages to ask, with the id of the original of a copy; half of these are copies, the others new."""
    source = random.Random(11)
    held = set(source.sample(range(len(rows)), pages // 2))
    stored = [page_of(row) for at, row in enumerate(rows) if at not in held]
    new = [page_of(rows[at]) for at in sorted(held)]
    long = [page for page in stored if len(page.text or "") >= LEAST_CHARS]
    copies = {f"copy-of-{page.id}": page for page in source.sample(long, pages - len(new))}
    asked = [(edited(name, page, source), page.id) for name, page in copies.items()]
    asked += [(page, "") for page in new]
    source.shuffle(asked)
    return stored, asked


def edited(name: str, page: Page, source: random.Random) -> Page:
    """A copy as reprints are: a tenth to a third is cut, a sentence is added, two characters in a hundred are others."""
    text = page.text or ""
    kept = round(len(text) * source.uniform(0.67, 0.9))
    text = text[:kept] if source.random() < 0.7 else text[-kept:]
    letters = [source.choice(text) if source.random() < 0.02 and each.isalnum() else each for each in text]
    return Page(id=name, text="".join(letters) + "\n" + ADDED, title=page.title)


@dataclass(frozen=True, slots=True)
class Answer:
    """How one page was answered.

    Attributes:
        copied: it is an edited copy of a stored page.
        ms: milliseconds.
        related: a copy: whether its original, or what stands for that, is among the verdicts; a new page: whether there are any.
    """

    copied: bool
    ms: float
    related: bool


def ask(dedup: Deduplicator, asked: Sequence[tuple[Page, str]]) -> list[Answer]:
    """Check the pages one by one."""
    found = []
    for page, original in asked:
        begun = time.perf_counter()
        decision = dedup.check(page)
        ms = 1000 * (time.perf_counter() - begun)
        names = {verdict.right for verdict in decision.verdicts}
        related = bool(names)
        if original:
            related = original in names or dedup.cluster(original).canonical in names
        found.append(Answer(bool(original), ms, related))
    return found


def rows_of_answers(answers: Sequence[Answer]) -> list[Row]:
    """Times of copies, of new pages and of all; most copies must have been found."""
    copies, new = ([each for each in answers if each.copied == kind] for kind in (True, False))
    hits = sum(each.related for each in copies)
    expect(hits >= LEAST_FOUND * len(copies), f"only {hits} of {len(copies)} copies are found")
    kinds = {"copies": copies, "new": new, "all": answers}
    return [
        {
            **times_of(name, [each.ms for each in some]),
            "related": None if name == "all" else share(sum(each.related for each in some), len(some)),
        }
        for name, some in kinds.items()
        if some
    ]


def times_of(name: str, values: Sequence[float]) -> Row:
    """A row of times in milliseconds."""
    return {
        "pages": name,
        "asked": len(values),
        "p50 ms": round(quantile(values, 0.5), 3),
        "p95 ms": round(quantile(values, 0.95), 3),
        "p99 ms": round(quantile(values, 0.99), 3),
    }


if __name__ == "__main__":
    sys.exit(main())
