"""What do the native core and the synonyms change? Words, parts of speech and time, and verdicts on labelled sets.

With ``--words`` a table compares the words of jieba in Python and of its dictionary in the native core. The second has each method with its own
thresholds, without the decision rules: a pair is accepted if the method's own candidate query finds it and its own verdict accepts it.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from typing import TYPE_CHECKING, Final

from harness import Row, expect, parser_of, report
from labelled import GROUPED, LABELLED, pair_sets

from es_dedup import Settings
from es_dedup.detectors.registry import create_detectors
from es_dedup.evaluation import Label, labelled
from es_dedup.model import Content, Relation
from es_dedup.text.normalise import normalise
from es_dedup.text.segment import JiebaSegmenter, NativeSegmenter
from es_dedup.text.synonyms import WORDNET
from experiments.methods import run_method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelled import PairSet

    from es_dedup.text.segment import Segmenter

METHODS: Final = ("multi_simhash", "dwdcs", "dwswn")
SETS: Final = (*LABELLED, *GROUPED)
MICROSECONDS: Final = 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--words", action="store_true", help="compare the words themselves, too")
    parser.add_argument("--synonyms", nargs="+", default=("none", WORDNET), help="wordnet, none, or a file")
    given = parser.parse_args(arguments)
    cut: list[Row] = []
    found: list[Row] = []
    for pairs in pair_sets(given.data, given.sets):
        if given.words:
            cut += segmented(pairs)
        for method, synonyms in product(given.methods, given.synonyms):
            if method == "dwswn" and synonyms != given.synonyms[0]:
                continue  # it has none
            settings = Settings.model_validate(
                {
                    "detectors": (method,),
                    "simhash": {"features": "words"},
                    **{name: {"synonyms": synonyms} for name in ("multi_simhash", "dwdcs")},
                }
            )
            found.append({"set": pairs.name, "method": method} | row_of(pairs, settings))
            if method not in ("dwswn", "simhash"):
                found[-1]["synonyms"] = synonyms
    if cut:
        report("Words by segmenter", cut, given.json.with_suffix(".words.json") if given.json else None)
    if found:
        report("Methods of words, with their own thresholds", found, given.json)
    return 0


def segmented(pairs: PairSet) -> list[Row]:
    """Words of the whole set by each segmenter, against those of jieba in Python."""
    texts = [normalise(page.text or "") for page in pairs.pages]
    characters = sum(map(len, texts))
    first: list[set[tuple[int, int]]] = []
    table: list[Row] = []
    vocabulary: set[str] = set()
    dictionary = JiebaSegmenter()
    compared: dict[str, Segmenter] = {"jieba": dictionary, "native core": NativeSegmenter()}
    for name, by in compared.items():
        by.cut("".join(texts[:1])[:100])
        start = time.process_time()
        cut = [by.cut(text) for text in texts]
        spent = time.process_time() - start
        expect(all("".join(words) == text for words, text in zip(cut, texts, strict=True)), "text is lost")
        places = [spans(words) for words in cut]
        first = first or places
        vocabulary = vocabulary or {word for words in cut for word in words if word.isalpha()}
        same = sum(len(ours & theirs) for ours, theirs in zip(first, places, strict=True))
        other = [word for word in vocabulary if by.tag(word) != dictionary.tag(word)]
        table.append(
            {
                "set": pairs.name,
                "segmenter": name,
                "pages": len(texts),
                "words": sum(map(len, places)),
                "words of the first": round(same / max(sum(map(len, first)), 1), 4),
                "pages alike": sum(ours == theirs for ours, theirs in zip(first, places, strict=True)),
                "tags that differ": f"{len(other)} of {len(vocabulary)}",
                "us/character": round(MICROSECONDS * spent / max(characters, 1), 3),
            }
        )
    return table


def spans(words: Sequence[str]) -> set[tuple[int, int]]:
    """Place of each word that holds a letter or digit."""
    found, at = set(), 0
    for word in words:
        if any(character.isalnum() for character in word):
            found.add((at, at + len(word)))
        at += len(word)
    return found


def row_of(pairs: PairSet, settings: Settings) -> Row:
    """One method's own verdicts on a set."""
    ((name, detector),) = create_detectors(settings).items()
    labels = [labelled(*pair, label) for pair, label in pairs.labels.items()]
    contents = [Content(page.text or "", page.title or "", site=page.site or "") for page in pairs.pages]
    run = run_method(detector, [page.id for page in pairs.pages], contents, labels)
    expect(run.candidates <= run.verdicts.keys(), f"{name}: a candidate has no verdict")
    accepted = {pair for pair in run.candidates if run.verdicts[pair].relation is not Relation.DIFFERENT}
    related = {each.pair for each in labels if each.label in (Label.DUP, Label.CONTAIN)}
    other = {each.pair for each in labels if each.label == Label.DIFF}
    partial = {each.pair for each in labels if each.label == Label.PARTIAL}
    return {
        "candidates": shown(run.candidates, related),
        "found": shown(accepted, related),
        "different accepted": shown(accepted, other),
        "partial accepted": shown(accepted, partial),
        "features ms/page": round(run.cost.features_ms, 3),
    }


def shown(chosen: set[tuple[str, str]] | frozenset[tuple[str, str]], of: set[tuple[str, str]]) -> str:
    """How many pairs of a kind were chosen."""
    return f"{len(chosen & of)} of {len(of)}"


if __name__ == "__main__":
    sys.exit(main())
