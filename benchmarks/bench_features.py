"""What does each step from raw text to stored features cost, in microseconds of processor time a page?

Chunks of pages as the worker processes take them; best of several rounds for each step. ``all`` is one chunk through the
function that the workers call, so it holds the steps above it and the making of records. ``all with names`` is the same for an index
that keeps named fields.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from harness import Row, data_file, expect, page_of, parser_of, report, rows_of

from es_dedup import Settings
from es_dedup.batch.featurise import CHUNK_PAGES, FeatureMaker, content_of
from es_dedup.detectors.features import featurise, pack, stored_terms, unpack
from es_dedup.detectors.named_fields import named_fields
from es_dedup.extraction.language import language_of
from es_dedup.index.factory import text_codec
from es_dedup.text.normalise import normalise_many, normalised_pages
from es_dedup.text.words import words_of_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_dedup import Page

SETS: Final = ("broadcast-zh", "portal-zh", "news-zh-2025", "judged-en")
MICROSECONDS: Final = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--pages", type=int, default=8 * CHUNK_PAGES, help="pages of each set")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    table: dict[str, Row] = {}
    notes = {}
    for name in given.sets:
        pages = [page_of(row) for row in rows_of(data_file(given.data, f"{name}.jsonl.xz"), given.pages)]
        costs = measure(pages, given.rounds)
        for step, seconds in costs.items():
            row = table.setdefault(step, {"step": step})
            row[f"{name} µs/page"] = round(MICROSECONDS * seconds / len(pages), 1)
        notes[name] = (
            f"{len(pages)} pages, {sum(len(page.text or '') for page in pages) // len(pages):,} characters on average"
        )
    report("Steps from raw text to stored features, one core", list(table.values()), given.json, notes)
    return 0


def measure(pages: Sequence[Page], rounds: int) -> dict[str, float]:
    """Seconds for all pages by step, the best round of each."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        spent: dict[str, float] = {}
        for start in range(0, len(pages), CHUNK_PAGES):
            one_chunk(list(pages[start : start + CHUNK_PAGES]), spent)
        best = {step: min(seconds, best.get(step, seconds)) for step, seconds in spent.items()}
    return best


def one_chunk(pages: list[Page], spent: dict[str, float]) -> None:
    """Run every step on a chunk and add up its time."""
    settings = Settings(workers=1)
    contents = [content_of(page, settings.extraction)[0] for page in pages]
    texts, titles = [each.text for each in contents], [each.title for each in contents]

    def timed(step: str, call: Callable[[], Any]) -> Any:
        normalised_pages.cache_clear()
        words_of_pages.cache_clear()
        begun = time.process_time()
        result = call()
        spent[step] = spent.get(step, 0.0) + time.process_time() - begun
        return result

    timed("normalise", lambda: normalise_many(texts))
    table = timed("normalise and featurise", lambda: featurise(texts, titles, settings))
    packed = timed("pack", lambda: pack(table))
    timed("unpack", lambda: unpack(packed))
    timed("terms", lambda: stored_terms(table, settings))
    timed("language", lambda: [language_of(text) for text in texts])
    codec = text_codec(settings)
    expect(codec is not None, "texts are not kept by default")
    timed("pack text", lambda: [codec(text) for text in texts] if codec else [])
    chunk = timed("all", lambda: FeatureMaker(settings, codec).chunk(pages))
    timed("names", lambda: named_fields(texts, titles, settings, table))
    stored = settings.elastic.also_stored
    timed("names, also stored", lambda: named_fields(texts, titles, settings, table, also=stored))
    timed("all with names", lambda: FeatureMaker(settings, codec, named=True).chunk(pages))
    expect(pack(unpack(packed)) == packed, "unpacked features differ")
    expect(list(chunk.records.payloads) == packed, "a chunk has other features than its steps")


if __name__ == "__main__":
    sys.exit(main())
