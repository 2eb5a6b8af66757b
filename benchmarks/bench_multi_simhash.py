"""What does multi-SimHash cost a page after segmentation, and do its fingerprints equal the reference?"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from harness import Row, expect, parser_of, report
from methods import MILLISECONDS, add_options, batches, best_ms, reference, spread_out, texts_of

from es_dedup.detectors.multi_simhash import MultiSimhash, TwoFingerprints
from es_dedup.settings.sections import MultiSimhashConfig
from es_dedup.text.idf import general
from es_dedup.text.words import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.text.words import WordBatch


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    add_options(parser)
    given = parser.parse_args(arguments)
    method = MultiSimhash(MultiSimhashConfig())
    rows: list[Row] = []
    for name in given.sets:
        texts = texts_of(given.data, name, given.pages)
        normalised = batches(texts)
        segmented = [content_words(batch) for batch in normalised]
        found = [features for words in segmented for features in method.of_words(words)]
        packed = [method.pack(one) for one in found if isinstance(one, TwoFingerprints)]
        rows.append(
            {
                "set": name,
                "pages": len(texts),
                "segmentation ms/page": best_ms(content_words, normalised, len(texts), given.rounds),
                "features ms/page": best_ms(
                    method.of_words,
                    segmented,
                    len(texts),
                    given.rounds,
                ),
                "reference ms/page": _reference_ms(segmented, found, given.checked),
                "bytes/page": sum(map(len, packed)) // max(len(packed), 1),
            }
        )
    report("Multi-SimHash: features after segmentation, one core", rows, given.json)
    return 0


def _reference_ms(segmented: Sequence[WordBatch], found: Sequence[Any], checked: int) -> float:
    """Time of the reference on some pages, whose fingerprints must be the same."""
    slow, config, idf = reference("multi_simhash"), MultiSimhashConfig(), general()
    speech = (config.noun, config.adjective, config.verb, config.other)
    pages = [(words, page) for words in segmented for page in range(len(words))]
    spent, done = 0.0, 0
    for (words, page), wanted in spread_out(list(zip(pages, found, strict=True)), checked):
        own = words.words(page)
        value = dict(zip(words.vocabulary, words.hashes.tolist(), strict=True))
        kind = dict(zip(words.vocabulary, (speech[at] for at in words.speech.tolist()), strict=True))
        rarity = dict(zip(words.vocabulary, idf.of(words.vocabulary).tolist(), strict=True))
        begun = time.process_time()
        weights = slow.word_weights(own, rarity.__getitem__, kind.__getitem__)
        near = slow.windows(own, slow.keywords(weights, config.keywords), config.context)
        text, keywords = slow.fingerprints(own, near, value.__getitem__, value.__getitem__)
        spent += time.process_time() - begun
        done += 1
        same = (text, keywords) == (getattr(wanted, "text", None), getattr(wanted, "keywords", None))
        expect(same, f"page {page} differs from the reference")
    return round(MILLISECONDS * spent / max(done, 1), 2)


if __name__ == "__main__":
    sys.exit(main())
