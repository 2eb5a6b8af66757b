"""What does each comparator cost, in microseconds a page and a pair, on one core?

Chunks of pages; processor time, the best of several rounds. ``shared`` rows are the steps that several methods need:
normalising, tokens, segmented words. ``after shared`` is what a method adds to those it uses. The answer is checked:
features of a chunk are those of each page alone, MinHash estimates the true similarity, and the SpotSigs join finds every
pair that a full comparison finds.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from harness import Row, data_file, expect, least_seconds, page_of, parser_of, report, rows_of

from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content, Relation, Skipped
from es_dedup.settings import Settings
from es_dedup.text.normalise import normalise_many
from es_dedup.text.tokens import gram_hashes, tokenise
from experiments.comparators.hashsets import HashBag
from experiments.comparators.minhash import minima_table
from experiments.comparators.spotsigs import multiset_jaccard
from experiments.comparators.words import words_of
from experiments.methods import Learner
from experiments.self_join import self_join
from experiments.settings import COMPARATORS, ExperimentSettings
from experiments.spot_index import SpotIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

SETS: Final = ("news-zh-2025", "judged-en")
CHUNK: Final = 128
MICROSECONDS: Final = 1e6
PAIRS: Final = 2_000  # timed and checked, neighbours in the list
WORD_METHODS: Final = frozenset(
    {"codet_like", "feature_sentence", "imatch", "imatch_random", "imatch_s", "lsh_s", "spotsigs"}
)
TOKEN_METHODS: Final = frozenset({"minhash", "shingling", "shingling_containment", "supershingles"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--pages", type=int, default=2_000, help="pages of each set")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    table: list[Row] = []
    notes: Row = {}
    for name in given.sets:
        pages = [page_of(row) for row in rows_of(data_file(given.data, f"{name}.jsonl.xz"), given.pages)]
        contents = [Content(page.text or "", title=page.title or "") for page in pages]
        rows, found = measure(contents, given.rounds)
        table += [{"set": name, **row} for row in rows]
        size = sum(len(content.text) for content in contents) // len(contents)
        found["pages"] = f"{len(contents)}, {size:,} characters on average"
        notes |= {f"{name}, {what}": value for what, value in found.items()}
    report("Comparators, one core", table, given.json, notes)
    return 0


def measure(contents: Sequence[Content], rounds: int) -> tuple[list[Row], Row]:
    """One row a method, and what was found about joins."""
    chunks = [list(contents[at : at + CHUNK]) for at in range(0, len(contents), CHUNK)]
    texts = [[content.text for content in chunk] for chunk in chunks]
    batches = [normalise_many(chunk) for chunk in texts]
    tokens = [tokenise(batch) for batch in batches]
    titles = [normalise_many([content.title for content in chunk]) for chunk in chunks]
    normal = least_seconds(lambda: [normalise_many(chunk) for chunk in texts], rounds) / len(contents)
    token = least_seconds(lambda: [tokenise(batch) for batch in batches], rounds) / len(contents)
    word = least_seconds(lambda: [words_of(batch) for batch in batches], rounds) / len(contents)
    title = least_seconds(lambda: [words_of(batch) for batch in titles], rounds) / len(contents)
    rows: list[Row] = [
        {"method": f"shared: {step}", "features µs/page": round(MICROSECONDS * seconds, 1)}
        for step, seconds in (("normalise", normal), ("tokens", token), ("words", word))
    ]
    config = ExperimentSettings().minhash
    kernel = least_seconds(
        lambda: [minima_table(each, len(batch), config) for each, batch in zip(tokens, batches, strict=True)],
        rounds,
    )
    rows.append({"method": "minhash kernel", "after shared": round(MICROSECONDS * kernel / len(contents), 1)})
    made: dict[str, list[Any]] = {}
    for name, detector in create_detectors(Settings(detectors=COMPARATORS)).items():
        shared = normal + (word if name in WORD_METHODS else 0.0) + (token if name in TOKEN_METHODS else 0.0)
        shared += title if name == "feature_sentence" else 0.0
        row, made[name] = one_method(detector, chunks, shared, rounds)
        rows.append({"method": name, **row})
    check_minhash(contents, made["minhash"])
    return rows, joins(made)


def one_method(
    detector: Any, chunks: list[list[Content]], shared: float, rounds: int
) -> tuple[Row, list[Any]]:
    """Times and sizes of one method, and its features."""
    if isinstance(detector, Learner):
        detector = detector.learned([content for chunk in chunks for content in chunk])
    found = [each for chunk in chunks for each in detector.featurise_many(chunk)]
    alone = [detector.featurise(content) for content in chunks[0][:20]]
    expect(found[: len(alone)] == alone, f"{detector.name}: a chunk has other features than its pages")
    seconds = least_seconds(lambda: [detector.featurise_many(chunk) for chunk in chunks], rounds) / len(found)
    features = [each for each in found if not isinstance(each, Skipped)]
    pairs = list(pairwise(features[: PAIRS + 1]))
    verify = least_seconds(lambda: [detector.verify(one, other) for one, other in pairs], rounds) / max(
        len(pairs), 1
    )
    same = [detector.verify(one, one) for one in features[:100]]
    expect(
        all(each.relation is Relation.DUPLICATE for each in same), f"{detector.name}: a page is not itself"
    )
    count = max(len(features), 1)
    return {
        "features µs/page": round(MICROSECONDS * seconds, 1),
        "after shared": round(MICROSECONDS * max(seconds - shared, 0.0), 1),
        "verify µs/pair": round(MICROSECONDS * verify, 1),
        "bytes/page": round(sum(len(detector.pack(each)) for each in features) / count),
        "terms/page": round(sum(len(detector.terms(each)) for each in features) / count),
    }, found


def check_minhash(contents: Sequence[Content], features: Sequence[Any]) -> None:
    """The estimates lie near the true similarities of the pages' shingles."""
    config = ExperimentSettings().minhash
    detector = create_detectors(Settings(detectors=("minhash",)))["minhash"]
    tokens = tokenise(normalise_many([content.text for content in contents[:PAIRS]]))
    hashes, first = gram_hashes(tokens, config.chars, config.words)
    sets = np.split(hashes, np.searchsorted(tokens.pages[first], np.arange(1, min(len(contents), PAIRS))))
    errors = []
    for at in range(min(len(sets), len(features)) - 1):
        one, other = features[at], features[at + 1]
        if isinstance(one, Skipped) or isinstance(other, Skipped):
            continue
        shared = len(np.intersect1d(sets[at], sets[at + 1]))
        true = shared / max(len(np.union1d(sets[at], sets[at + 1])), 1)
        errors.append(abs(detector.verify(one, other).score - true))
    expect(bool(errors) and max(errors) < 0.25, f"minhash is off by {max(errors, default=1.0):.3f}")


