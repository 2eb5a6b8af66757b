"""How many related pairs come before the decision rules at all? Recall of candidates, for both ways of finding them.

``query``: what an index answers page by page, asked from either page. ``join``: the whole-corpus plan of a scan. Sets:
labelled duplicate and containing pairs, Chinese and English apart; pairs of one article (edits-zh); and of short-zh all
pairs of posts with an exact containment of character 5-grams of 0.8 or more, found by brute force. ``--caps`` asks another
question: how many related pairs (of manual-zh, where a page has up to 32 versions) are lost when a common term is joined with fewer of its postings?
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from harness import Row, data_file, expect, page_of, parser_of, report, rows_of, share
from labelled import GROUPED, LABELLED, PairSet, joined, pair_sets, scan

from es_dedup import Settings
from es_dedup.batch import join
from es_dedup.decision.comparison import BLOCK, PagePairs, compare
from es_dedup.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from es_dedup import Page

    Pair = tuple[str, str]

SHORT: Final = "short-zh"
GRAM: Final = 5
LEAST_GRAMS: Final = 10  # of a post; shorter ones contain each other by chance
CONTAINED: Final = 0.8
GOAL: Final = 0.99
ALL_SETS: Final = (*LABELLED, *GROUPED, SHORT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=ALL_SETS, choices=ALL_SETS)
    parser.add_argument("--missed", action="store_true", help="print the pairs that were not found")
    parser.add_argument(
        "--caps", type=int, nargs="+", help="postings of a term that are joined, the largest last"
    )
    parser.add_argument("--capped-set", default="manual-zh", help="set for --caps")
    given = parser.parse_args(arguments)
    if given.caps:
        items = rows_of(data_file(given.data, f"{given.capped_set}.jsonl.xz"))
        report(
            "Related pairs by the cap on postings",
            capped([page_of(row) for row in items], given.caps),
            given.json,
        )
        return 0
    sets = pair_sets(given.data, [name for name in given.sets if name != SHORT])
    if SHORT in given.sets:
        sets.append(short_posts(given.data))
    rows: list[Row] = []
    for each in sets:
        queried, whole, compared = candidates(each)
        same = set(each.same)
        expect(bool(same), f"{each.name} has no related pairs")
        rows.append(
            {
                "set": each.name,
                "language": each.language,
                "related pairs": len(same),
                "query": share(len(same & queried), len(same)),
                "query missed": len(same - queried),
                "join": share(len(same & whole), len(same)),
                "join missed": len(same - whole),
                "pages": len(each.pages),
                "joined pairs": compared,
            }
        )
        for pair in sorted(same - (queried & whole)) if given.missed else ():
            print(each.name, *pair, "" if pair in queried else "query", "" if pair in whole else "join")
    report("Recall of candidates before verification", rows, given.json, {"goal": GOAL})
    return 0


def candidates(pairs: PairSet) -> tuple[set[Pair], set[Pair], int]:
    """Wanted pairs that candidate queries find, those that the join finds, and how many pairs the join gives in all."""
    scanned = scan(pairs.pages)
    with scanned.dedup as dedup:
        asked = {name: set(dedup.candidates(name)) for name in {name for pair in pairs.same for name in pair}}
        found = joined(scanned)
    ids = scanned.corpus.pages.ids
    both = {
        (ids[left], ids[right]) for left, right in zip(found.left.tolist(), found.right.tolist(), strict=True)
    }
    queried = {(left, right) for left, right in pairs.same if right in asked[left] or left in asked[right]}
    join = {(left, right) for left, right in pairs.same if (left, right) in both or (right, left) in both}
    return queried, join, len(both)


def capped(pages: Sequence[Page], caps: Sequence[int]) -> list[Row]:
    """Compared and related pairs for each cap, against the last."""
    scanned = scan(pages)
    with scanned.dedup:
        stored, statistics = scanned.corpus.pages, scanned.statistics
        rows: list[Row] = []
        for cap in caps:
            with patch.object(join, "MAX_POSTINGS", cap):
                found = joined(scanned)
            related = 0
            for start in range(0, len(found.left), BLOCK):
                left, right = found.left[start : start + BLOCK], found.right[start : start + BLOCK]
                compared = compare(PagePairs(stored, left, stored, right), statistics, Settings())
                related += len(compared.related_rows().left)
            rows.append({"cap": cap, "compared": len(found.left), "related": related})
    for row in rows:
        row["of the last"] = share(row["related"], rows[-1]["related"])
    return rows


def short_posts(folder: Path | None) -> PairSet:
    """Posts, and all pairs of which one contains the other."""
    pages = [page_of(row) for row in rows_of(data_file(folder, f"{SHORT}.jsonl.xz"))]
    return PairSet(SHORT, "zh", pages, contained_pairs(pages), [])


def contained_pairs(pages: Sequence[Page]) -> list[Pair]:
    """Pairs with containment 0.8 or more of their sets of character 5-grams, white space left out."""
    grams = [set(_grams("".join(normalise(page.text or "").split()))) for page in pages]
    postings: dict[str, list[int]] = {}
    found = []
    for at, own in enumerate(grams):
        if len(own) < LEAST_GRAMS:
            continue
        shared = Counter(other for gram in own for other in postings.get(gram, ()))
        for other, count in shared.items():
            if count >= CONTAINED * min(len(own), len(grams[other])):
                found.append((pages[other].id, pages[at].id))
        for gram in own:
            postings.setdefault(gram, []).append(at)
    return found


def _grams(text: str) -> list[str]:
    return [text[at : at + GRAM] for at in range(len(text) - GRAM + 1)]


if __name__ == "__main__":
    sys.exit(main())
