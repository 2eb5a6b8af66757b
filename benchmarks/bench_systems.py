"""What do multi-SimHash, character frequency and DWDCS cost a page, and do their features equal the slow references?

Processor time of one core for texts of 500 to 2,000 characters, in batches as a worker process takes them; the best of several
rounds. Segmentation, which multi-SimHash and DWDCS share, is timed apart. The references are those of ``tests/reference``.
"""

from __future__ import annotations

import importlib
import sys
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from unittest.mock import patch

from harness import Row, data_file, expect, least_seconds, parser_of, report, rows_of

from es_dedup import native
from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.char_frequency_features import WORD
from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.detectors.multi_simhash import SPEECH, MultiSimhash
from es_dedup.model import Skipped
from es_dedup.settings.sections import CharFrequencyConfig, DwdcsConfig, MultiSimhashConfig
from es_dedup.text import synonyms
from es_dedup.text.idf import general
from es_dedup.text.normalise import normalise, normalise_many
from es_dedup.text.words import content_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from es_dedup.text.normalise import TextBatch
    from es_dedup.text.words import WordBatch

SETS: Final = ("portal-zh", "news-zh-2025", "judged-en")
SHORTEST: Final = 500
LONGEST: Final = 2_000
BATCH: Final = 256
MILLISECONDS: Final = 1_000


class Page(NamedTuple):
    """One page of a set: its text, and its place in the words of its batch."""

    text: str
    words: WordBatch
    place: int


class System(Protocol):
    """A method that is measured."""

    def features(self, texts: TextBatch, words: WordBatch) -> list[Any]:
        """Features of a batch."""

    def pack(self, features: Any) -> bytes:
        """Features as they are stored."""

    def reference(self, page: Page) -> Callable[[], Any] | None:
        """The slow implementation on a page; None where it does not know pages of this kind."""

    def comparable(self, features: Any) -> Any:
        """Features, None of a skipped page, in the form that the reference gives."""


class MultiSimhashSystem:
    """Two fingerprints."""

    def __init__(self) -> None:
        self._method, self._idf = MultiSimhash(MultiSimhashConfig()), general()
        self.pack = self._method.pack

    def features(self, _texts: TextBatch, words: WordBatch) -> list[Any]:
        """Features of a batch."""
        return self._method.of_words(words)

    def reference(self, page: Page) -> Callable[[], Any]:
        """Both fingerprints."""
        slow, config = _reference("multi_simhash"), MultiSimhashConfig()
        words, own = page.words, page.words.words(page.place)
        value = dict(zip(words.vocabulary, words.hashes.tolist(), strict=True))
        speech = dict(zip(words.vocabulary, (SPEECH[at] for at in words.speech.tolist()), strict=True))
        rarity = dict(zip(words.vocabulary, self._idf.of(words.vocabulary).tolist(), strict=True))

        def call() -> Any:
            weights = slow.word_weights(own, rarity.__getitem__, speech.__getitem__)
            windows = slow.windows(own, slow.keywords(weights, config.keywords), config.context)
            return slow.fingerprints(own, windows, value.__getitem__, value.__getitem__)

        return call

    def comparable(self, features: Any) -> Any:
        """Both fingerprints."""
        return getattr(features, "text", None), getattr(features, "keywords", None)


class CharFrequencySystem:
    """Frequent characters and what follows them."""

    def __init__(self) -> None:
        self._method = CharFrequency(CharFrequencyConfig())
        self.pack = self._method.pack

    def features(self, texts: TextBatch, _words: WordBatch) -> list[Any]:
        """Features of a batch."""
        return list(self._method.strings(texts))

    def reference(self, page: Page) -> Callable[[], Any] | None:
        """Codes of the main string, length, and number of followers; pages with words are not compared."""
        slow = _reference("char_frequency")
        (features,) = self._method.strings(normalise_many([page.text]))
        if (features.units >= WORD).any():
            return None
        text = normalise(page.text)

        def call() -> Any:
            strings = slow.strings(text)
            codes = sorted(slow.row_cell_code(unit) for unit in strings.main)
            return codes, strings.length, sum(map(len, strings.aux.values()))

        return call

    def comparable(self, features: Any) -> Any:
        """Codes of the main string, length, and number of followers."""
        return features.units.tolist(), features.length, len(features.followers)