def joins(made: dict[str, list[Any]]) -> Row:
    """All similar pairs by the SpotSigs join, by LSH-S, and by comparing every pair: seconds, and what is found."""
    limit = ExperimentSettings().spotsigs.min_similarity
    bags = [each for each in made["spotsigs"] if isinstance(each, HashBag)]
    detector = create_detectors(Settings(detectors=("lsh_s",)))["lsh_s"]
    begun = time.process_time()
    found = {(left, right) for left, right, _ in SpotIndex(bags, limit).pairs()}
    joined = time.process_time() - begun
    sets = [HashBag(bag.values, np.ones_like(bag.counts)) for bag in bags]
    begun = time.process_time()
    candidates = self_join(detector, sets)
    pairs = list(zip(candidates.left.tolist(), candidates.right.tolist(), strict=True))
    by_bands = {pair for pair in pairs if multiset_jaccard(bags[pair[0]], bags[pair[1]]) >= limit}
    banded = time.process_time() - begun
    some = bags[:300]
    every = {
        (left, right)
        for right in range(len(some))
        for left in range(right)
        if multiset_jaccard(some[left], some[right]) >= limit
    }
    expect({pair for pair in found if max(pair) < len(some)} == every, "the SpotSigs join misses pairs")
    expect(by_bands <= found, "LSH-S finds pairs that the SpotSigs join misses")
    return {
        "spotsigs join": f"{joined:.2f} s, {len(found)} pairs",
        "lsh_s join": f"{banded:.2f} s, {len(by_bands)} of these pairs, {len(pairs)} candidates",
    }


if __name__ == "__main__":
    sys.exit(main())
