"""What does DWDCS cost a page after segmentation, with arrays and with numba, and do its key concepts equal the reference?"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from harness import Row, expect, parser_of, report
from methods import MILLISECONDS, add_options, batches, best_ms, reference, spread_out, texts_of

from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.detectors.dwdcs_network import KeyConcepts
from es_dedup.kernels import dispatch
from es_dedup.settings.sections import DwdcsConfig
from es_dedup.text import synonyms
from es_dedup.text.words import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from es_dedup.text.words import WordBatch


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    add_options(parser)
    parser.add_argument("--synonyms", default="none", help="wordnet, none, or a file of synonyms")
    parser.add_argument("--min-occurrences", type=int, default=DwdcsConfig().min_occurrences)
    given = parser.parse_args(arguments)
    config = DwdcsConfig(min_occurrences=given.min_occurrences, synonyms=given.synonyms)
    rows = [_row(given.data, name, config, given) for name in given.sets]
    notes = {"numba": "installed" if find_spec("numba") else "not installed", "synonyms": given.synonyms}
    report("DWDCS: key concepts after segmentation, one core", rows, given.json, notes)
    return 0


def _row(folder: Path | None, name: str, config: DwdcsConfig, given: Any) -> Row:
    known = synonyms.named(config.synonyms)
    method = Dwdcs(config, known)
    texts = texts_of(folder, name, given.pages)
    normalised = batches(texts)
    segmented = [content_words(batch) for batch in normalised]

    def features() -> list[Any]:
        return [found for words in segmented for found in method.of_words(words)]

    row: Row = {
        "set": name,
        "pages": len(texts),
        "segmentation ms/page": best_ms(content_words, normalised, len(texts), given.rounds),
    }
    answers = {}
    for label in ("numpy", *(["numba"] if find_spec("numba") else [])):
        with patch.object(dispatch._State, "chosen", label == "numba"):  # noqa: SLF001
            answers[label] = features()
            row[f"{label} ms/page"] = best_ms(method.of_words, segmented, len(texts), given.rounds)
    expect(all(answer == answers["numpy"] for answer in answers.values()), "the kernels differ")
    kept = [one for one in answers["numpy"] if isinstance(one, KeyConcepts)]
    row["reference ms/page"] = _reference_ms(segmented, answers["numpy"], config, known, given.checked)
    row["nodes"] = round(sum(one.nodes for one in kept) / max(len(kept), 1), 1)
    row["bytes/page"] = sum(len(method.pack(one)) for one in kept) // max(len(kept), 1)
    row["skipped"] = len(texts) - len(kept)
    return row


def _reference_ms(
    segmented: Sequence[WordBatch],
    found: Sequence[Any],
    config: DwdcsConfig,
    known: synonyms.Synonyms,
    checked: int,
) -> float:
    """Time of the reference on some pages, whose key concepts and positions must be the same."""
    slow = reference("dwdcs")
    pages = [(words, page) for words in segmented for page in range(len(words))]
    spent, done = 0.0, 0
    for (words, page), wanted in spread_out(list(zip(pages, found, strict=True)), checked):
        own = words.words(page)
        sentences = words.sentence[words.offsets[page] : words.offsets[page + 1]].tolist()
        begun = time.process_time()
        names: list[str] = own
        if known.groups:
            group = slow.merged(own, lambda word: known.concept(word, config.senses), config.min_overlap)
            names = [group[word] for word in own]
        nodes, graph = slow.network(names, sentences, config.window, config.min_occurrences)
        chosen: list[str] = []
        if len(nodes) >= config.min_concepts:
            chosen = [nodes[at] for at in slow.key_nodes(graph, config.hubs, config.key_concepts)]
        spent += time.process_time() - begun
        done += 1
        places = [[at for at, other in enumerate(names) if other == each] for each in chosen]
        mine = [part.tolist() for part in _split(wanted)] if isinstance(wanted, KeyConcepts) else []
        expect(mine == places, f"page {page} differs from the reference")
    return round(MILLISECONDS * spent / max(done, 1), 1)


def _split(features: KeyConcepts) -> list[Any]:
    return [
        features.positions[low:high]
        for low, high in zip(features.offsets[:-1], features.offsets[1:], strict=True)
    ]


if __name__ == "__main__":
    sys.exit(main())
