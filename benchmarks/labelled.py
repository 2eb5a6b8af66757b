"""Labelled pairs and compared corpora, for the benchmarks of quality."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from harness import ROOT, Row, data_file, expect, page_of, rows_of

from es_dedup import Deduplicator, Settings
from es_dedup.batch.candidate_pairs import CorpusJoin
from es_dedup.batch.corpus import Weighing, load_corpus
from es_dedup.decision.statistics import Statistics
from es_dedup.evaluation import Label
from es_dedup.evaluation.labels import ordered_pair, read_labels
from es_dedup.index.factory import open_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from es_dedup import Page
    from es_dedup.batch.corpus import Corpus

    Pairs = list[tuple[str, str]]

RANDOM_PAIRS: Final = 20_000  # of different groups, where a set has groups in place of labelled pairs
LABELLED: Final = {
    "portal-zh": "zh",
    "news-zh-2025": "zh",
    "judged-en": "en",
    "judged-gov": "en",
    "news-en": "en",
    "weekly-rust": "en",
}
GROUPED: Final = {"edits-zh": "zh"}
GRADED: Final = ", but for grade 1"
"""Behind the name of a set whose labels are grades: without the pairs of grade 1, alike in form."""
TEXT_ONLY: Final = " (text only)"
"""Behind the name of a set: its pages without titles and times."""
READ: Final = ROOT / "tests" / "golden" / "labels"
"""Labels of pairs that were read for this project."""


@dataclass(frozen=True, slots=True)
class PairSet:
    """Pages and what is known of some of their pairs.

    Attributes:
        name, language: of the set.
        pages: the whole set.
        same: pairs of one article, whole or in part (labels dup and contain).
        other: pairs of different articles (label diff).
        labels: of all pairs, those that share only a passage (partial) among them.
        groups: page to its group (story), where the set has groups.
    """

    name: str
    language: str
    pages: list[Page]
    same: Pairs
    other: Pairs
    labels: dict[tuple[str, str], Label] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scanned:
    """A scanned corpus at hand: its rows, its statistics, and the open index.

    Attributes:
        dedup: asks the index.
        corpus: all rows.
        statistics: learned from them.
        row: page id to row.
    """

    dedup: Deduplicator
    corpus: Corpus
    statistics: Statistics
    row: dict[str, int]

    def rows(self, pairs: Iterable[tuple[str, str]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of pairs of page ids."""
        found = np.array([[self.row[left], self.row[right]] for left, right in pairs], dtype=np.int64)
        return found.reshape(-1, 2)[:, 0], found.reshape(-1, 2)[:, 1]


def scan(pages: Sequence[Page], settings: Settings | None = None) -> Scanned:
    """Scan pages in memory; the caller closes ``dedup``."""
    settings = settings or Settings()
    index = open_index(":memory:", settings)
    dedup = Deduplicator(index, settings)
    report = dedup.scan(pages)
    expect(not report.failed, f"pages failed: {dict(list(report.failed.items())[:3])}")
    corpus = load_corpus(index)
    expect(len(corpus.keys) == len({page.id for page in pages}), "pages are missing after the scan")
    stored = index.load_statistics()
    statistics = Statistics.from_bytes(stored) if stored else Statistics.empty()
    return Scanned(dedup, corpus, statistics, {name: at for at, name in enumerate(corpus.pages.ids)})


