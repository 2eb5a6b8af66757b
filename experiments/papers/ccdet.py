"""The experiments of the CCDet paper: accuracy by threshold, stop lists, pruning, running times, nodes."""

from __future__ import annotations

import multiprocessing
import os
import time
from functools import partial
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from harness import Row, expect

from es_dedup.detectors.ccdet import period_table
from es_dedup.model import Skipped
from es_dedup.settings.sections import CcdetConfig
from es_dedup.text.hashing import mix64
from es_dedup.text.normalise import normalise_many
from experiments.methods import Learner
from experiments.papers.runs import (
    Table,
    best_above,
    contents_of,
    detector_of,
    own_scores,
    read,
    run,
    scores_above,
    settings_of,
    spent_ms,
)
from experiments.readings.ccdet import MIN_IDF, CcdetIdf, CcdetKeptCounts
from experiments.self_join import self_join

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.ccdet import PeriodTable
    from es_dedup.model import Content
    from experiments.papers.runs import Given

THRESHOLDS: Final = tuple(step / 10 for step in range(1, 11))
SHOWN: Final = (0.3, 0.5, 0.6, 0.7, 0.9)
ACCURACY: Final[Sequence[tuple[str, str, Mapping[str, Any]]]] = (
    ("CCDet", "ccdet", {}),
    ("CCDet, not pruned", "ccdet", {"ccdet.prune": "none"}),
    ("SpotSigs", "spotsigs", {}),
    ("Shingling", "shingling", {}),
    ("CoDet-like", "codet_like", {}),
)
WITHOUT_THRESHOLD: Final = {
    "I-Match": "imatch",
    "I-Match-S": "imatch_s",
    "I-Match-P": "imatch_p",
    "LSH-S": "lsh_s",
    "LSH-P": "lsh_p",
}
STOP_LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "的": ("的",),
    "的 了": ("的", "了"),
    "的 了 是 在": ("的", "了", "是", "在"),
    "的 了 是 在 和 与 也 就 都": ("的", "了", "是", "在", "和", "与", "也", "就", "都"),
    "和 与 及 或": ("和", "与", "及", "或"),
    "built-in (24)": (),
}
PRUNED: Final[Sequence[tuple[str, str, Mapping[str, Any]]]] = (
    ("CCDet (site, 3 pages)", "ccdet", {}),
    ("CCDet (site, 2 pages, the literal rule)", "ccdet", {"ccdet.prune_min_pages": 2}),
    ("CCDet (site, not recounted)", "ccdet_kept_counts", {}),
    ("NoPrune1 + IDF", "ccdet_idf", {}),
    ("NoPrune1", "ccdet", {"ccdet.prune": "none"}),
)
PAGES: Final = 3_000
NODES: Final = (1, 2, 4, 8, 16)
TASK: Final = 500
"""Pages of a map task."""


def accuracy(given: Given) -> Table:
    """Figures 6 (b) and 8: quality at each threshold, and of the methods without one."""
    rows: list[Row] = []
    for name in given.sets:
        pairs = read(given.data, name)
        for label, method, changes in ACCURACY:
            found = run(pairs, method, changes)
            threshold, best = best_above(pairs, found, THRESHOLDS)
            curve = {f"F1 at {least}": scores_above(pairs, found, least)["F1"] for least in SHOWN}
            rows.append({"set": name, "method": label, "best threshold": threshold, **best, **curve})
        for label, method in WITHOUT_THRESHOLD.items():
            figures = own_scores(pairs, run(pairs, method, {}))
            rows.append({"set": name, "method": label, "best threshold": None, **figures})
    published = "curves only (figures 6 to 8), no numbers: CCDet above SpotSigs, Shingling and CoDet, these above I-Match"
    return Table("precision, recall and F1 by threshold", published, rows)


def stop_lists(given: Given) -> Table:
    """Figure 6 (a): SpotSigs with several Chinese stop lists, each at its best threshold."""
    rows: list[Row] = []
    for name in given.sets:
        pairs = read(given.data, name)
        for label, words in STOP_LISTS.items():
            found = run(pairs, "spotsigs", {"spotsigs.antecedents": list(words)})
            threshold, best = best_above(pairs, found, THRESHOLDS)
            row = {"set": name, "antecedents": label, "best threshold": threshold, **best}
            rows.append({**row, "skipped": sum(found.skipped.values())})
    return Table(
        "SpotSigs by stop list",
        "a chart; which lists is not said, the best one is used in the comparison",
        rows,
    )