class DwdcsSystem:
    """Key concepts and where they stand."""

    def __init__(self, config: DwdcsConfig) -> None:
        self._config, self._synonyms = config, synonyms.named(config.synonyms)
        self._method = Dwdcs(config, self._synonyms)
        self.pack = self._method.pack

    def features(self, _texts: TextBatch, words: WordBatch) -> list[Any]:
        """Features of a batch."""
        return self._method.of_words(words)

    def reference(self, page: Page) -> Callable[[], Any]:
        """Positions of each key concept."""
        slow, config, known = _reference("dwdcs"), self._config, self._synonyms
        words, own = page.words, page.words.words(page.place)
        low, high = words.offsets[page.place : page.place + 2]
        sentences = words.sentence[low:high].tolist()

        def call() -> Any:
            names: list[str] = own
            if known.groups:
                group = slow.merged(own, known.concept, config.min_overlap)
                names = [group[word] for word in own]
            nodes, graph = slow.network(names, sentences, config.window, config.min_occurrences)
            if len(nodes) < config.min_concepts:
                return []
            keys = [nodes[at] for at in slow.key_nodes(graph, config.hubs, config.key_concepts)]
            return [[at for at, name in enumerate(names) if name == key] for key in keys]

        return call

    def comparable(self, features: Any) -> Any:
        """Positions of each key concept."""
        if features is None:
            return []
        bounds = zip(features.offsets[:-1], features.offsets[1:], strict=True)
        return [features.positions[low:high].tolist() for low, high in bounds]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--pages", type=int, default=512, help="pages of each set")
    parser.add_argument("--rounds", type=int, default=5, help="the best round counts")
    parser.add_argument("--checked", type=int, default=20, help="pages compared with the slow reference")
    parser.add_argument("--synonyms", default="none", help="of DWDCS: wordnet, none, or a file")
    parser.add_argument("--min-occurrences", type=int, default=DwdcsConfig().min_occurrences)
    given = parser.parse_args(arguments)
    config = DwdcsConfig(min_occurrences=given.min_occurrences, synonyms=given.synonyms)
    systems: dict[str, System] = {
        "multi_simhash": MultiSimhashSystem(),
        "char_frequency": CharFrequencySystem(),
        "dwdcs": DwdcsSystem(config),
    }
    rows = [
        {"set": name, "method": method, **row}
        for name in given.sets
        for method, row in _rows(texts_of(given.data, name, given.pages), systems, given)
    ]
    report("Features of the described systems, one core", rows, given.json, {"synonyms": given.synonyms})
    return 0


def _rows(texts: Sequence[str], systems: dict[str, System], given: Any) -> Iterator[tuple[str, Row]]:
    """Segmentation, then each method, on one set."""
    parts = [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]
    batches = [normalise_many(part) for part in parts]
    segmented = [content_words(batch) for batch in batches]
    spent = _best_ms(lambda: list(map(content_words, batches)), len(texts), given.rounds)
    yield "segmentation", {"numpy ms/page": spent}
    pages = [
        Page(text, words, at)
        for part, words in zip(parts, segmented, strict=True)
        for at, text in enumerate(part)
    ]
    for method, system in systems.items():
        yield method, _measured(system, list(zip(batches, segmented, strict=True)), pages, given)


def texts_of(folder: Path | None, name: str, most: int) -> list[str]:
    """Texts of a set of 500 to 2,000 characters, the first ones; all lengths where too few have that."""
    texts = [row["text"] for row in rows_of(data_file(folder, f"{name}.jsonl.xz")) if row["text"]]
    fitting = [text for text in texts if SHORTEST <= len(text) <= LONGEST]
    return (fitting or texts)[:most]


def _measured(
    system: System, batches: Sequence[tuple[TextBatch, WordBatch]], pages: Sequence[Page], given: Any
) -> Row:
    """Times of one method, with arrays and with the native core, beside the reference's on some pages, which must agree."""

    def features() -> list[Any]:
        return [each for texts, words in batches for each in system.features(texts, words)]

    row: Row = {}
    answers = []
    for name, core in {"numpy": None, "native": native.core}.items():
        with patch.object(native, "core", core):
            answers.append(features())
            row[f"{name} ms/page"] = _best_ms(features, len(pages), given.rounds)
    expect(answers[0] == answers[-1], "the native core differs")
    known = [None if isinstance(each, Skipped) else each for each in answers[0]]
    spent, compared = 0.0, 0
    step = max(1, len(pages) // max(given.checked, 1))
    for page, found in list(zip(pages, known, strict=True))[::step][: given.checked]:
        if (slow := system.reference(page)) is None:
            continue
        begun = time.process_time()
        wanted = slow()
        spent += time.process_time() - begun
        compared += 1
        expect(system.comparable(found) == wanted, "a page differs from the reference")
    kept = [each for each in known if each is not None]
    if nodes := [each.nodes for each in kept if hasattr(each, "nodes")]:
        row["nodes"] = round(sum(nodes) / len(nodes), 1)
    return row | {
        "reference ms/page": round(MILLISECONDS * spent / max(compared, 1), 2),
        "bytes/page": sum(len(system.pack(each)) for each in kept) // max(len(kept), 1),
        "skipped": len(known) - len(kept),
    }


def _best_ms(call: Callable[[], object], pages: int, rounds: int) -> float:
    """Processor milliseconds a page of a call, after one call that is not counted."""
    call()
    return round(MILLISECONDS * least_seconds(call, rounds) / max(pages, 1), 4)


def _reference(name: str) -> Any:
    return importlib.import_module(f"tests.reference.{name}")


if __name__ == "__main__":
    sys.exit(main())