@dataclass(frozen=True, slots=True)
class Joined:
    """Candidate pairs of a corpus: rows, ``left`` < ``right``, each pair once, ascending."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    capped_terms: int


def joined(scanned: Scanned, settings: Settings | None = None) -> Joined:
    """Candidate pairs as the scan has found them."""
    settings, corpus = settings or Settings(), scanned.corpus
    join = CorpusJoin(corpus, corpus.ranks(settings.cluster), settings, Weighing(lambda: scanned.statistics))
    left, right = (np.concatenate(side) for side in zip(*join.pairs(), strict=True))
    expect(bool((left < right).all()), "the join gives a pair twice")
    return Joined(left, right, join.capped_terms)


def pair_sets(folder: Path | None, names: Iterable[str]) -> list[PairSet]:
    """The named sets with their pairs; ``news-en (text only)``: without titles and times; ``judged-gov, but for grade 1``."""
    found = []
    for name in names:
        whole = name.removesuffix(TEXT_ONLY)
        pairs = _grouped(folder, whole) if whole in GROUPED else _labelled(folder, whole.removesuffix(GRADED))
        if whole.endswith(GRADED):
            pairs = _without_grade_1(folder, pairs, whole)
        found.append(pairs if name == whole else text_only(pairs))
    return found


def _without_grade_1(folder: Path | None, pairs: PairSet, name: str) -> PairSet:
    lines = data_file(folder, f"{pairs.name}.pairs.tsv").read_text(encoding="utf-8").splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]
    left_out = {ordered_pair(row["id_a"], row["id_b"]) for row in rows if row["label"] == "1"}
    labels = {pair: label for pair, label in pairs.labels.items() if pair not in left_out}
    return replace(pairs, name=name, labels=labels, same=[pair for pair in pairs.same if pair in labels])


def text_only(pairs: PairSet) -> PairSet:
    """The same pairs of pages without titles and times."""
    pages = [replace(page, title="", published=None) for page in pairs.pages]
    return replace(pairs, name=f"{pairs.name}{TEXT_ONLY}", pages=pages)


def _labelled(folder: Path | None, name: str) -> PairSet:
    rows = rows_of(data_file(folder, f"{name}.jsonl.xz"))
    pages = [page_of(row) for row in rows]
    groups = {row["id"]: row["group"] for row in rows if row.get("group")}
    file = data_file(folder, f"{name}.pairs.tsv")
    labels = read_labels(file)
    kinds = {
        kind: [each.pair for each in labels if each.label == kind] for kind in ("dup", "contain", "diff")
    }
    every = {each.pair: each.label for each in labels}
    return PairSet(name, LABELLED[name], pages, kinds["dup"] + kinds["contain"], kinds["diff"], every, groups)


def read_sets(folder: Path | None, labels: Path) -> list[PairSet]:
    """Pairs that were read for this project, by the set their pages are of; one entry a file of labels and set.

    Only ids and labels are kept here (``tests/golden/labels``); other texts than those that were read are refused.

    Raises:
        WrongAnswer: a page is missing, or the texts are not those that were read.
    """
    found = []
    for file in sorted(labels.glob("*.tsv")):
        first, _, *lines = file.read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines]
        names = list(dict.fromkeys(row[0] for row in rows))
        pages = {name: rows_of(data_file(folder, f"{name}.jsonl.xz")) for name in names}
        texts = {(name, row["id"]): row for name, held in pages.items() for row in held}
        expect(
            first.rpartition(" ")[2] == _digest(rows, texts),
            f"{file.name}: these are not the pages that were read",
        )
        for name in names:
            every = {(left, right): Label(label) for of, left, right, label in rows if of == name}
            kinds = {kind: [pair for pair, label in every.items() if label == kind] for kind in Label}
            held = [page_of(row) for row in pages[name]]
            same = kinds[Label.DUP] + kinds[Label.CONTAIN]
            found.append(PairSet(f"{name}, {file.stem}", "zh", held, same, kinds[Label.DIFF], every))
    return found


def _digest(rows: list[list[str]], texts: dict[tuple[str, str], Row]) -> str:
    """Hex digest of titles and texts of all pages named in the rows."""
    digest = hashlib.sha256()
    for key in sorted({(row[0], page) for row in rows for page in row[1:3]}):
        expect(key in texts, f"there is no page {key[1]} in {key[0]}")
        digest.update(f"{key[0]}\0{key[1]}\0{texts[key].get('title') or ''}\0{texts[key]['text']}\0".encode())
    return digest.hexdigest()


def _grouped(folder: Path | None, name: str) -> PairSet:
    rows = rows_of(data_file(folder, f"{name}.jsonl.xz"))
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row["id"])
    same = [(group[0], other) for group in groups.values() for other in group[1:]]
    group_of = {row["id"]: row["group"] for row in rows}
    source = random.Random(3)
    ids = sorted(group_of)
    other: set[tuple[str, str]] = set()
    while len(groups) > 1 and len(other) < min(RANDOM_PAIRS, len(ids) * len(ids) // 8):
        left, right = source.sample(ids, 2)
        if group_of[left] != group_of[right]:
            other.add((min(left, right), max(left, right)))
    labels = dict.fromkeys(same, Label.DUP) | dict.fromkeys(sorted(other), Label.DIFF)
    return PairSet(name, GROUPED[name], [page_of(row) for row in rows], same, sorted(other), labels)