def pruning(given: Given) -> Table:
    """Quality with and without pruning, and the time of the paper's steps from signatures to pairs."""
    rows: list[Row] = []
    for name in given.sets:
        pairs = read(given.data, name)
        table = period_table(normalise_many([each.text for each in pairs.contents]), CcdetConfig().window)
        # a page without a site is of none that another page has
        named = [each.site or f"#{at}" for at, each in enumerate(pairs.contents)]
        sites = np.unique(named, return_inverse=True)[1]
        spent: dict[str, list[float]] = {label: [] for label, _, _ in PRUNED}
        counted: dict[str, Row] = {}
        for _ in range(given.rounds):
            for label, method, changes in PRUNED:
                config = settings_of(method, changes).ccdet
                taken, counted[label] = spent_ms(partial(_steps, method, table, sites, config))
                spent[label].append(taken)
        for label, method, changes in PRUNED:
            found = run(pairs, method, changes)
            threshold, best = best_above(pairs, found, THRESHOLDS)
            ratios = [one / plain for one, plain in zip(spent[label], spent["NoPrune1"], strict=True)]
            rows.append(
                {
                    "set": name,
                    "variant": label,
                    **own_scores(pairs, found),
                    "best threshold": threshold,
                    "best F1": best["F1"],
                    **counted[label],
                    "ms": round(min(spent[label]), 2),
                    "x NoPrune1": round(median(ratios), 2),
                }
            )
    return Table(
        "index pruning by site",
        "CCDet 73 ms, NoPrune1+IDF 75 ms, NoPrune1 83 ms on 3,000 pages (x 0.88, 0.90, 1); quality in a chart",
        rows,
        {
            "ms": "inverted index, pruning, pairs of all lists, and decision, from signatures; lists over 200 pages left out"
        },
    )


