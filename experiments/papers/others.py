"""The experiments of the DWDCS paper and of both patents: correctness, networks, numbers of key concepts and hubs, trees."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from harness import Row, data_file, expect, rows_of

from es_dedup.detectors.char_frequency_features import WORD, FrequentUnits
from es_dedup.detectors.dwdcs_network import Merger, concepts_of, network
from es_dedup.detectors.dwdcs_paths import removal_sums
from es_dedup.text.normalise import normalise_many
from es_dedup.text.synonyms import NONE, named
from es_dedup.text.words import content_words
from experiments.edit_tree import EditTree, PostingScan
from experiments.papers.runs import (
    Table,
    best_above,
    detector_of,
    own_scores,
    read,
    run,
    settings_of,
    spent_ms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.settings.sections import CharFrequencyConfig, DwdcsConfig
    from experiments.papers.runs import Given, Set

Variants = tuple[tuple[str, str, "Mapping[str, Any]"], ...]
THRESHOLDS: Final = tuple(step / 20 for step in range(1, 21))
CORRECTNESS: Final[Variants] = (
    ("DWDCS", "dwdcs", {}),
    ("DWDCS, phrases", "dwdcs_phrases", {"dwdcs.min_overlap": 0.67}),
    ("DWDCS, formula 12 as printed", "dwdcs_printed", {}),
    ("DWDCS, weights tf-idf", "dwdcs_tfidf", {}),
    ("DWDCS, weights CB", "dwdcs_contribution", {}),
    ("DWDCS, all concepts as nodes", "dwdcs", {"dwdcs.min_occurrences": 1}),
    ("DWDCS, n = 8 leading, 6 found", "dwdcs", {"dwdcs.query": "leading"}),
    ("DWSWN", "dwswn", {}),
    ("I-Match", "imatch", {}),
)
SIMHASHES: Final[Variants] = (
    ("multi-SimHash", "multi_simhash", {}),
    ("multi-SimHash, windows each", "multi_simhash_each", {}),
    ("multi-SimHash, no synonyms", "multi_simhash", {"multi_simhash.synonyms": "none"}),
    (
        "multi-SimHash, k1 = 3, k2 = 7",
        "multi_simhash",
        {"multi_simhash.max_bits": 3, "multi_simhash.max_text_bits": 7},
    ),
    ("SimHash of words, 3 bits", "simhash", {"simhash.features": "words"}),
    ("SimHash of token pairs, 3 bits", "simhash", {}),
    ("Shingling", "shingling", {}),
)
LENGTHS: Final = (0, 500, 2_000, 5_000, 1 << 30)
CLASSES: Final = ("< 500", "500-2,000", "2,000-5,000", "> 5,000")
NODES: Final = {
    "< 500": (145, 227, 1_685, 2_379),
    "500-2,000": (498, 786, 6_931, 32_579),
    "2,000-5,000": (1_219, 1_938, 24_377, 184_342),
    "> 5,000": (3_197, 5_378, 256_328, 2_798_874),
}
"""Published nodes of DWDCS and of a network of words, and milliseconds a page of both."""
SAMPLE: Final = 40
"""Pages of each class of length."""
P_VALUES: Final = (5, 10, 15, 20, 25, 30)
L_VALUES: Final = (20, 25, 30, 40, 50, 60)
SAVED: Final = 150


def _quality(given: Given, variants: Variants, title: str, published: str) -> Table:
    """Each variant at its own thresholds, and at the best threshold of its score."""
    rows: list[Row] = []
    for name in given.sets:
        pairs = read(given.data, name)
        for label, method, changes in variants:
            found = run(pairs, method, changes)
            threshold, best = best_above(pairs, found, THRESHOLDS)
            rows.append(
                {
                    "set": name,
                    "method": label,
                    **own_scores(pairs, found),
                    "best threshold": threshold,
                    "best F1": best["F1"],
                    "best precision": best["precision"],
                    "best recall": best["recall"],
                }
            )
    return Table(title, published, rows)


def correctness(given: Given) -> Table:
    """Experiment 1: DWDCS beside the network of words and I-Match."""
    return _quality(
        given,
        CORRECTNESS,
        "DWDCS, DWSWN and I-Match",
        "precision above .90 and recall above .85 for DWDCS in three fields; DWSWN and I-Match below, but for the precision of I-Match in one",
    )


def multi_simhash(given: Given) -> Table:
    """Figure 5: multi-SimHash beside SimHash and Shingling."""
    return _quality(
        given,
        SIMHASHES,
        "multi-SimHash, SimHash and Shingling",
        "a chart over 2,162 IT news: precision, recall and F of multi-SimHash well above both",
    )


def networks(given: Given) -> Table:
    """Experiment 2: nodes and time of networks of concepts and of words, by length of the page."""
    texts: dict[str, list[str]] = {label: [] for label in CLASSES}
    for name in ("portal-zh", "statutes-zh"):
        for row in rows_of(data_file(given.data, f"{name}.jsonl.xz")):
            place = int(np.searchsorted(LENGTHS, len(row["text"]), side="right")) - 1
            if len(texts[CLASSES[place]]) < (given.pages or SAMPLE):
                texts[CLASSES[place]].append(row["text"])
    rows = [_networks_row(label, texts[label], given.rounds) for label in CLASSES if texts[label]]
    return Table(
        "networks of concepts and of words by length of the page",
        "table 1; nodes -37 % over all, time -77 % as printed (-82 % weighted by pages)",
        rows,
        {
            "network": "each concept or word is a node (min_occurrences 1), so that sizes compare with the published ones"
        },
    )


def _networks_row(label: str, texts: Sequence[str], rounds: int) -> Row:
    config = settings_of("dwdcs", {"dwdcs.min_occurrences": 1, "dwdcs.max_concepts": 5_000}).dwdcs
    words = content_words(normalise_many(texts))
    mergers = {
        kind: Merger(synonyms, config.min_overlap)
        for kind, synonyms in (("concepts", named(config.synonyms)), ("words", NONE))
    }
    sizes = {
        kind: _removals(words, config, merger, all_nodes=False) / len(texts)
        for kind, merger in mergers.items()
    }
    spent: dict[str, list[float]] = {}
    for _ in range(rounds):
        for kind, merger in mergers.items():
            for all_nodes in (False, True):
                taken, _ = spent_ms(partial(_removals, words, config, merger, all_nodes=all_nodes))
                which = "all" if all_nodes else config.hubs
                spent.setdefault(f"{kind}, {which}", []).append(taken / len(texts))
    best = {name: min(each) for name, each in spent.items()}
    published = NODES[label]
    return {
        "characters": label,
        "pages": len(texts),
        "nodes": round(sizes["concepts"], 1),
        "nodes, words": round(sizes["words"], 1),
        "fewer": round(1 - sizes["concepts"] / sizes["words"], 3),
        "published nodes": f"{published[0]:,} of {published[1]:,} (-{1 - published[0] / published[1]:.0%})",
        **{f"ms, {name}": round(each, 2) for name, each in best.items()},
        "less time": round(1 - best["concepts, 30"] / best["words, all"], 3),
        "published ms": f"{published[2]:,} of {published[3]:,} (-{1 - published[2] / published[3]:.0%})",
    }


def _removals(words: Any, config: DwdcsConfig, merger: Merger, *, all_nodes: bool) -> int:
    """Nodes of all networks, after the removal of each node or of the hubs has been tried."""
    graphs, _ = network(words, concepts_of(words, merger), config)
    sizes = np.diff(graphs.offsets)
    tried = sizes if all_nodes else np.minimum(sizes, config.hubs)
    owner = np.repeat(np.arange(len(graphs)), sizes)
    order = np.lexsort((np.arange(len(owner)), -graphs.degrees, owner))
    rank = np.arange(len(order)) - graphs.offsets[owner]
    removal_sums(graphs, order[rank < tried[owner]], np.concatenate(([0], np.cumsum(tried))))
    return int(sizes.sum())


def key_concepts(given: Given) -> Table:
    """Experiment 3: the number p of key concepts."""
    return _sweep(
        given,
        [{"dwdcs.key_concepts": p, "dwdcs.hubs": max(30, p), **_asked(p)} for p in P_VALUES],
        "the number p of key concepts",
        "figure 8, a chart: precision and recall best at p = 20",
    )


def hubs(given: Given) -> Table:
    """Experiment 4: the number l of nodes whose removal is tried."""
    return _sweep(
        given,
        [{"dwdcs.hubs": tried} for tried in L_VALUES],
        "the number l of hubs",
        "figure 9, a chart over 100 pages: time grows about linearly with l; no better precision and recall from l = 30 on",
    )


def _asked(p: int) -> Mapping[str, int]:
    """Settings that may not be above p."""
    return {"dwdcs.query_concepts": min(8, p), "dwdcs.query_hits": min(6, p)}


def _sweep(given: Given, changes: Sequence[Mapping[str, Any]], title: str, published: str) -> Table:
    rows: list[Row] = []
    for name in given.sets:
        pairs = read(given.data, name)
        words = content_words(normalise_many([each.text for each in pairs.contents[: given.pages]]))
        detectors = [detector_of("dwdcs", each) for each in changes]
        spent = [[spent_ms(lambda: one.of_words(words))[0] for one in detectors] for _ in range(given.rounds)]  # type: ignore[attr-defined]  # noqa: B023
        for at, each in enumerate(changes):
            found = run(pairs, "dwdcs", each)
            threshold, best = best_above(pairs, found, THRESHOLDS)
            shown = settings_of("dwdcs", each).dwdcs
            rows.append(
                {
                    "set": name,
                    "p": shown.key_concepts,
                    "l": shown.hubs,
                    **own_scores(pairs, found),
                    "best threshold": threshold,
                    "best F1": best["F1"],
                    "ms/page": round(min(row[at] for row in spent) / len(words), 3),
                }
            )
    return Table(title, published, rows, {"ms/page": "features after segmentation"})


def tree(given: Given) -> Table:
    """The edit-distance tree beside a scan of all pages and posting lists; and direct comparison beside subsequences."""
    rows: list[Row] = []
    for name in given.sets:
        pairs = read(given.data, name)
        method: Any = detector_of("char_frequency", {})
        config = settings_of("char_frequency", {}).char_frequency
        features = [
            page
            for page in method.featurise_many(pairs.contents[: given.pages])
            if isinstance(page, FrequentUnits)
        ]
        sizes = sorted({min(len(features), count) for count in (200, 800, len(features))})
        rows += [{"set": name, **_searches(method, config, features[:size])} for size in sizes]
        rows[-1] |= _subsequences(pairs, method)
    return Table(
        "the edit-distance tree",
        "fewer comparisons than the (n + 1) / 2 of a scan, no figures; direct comparison 5 times as fast as common subsequences, whose similarity of a page and its part lies at .14-.38",
        rows,
        {
            "ms": "of one search among the pages before it; all three find the same pages",
            "visited": "share of the stored pages that the tree compares with",
        },
    )


class _Scan:
    """Every stored page is compared, in order."""

    def __init__(self, method: Any, config: CharFrequencyConfig) -> None:  # noqa: ARG002 - as the others
        self._method, self._pages = method, list[FrequentUnits]()

    def find(self, page: FrequentUnits) -> list[int]:
        return [at for at, base in enumerate(self._pages) if self._method.covers(page, base)]

    def add(self, page: FrequentUnits) -> None:
        self._pages.append(page)


def _searches(method: Any, config: CharFrequencyConfig, pages: Sequence[FrequentUnits]) -> Row:
    row: Row = {"pages": len(pages)}
    answers = []
    stores: dict[str, Any] = {
        "scan": _Scan(method, config) if len(pages) <= SCANNED else None,
        "tree": EditTree(method, config.min_main),
        "posting lists": PostingScan(method, config.min_main),
    }
    for label, store in stores.items():
        if store is None:
            row[f"{label} ms"] = None
            continue
        spent, found = spent_ms(lambda: _search_all(store, pages))  # noqa: B023
        row[f"{label} ms"] = round(spent / max(len(pages), 1), 3)
        answers.append(found)
    expect(all(each == answers[0] for each in answers), "the searches find different pages")
    visited = stores["tree"].visited
    return row | {
        "visited": round(2 * visited / max(len(pages) * (len(pages) - 1), 1), 3),
        "found": sum(map(len, answers[0])),
    }


SCANNED: Final = 1_000
"""Pages of which all are compared with all; more take minutes."""


def _search_all(store: Any, pages: Sequence[FrequentUnits]) -> list[list[int]]:
    found = []
    for page in pages:
        found.append(store.find(page))
        store.add(page)
    return found


def _subsequences(pairs: Set, method: Any) -> Row:
    """Direct comparison of main strings beside the longest common subsequence of strings by frequency."""
    place = {page: at for at, page in enumerate(pairs.ids)}
    sides = [
        (pairs.contents[place[each.left]], pairs.contents[place[each.right]])
        for each in pairs.labels
        if each.label.positive and each.left in place and each.right in place
    ][:SAVED]
    known = [
        [page for page in method.featurise_many(pair) if isinstance(page, FrequentUnits)] for pair in sides
    ]
    both = [pair for pair in known if len(pair) == 2 and not any((page.units >= WORD).any() for page in pair)]
    if not both:
        return {}
    sets = [[set(page.units.tolist()) for page in pair] for pair in both]
    ordered = [[_by_frequency(page) for page in pair] for pair in both]
    direct, _ = spent_ms(lambda: [len(one & other) for one, other in sets])
    slow, common = spent_ms(lambda: [_common(one, other) for one, other in ordered])
    shares = [
        length / min(len(one), len(other)) for length, (one, other) in zip(common, ordered, strict=True)
    ]
    return {
        "subsequence x direct": round(slow / max(direct, 1e-9)),
        "subsequence similarity": f"{min(shares):.2f}-{max(shares):.2f}, median {median(shares):.2f}",
        "characters": round(mean(len(one) for pair in ordered for one in pair), 1),
    }


def _by_frequency(page: FrequentUnits) -> list[int]:
    counts = [high - low for low, high in pairwise(page.offsets.tolist())]
    return [
        unit
        for _, unit in sorted(
            zip(counts, page.units.tolist(), strict=True), key=lambda each: (-each[0], each[1])
        )
    ]


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common subsequence, by dynamic programming."""
    row = [0] * (len(right) + 1)
    for one in left:
        before = 0
        for at, other in enumerate(right, 1):
            before, row[at] = row[at], before + 1 if one == other else max(row[at], row[at - 1])
    return row[-1]
