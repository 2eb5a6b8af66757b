"""Are edited copies found? Pages of real sites edited as editors do it, in the corpus they come from.

From every set some pages are drawn, each gets edited copies (``experiments.mutations``), and all are scanned
with the rest of the set. Reported: the share of copies that the decision rules take for related to their original, apart by
relation; and false pairs: accepted pairs of a copy with a page of which its original has less than a tenth, nor that page
of it. Blocks that copies gain are of another set, in pages-en of pages taken out of the corpus. pages-en gives pairs in English by construction: related are the copies of one page, different all others.
"""

from __future__ import annotations

import random
import sys
from base64 import b64decode
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from harness import Row, data_file, expect, page_of, parser_of, report, rows_of, share
from labelled import joined, scan

from es_dedup import Page, Settings, extract
from es_dedup.decision import rules
from es_dedup.decision.comparison import PagePairs, compare
from es_dedup.decision.thresholds import PRESETS
from experiments.mutations import Mutant, mutate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from labelled import Scanned

NOTHING: Final = 0.1  # cover below which an original has nothing of another page
DONORS: Final = 25
SETS: Final = {
    "news-zh-2025": "portal-zh",
    "portal-zh": "news-zh-2025",
    "broadcast-zh": "news-zh-2025",
    "pages-en": "pages-en",
    "pages-en, untitled": "pages-en, untitled",
}
"""Each set, and the one that blocks are taken from."""
LEAST_CHARS: Final = 200  # of a page that is edited
MARK: Final = "#copy"


@dataclass(frozen=True, slots=True)
class Edited:
    """A set with copies: all pages, and what was done to each copy by its id."""

    pages: list[Page]
    mutants: dict[str, Mutant]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", default=tuple(SETS), choices=tuple(SETS))
    parser.add_argument("--originals", type=int, default=400, help="pages of a set that are edited")
    parser.add_argument("--copies", type=int, default=2, help="edited copies of each")
    parser.add_argument("--items", type=int, default=5_000, help="first items of broadcast-zh")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", default="balanced", choices=tuple(PRESETS))
    given = parser.parse_args(arguments)
    settings = Settings.model_validate({"decision": {"preset": given.preset}})
    rows = []
    for name in given.sets:
        pages = pages_of(given.data, name, given.items)
        others = pages_of(given.data, SETS[name], given.items)
        edited = with_copies(pages, others, given.originals, given.copies, random.Random(given.seed))
        rows.append(measured(name, edited, settings))
    report("Edited copies found, false pairs", rows, given.json, {"preset": given.preset})
    return 0


def pages_of(folder: Path | None, name: str, items: int) -> list[Page]:
    """The pages of a set; those of pages-en with the title that extraction finds, or without any."""
    name, _, untitled = name.partition(", ")
    rows = rows_of(data_file(folder, f"{name}.jsonl.xz"), items if name == "broadcast-zh" else None)
    if name != "pages-en":
        return [page_of(row) for row in rows]
    return [
        Page(
            row["id"],
            text=row["text"],
            title=None if untitled else extract(b64decode(row["html_base64"])).title,
            url=row.get("url"),
        )
        for row in rows
        if row["text"]
    ]


def with_copies(
    pages: Sequence[Page], others: Sequence[Page], originals: int, copies: int, source: random.Random
) -> Edited:
    """The pages and edited copies of some of them, drawn from those that are long enough; ``others`` give blocks."""
    able = [page for page in pages if len(page.text or "") >= LEAST_CHARS]
    givers = [page for page in others if len(page.text or "") >= LEAST_CHARS]
    donors = source.sample(givers, min(DONORS, max(1, len(givers) // 4)))
    spare = [page.text or "" for page in donors]
    given = {page.id for page in donors}
    able = [page for page in able if page.id not in given]
    every = [page for page in pages if page.id not in given]
    mutants: dict[str, Mutant] = {}
    for page in source.sample(able, min(len(able), originals)):
        for number in range(copies):
            mutant = mutate(page.text or "", page.title or "", source, spare)
            copy = replace(
                page, id=f"{page.id}{MARK}{number}", text=mutant.text, title=mutant.title, url=None
            )
            mutants[copy.id] = mutant
            every.append(copy)
    return Edited(every, mutants)


def measured(name: str, edited: Edited, settings: Settings) -> Row:
    """One row of the table."""
    scanned = scan(edited.pages, settings)
    with scanned.dedup:
        pairs = [(original_of(copy), copy) for copy in edited.mutants]
        left, right = scanned.rows(pairs)
        pages = scanned.corpus.pages
        decisions = compare(PagePairs(pages, left, pages, right), scanned.statistics, settings).decisions
        false, tried = false_pairs(scanned, settings, set(edited.mutants))
    found = decisions.rule == 0
    expect(len(found) == len(edited.mutants), "a copy was not compared")
    kept = np.array([edited.mutants[copy].kept for _, copy in pairs])
    whole = kept >= 0.75
    same = np.array([rules.RELATIONS[each].same for each in decisions.relation.tolist()])
    missed = Counter(rules.REASONS[rule] for rule in decisions.rule[~found].tolist())
    return {
        "set": name,
        "pages": len(edited.pages) - len(edited.mutants),
        "copies": len(found),
        "found": share(int(found.sum()), len(found)),
        "as duplicate, of those kept to 3/4": share(int((same & whole).sum()), int(whole.sum())),
        "other pairs accepted": tried,
        "false": len(false),
        "F1": round(2 * int(found.sum()) / (len(found) + int(found.sum()) + len(false)), 4),
        "missed by": "; ".join(f"{rule} {count}" for rule, count in missed.most_common(4)),
    }


def original_of(page_id: str) -> str:
    """The page that a copy was made of; any other page itself."""
    return page_id.partition(MARK)[0]


def false_pairs(scanned: Scanned, settings: Settings, copies: set[str]) -> tuple[list[tuple[str, str]], int]:
    """Accepted pairs of a copy with a page that has nothing of its original; and how many pairs with other pages there are.

    All candidate pairs of the scan are compared. What a copy shares with others through a passage of its original is
    no mistake: a page that is cut to a passage is contained wherever that passage stands.
    """
    found = joined(scanned, settings)
    pages, statistics = scanned.corpus.pages, scanned.statistics
    decisions = compare(PagePairs(pages, found.left, pages, found.right), statistics, settings).decisions
    ids = pages.ids
    outside = [
        (ids[left], ids[right])
        for left, right in zip(found.left[decisions.rule == 0], found.right[decisions.rule == 0], strict=True)
        if copies.intersection((ids[left], ids[right])) and original_of(ids[left]) != original_of(ids[right])
    ]
    left, right = scanned.rows((original_of(one), original_of(other)) for one, other in outside)
    measures = compare(PagePairs(pages, left, pages, right), statistics, settings).measures
    apart = np.maximum(measures.left.raw_cover, measures.right.raw_cover) < NOTHING
    return [pair for pair, false in zip(outside, apart.tolist(), strict=True) if false], len(outside)


if __name__ == "__main__":
    sys.exit(main())