def _steps(method: str, table: PeriodTable, sites: NDArray[Any], config: CcdetConfig) -> Row:
    """Steps 1 to 3 of the paper with its pruning, and the decision: lists, those dropped, pairs counted and accepted."""
    offsets, signatures = table.offsets, table.signatures
    pages = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((pages, signatures))
    ordered, owners = signatures[order], pages[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] + 1))
    counts = np.diff(np.append(starts, len(ordered)))
    dropped = np.zeros(len(starts), dtype=np.bool_)
    if method == CcdetIdf.name:
        rarity = np.log((len(offsets) - 1) / counts)
        dropped = (counts >= config.prune_min_pages) & (rarity < MIN_IDF)
    elif config.prune == "site":
        of = np.repeat(np.arange(len(starts)), counts)
        keys, each = np.unique(of * (int(sites.max()) + 1) + sites[owners], return_counts=True)
        most = np.zeros(len(starts), dtype=np.int64)
        np.maximum.at(most, keys // (int(sites.max()) + 1), each)
        dropped = (counts >= config.prune_min_pages) & (most == counts)
    sizes = np.diff(offsets)
    if method != CcdetKeptCounts.name and dropped.any():
        sizes = np.bincount(owners[np.repeat(~dropped, counts)], minlength=len(offsets) - 1)
    kept = ~dropped & (counts <= MAX_POSTINGS)
    found, shared = np.unique(_pairs_of(owners, starts[kept], counts[kept]), return_counts=True)
    return {
        "lists": int((counts > 1).sum()),
        "dropped": int(dropped.sum()),
        "pairs": len(found),
        "accepted": _decided(sizes, config, (found, shared)),
    }


def _pairs_of(owners: NDArray[Any], starts: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.uint64]:
    """Every pair of pages of each list, the smaller page in the upper half; pages of a list ascend."""
    found = [np.zeros(0, dtype=np.uint64)]
    for size in np.unique(counts[counts > 1]).tolist():
        lists = owners[starts[counts == size][:, None] + np.arange(size)].astype(np.uint64)
        left, right = np.triu_indices(size, 1)
        found.append(((lists[:, left] << np.uint64(32)) | lists[:, right]).ravel())
    return np.concatenate(found)


TIMED: Final[Sequence[tuple[str, str, Mapping[str, Any], str]]] = (
    ("I-Match", "imatch", {}, "least of all"),
    ("I-Match-S", "imatch_s", {}, "least of all"),
    ("I-Match-P", "imatch_p", {}, "least of all"),
    ("CCDet", "ccdet", {}, "1 (73 ms)"),
    ("NoPrune1 + IDF", "ccdet_idf", {}, "1.03 (75 ms)"),
    ("NoPrune1", "ccdet", {"ccdet.prune": "none"}, "1.14 (83 ms)"),
    ("SpotSigs", "spotsigs", {}, "above 3.7"),
    ("Shingling", "shingling", {}, "above 3.7"),
    ("CoDet-like", "codet_like", {}, "above 3.7"),
    ("LSH-S", "lsh_s", {}, "above 3.7"),
    ("LSH-P", "lsh_p", {}, "above 3.7"),
)


def times(given: Given) -> Table:
    """Figure 9: the time of each method on 3,000 news pages, features, and comparison, apart."""
    contents = contents_of(given.data, "news-zh-2025", given.pages or PAGES)
    spent: dict[str, list[tuple[float, float]]] = {label: [] for label, *_ in TIMED}
    for _, method, changes, _ in TIMED:  # word lists and tables are loaded outside the measured time
        detector_of(method, changes).featurise(contents[0])
    for _ in range(given.rounds):
        for label, method, changes, _ in TIMED:
            spent[label].append(_method_ms(detector_of(method, changes), contents))
    rows: list[Row] = []
    base = [sum(each) for each in spent["CCDet"]]
    compared = [each[1] for each in spent["CCDet"]]
    for label, _, _, published in TIMED:
        best = min(spent[label], key=sum)
        rows.append(
            {
                "method": label,
                "features ms": round(best[0], 1),
                "comparison ms": round(best[1], 1),
                "x CCDet": round(median(sum(a) / b for a, b in zip(spent[label], base, strict=True)), 2),
                "comparison x CCDet": round(
                    median(a[1] / b for a, b in zip(spent[label], compared, strict=True)), 2
                ),
                "published x CCDet": published,
            }
        )
    note = "learning, candidates of all pages and one verification of each; features are from main text, words included"
    return Table(f"running time on {len(contents):,} news pages", "figure 9", rows, {"comparison": note})


def _method_ms(detector: Any, contents: Sequence[Content]) -> tuple[float, float]:
    """Milliseconds for features, and for learning, joining and verifying."""
    learning = 0.0
    if isinstance(detector, Learner):
        plain = detector
        learning, detector = spent_ms(lambda: plain.learned(contents))
    featurised, found = spent_ms(lambda: detector.featurise_many(contents))
    features = [None if isinstance(each, Skipped) else each for each in found]
    joined, join = spent_ms(lambda: self_join(detector, features))
    pairs = zip(join.left.tolist(), join.right.tolist(), strict=True)
    verified, _ = spent_ms(lambda: [detector.verify(features[one], features[two]) for one, two in pairs])
    # what a method learns it learns from features that it makes, too; that part counts as comparison
    return featurised, learning + joined + verified


def nodes(given: Given) -> Table:
    """Figure 10: the jobs of the parallel algorithm on processes of this machine, and simulated on more nodes."""
    rows: list[Row] = []
    for pages in (given.pages,) if given.pages else (3_000, 20_000, 70_000):
        texts = [each.text for each in contents_of(given.data, "broadcast-zh", pages)]
        answers: list[int] = []
        alone: list[list[float]] = []
        _map_reduce(texts[:TASK], 1)  # tables are loaded outside the measured time
        for workers in (1, 2):
            walls = []
            for _ in range(given.rounds):
                begun = time.perf_counter()
                answer, tasks = _map_reduce(texts, workers)
                walls.append(time.perf_counter() - begun)
            answers.append(answer)
            alone = alone or tasks
            rows.append(
                {
                    "pages": len(texts),
                    "nodes": workers,
                    "measured s": round(min(walls), 2),
                    "simulated s": _makespan(alone, workers),
                }
            )
        expect(answers[0] == answers[1], "the number of processes changes the pairs")
        rows += [
            {"pages": len(texts), "nodes": count, "measured s": None, "simulated s": _makespan(alone, count)}
            for count in NODES
            if count > 2
        ]
        base = next(row for row in rows if row["pages"] == len(texts))["simulated s"]
        for row in rows:
            if row["pages"] == len(texts):
                row |= {"speed-up": round(base / row["simulated s"], 2), "pairs": answers[0]}
    return Table(
        "CCDet as map and reduce tasks",
        "curves (figure 10): 2 million pages, near linear in pages and in nodes; below 300,000 pages one machine is faster",
        rows,
        {
            "simulated": "processor time of the tasks on one process, given to nodes longest first, jobs one after the other; no network, no start-up",
            "cores": os.cpu_count(),
        },
    )


def _timed(call: Callable[[Any], Any], part: Any) -> tuple[float, Any]:
    """Processor seconds of a task, and its answer."""
    begun = time.process_time()
    found = call(part)
    return time.process_time() - begun, found


def _map_reduce(texts: Sequence[str], workers: int) -> tuple[int, list[list[float]]]:
    """Number of duplicate and containing pairs, and the seconds of the tasks of each job."""
    config = CcdetConfig(prune="none")
    parts = max(len(texts) // TASK, 1)
    tasks: list[list[float]] = []
    with multiprocessing.get_context("fork").Pool(workers) as pool:

        def job(call: Any, given: Sequence[Any]) -> list[Any]:
            found = (
                pool.map(partial(_timed, call), given, 1)
                if workers > 1
                else [_timed(call, one) for one in given]
            )
            tasks.append([spent for spent, _ in found])
            return [answer for _, answer in found]

        edges = np.linspace(0, len(texts), parts + 1).astype(np.int64)
        mapped = job(
            partial(_features, config.window), [(int(low), texts[low:high]) for low, high in pairwise(edges)]
        )
        sizes = np.concatenate([size for size, _, _ in mapped])
        signatures = np.concatenate([each for _, each, _ in mapped])
        owners = np.concatenate([each for _, _, each in mapped])
        pairs = np.concatenate(job(_pairs, _shuffled(signatures, (signatures, owners), parts)))
        counted = job(_counts, _shuffled(pairs, (pairs,), parts))
        decided = job(partial(_decided, sizes, config), counted)
    return sum(decided), tasks


def _shuffled(
    keys: NDArray[Any], columns: tuple[NDArray[Any], ...], parts: int
) -> list[tuple[NDArray[Any], ...]]:
    """Rows brought together by key, one part a reduce task."""
    of = mix64(keys.astype(np.uint64)) % np.uint64(parts)
    order = np.argsort(of, kind="stable")
    edges = np.searchsorted(of[order], np.arange(parts + 1, dtype=np.uint64))
    return [
        tuple(column[order[low:high]] for column in columns)
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]


def _features(window: int, given: tuple[int, Sequence[str]]) -> tuple[Any, Any, Any]:
    """Map of job 2: the number of signatures of each page, all signatures, and the page of each."""
    first, texts = given
    table = period_table(normalise_many(texts), window)
    sizes = np.diff(table.offsets)
    return sizes, table.signatures, first + np.repeat(np.arange(len(texts)), sizes)


MAX_POSTINGS: Final = 200


def _pairs(given: tuple[NDArray[Any], ...]) -> NDArray[np.uint64]:
    """Reduce of job 2 and map of job 3: every pair of pages of one signature; a signature of over 200 pages is noise."""
    signatures, owners = given
    order = np.lexsort((owners, signatures))
    signatures, owners = signatures[order], owners[order]
    starts = np.flatnonzero(np.diff(signatures, prepend=signatures[:1] + 1))
    counts = np.diff(np.append(starts, len(signatures)))
    few = counts <= MAX_POSTINGS
    return _pairs_of(owners, starts[few], counts[few])


def _counts(given: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Reduce of job 3: common signatures of each pair."""
    pairs, counts = np.unique(given[0], return_counts=True)
    return pairs, counts


def _decided(sizes: NDArray[Any], config: CcdetConfig, given: tuple[NDArray[Any], NDArray[Any]]) -> int:
    """Job 4: pairs whose common containment similarity accepts."""
    pairs, counts = given
    fewer = np.minimum(
        sizes[(pairs >> np.uint64(32)).astype(np.int64)],
        sizes[(pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)],
    )
    accepted = (
        (fewer >= config.min_features) & (counts >= config.min_common) & (counts / fewer >= config.min_ccs)
    )
    return int(accepted.sum())


def _makespan(jobs: Sequence[Sequence[float]], count: int) -> float:
    """Seconds of all jobs on so many nodes: within a job the longest task first, to the node that is free first."""
    total = 0.0
    for tasks in jobs:
        busy = [0.0] * count
        for spent in sorted(tasks, reverse=True):
            busy[busy.index(min(busy))] += spent
        total += max(busy)
    return round(total, 3)
