"""What does character frequency cost a page, and do its strings equal the reference?"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from harness import Row, expect, parser_of, report
from methods import MILLISECONDS, add_options, batches, best_ms, reference, spread_out, texts_of

from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.char_frequency_features import WORD
from es_dedup.settings.sections import CharFrequencyConfig
from es_dedup.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.detectors.char_frequency_features import FrequentUnits


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    add_options(parser)
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
            }
        )
    report("Character frequency: features, one core", rows, given.json)
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


if __name__ == "__main__":
    sys.exit(main())
