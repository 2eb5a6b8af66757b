"""What does character frequency cost a page, and how do the edit-distance tree and posting lists compare on a growing set?"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from harness import Row, expect, parser_of, report
from methods import MILLISECONDS, SETS, add_options, batches, best_ms, reference, spread_out, texts_of

from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.char_frequency_features import WORD
from es_dedup.settings.sections import CharFrequencyConfig
from es_dedup.text.normalise import normalise
from experiments.edit_tree import EditTree, PostingScan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.detectors.char_frequency_features import FrequentUnits


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    add_options(parser)
    parser.add_argument(
        "--stored", type=int, default=1_500, help="pages that are searched and stored in turn"
    )
    given = parser.parse_args(arguments)
    method = CharFrequency(CharFrequencyConfig())
    rows: list[Row] = []
    for name in given.sets:
        texts = texts_of(given.data, name, given.pages)
        normalised = batches(texts)
        found = [page for batch in normalised for page in method.strings(batch)]
        rows.append(
            {
                "set": name,
                "pages": len(texts),
                "features ms/page": best_ms(
                    method.strings,
                    normalised,
                    len(texts),
                    given.rounds,
                ),
                "reference ms/page": _reference_ms(texts, found, given.checked),
                "bytes/page": sum(len(method.pack(page)) for page in found) // max(len(found), 1),
                "frequent units": round(sum(len(page.units) for page in found) / max(len(found), 1), 1),
                **_searches(method, texts_of(given.data, name, given.stored)),
            }
        )
    notes = {"sets": ", ".join(SETS), "visited": "share of the stored pages that the tree compares with"}
    report("Character frequency: features and searches, one core", rows, given.json, notes)
    return 0


def _reference_ms(texts: Sequence[str], found: Sequence[FrequentUnits], checked: int) -> float:
    """Time of the reference on some Chinese pages, whose strings must be the same."""
    slow = reference("char_frequency")
    spent, done = 0.0, 0
    for text, page in spread_out(list(zip(texts, found, strict=True)), checked):
        if (page.units >= WORD).any():
            continue
        plain = normalise(text)
        begun = time.process_time()
        wanted = slow.strings(plain)
        spent += time.process_time() - begun
        done += 1
        codes = sorted(slow.row_cell_code(unit) for unit in wanted.main)
        expect(
            page.units.tolist() == codes and page.length == wanted.length, "a page differs from the reference"
        )
        sizes = sum(map(len, wanted.aux.values()))
        expect(len(page.followers) == sizes, "followers differ from the reference")
    return round(MILLISECONDS * spent / max(done, 1), 2)


def _searches(method: CharFrequency, texts: Sequence[str]) -> Row:
    """Every page is searched among those before it, by the tree and by posting lists: the answers must be the same."""
    pages = [
        page
        for batch in batches(texts)
        for page in method.strings(batch)
        if len(method.compared(page)) >= CharFrequencyConfig().min_characters
    ]
    answers, row = [], Row()
    for kind in (EditTree, PostingScan):
        store = kind(method, CharFrequencyConfig().min_main)
        begun = time.process_time()
        hits = []
        for page in pages:
            hits.append(store.find(page))
            store.add(page)
        row[f"{kind.__name__} ms/query"] = round(
            MILLISECONDS * (time.process_time() - begun) / max(len(pages), 1), 3
        )
        if isinstance(store, EditTree):
            row["visited"] = round(2 * store.visited / max(len(pages) * (len(pages) - 1), 1), 3)
        answers.append(hits)
    expect(answers[0] == answers[1], "the tree and the posting lists find different pages")
    return row | {"stored": len(pages), "found": sum(map(len, answers[0]))}


if __name__ == "__main__":
    sys.exit(main())
