"""Fit both passes of the block model with CatBoost, cross-fitted by site."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.extraction.context import context_features
from es_dedup.extraction.features import block_features
from es_dedup.extraction.kinds import NAMES, page_numbers
from es_dedup.extraction.learning.odds import ThreadCounts, TokenCounts
from es_dedup.extraction.learning.pages import FOLDS, fold_of
from es_dedup.extraction.model import BlockModel, Trees, chances

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from es_dedup.extraction.learning.pages import LabelledPage
    from es_dedup.extraction.structure import Columns

MAX_ROWS: Final = 80
"""Blocks of one page that are learned from; of longer pages a sample, each with more weight."""

MAX_PER_SITE: Final = 40
"""Pages of one site and source that are learned from."""

SOURCE_WEIGHTS: Final[dict[str, float]] = {
    "blogs": 0.8, "blogs+comments": 0.4, "cctv": 0.3, "gne": 3.0, "readability": 2.0, "mixed-article": 2.0, "mixed-thread": 2.0, "threads": 2.0,
    "older": 1.2, "rendered-article": 0.25, "rendered-thread": 0.4,
}  # fmt: skip
"""Weight of a page of each source; 1 where none is named."""


THREAD_SHARE: Final = 0.3
"""Weight of threads beside all other pages, for the trees that tell them."""

WITH_COMMENTS: Final = frozenset(("blogs+comments",))
"""Sources whose gold text holds the comments below an article: read as threads, to teach what replies look like."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How trees are grown."""

    trees: int = 200
    depth: int = 6
    rate: float = 0.12
    borders: int = 32
    seed: int = 7
    threads: int = 1


def fit_trees(
    numbers: NDArray[np.float32],
    labels: NDArray[np.float64],
    weights: NDArray[np.float64],
    names: Sequence[str],
    settings: Settings,
) -> Trees:
    """Oblivious trees for soft labels, by logarithmic loss."""
    from catboost import CatBoostClassifier, Pool  # noqa: PLC0415 - a package for development

    model = CatBoostClassifier(
        iterations=settings.trees, depth=settings.depth, learning_rate=settings.rate, border_count=settings.borders, random_seed=settings.seed,
        loss_function="CrossEntropy", thread_count=settings.threads, verbose=False, allow_writing_files=False, l2_leaf_reg=5,
        boosting_type="Plain", bootstrap_type="Bernoulli", subsample=0.7, rsm=0.4,
    )  # fmt: skip
    model.fit(Pool(numbers, labels, weight=weights))
    return export_trees(model, names, np.median(numbers, axis=0))


def export_trees(model: Any, names: Sequence[str], typical: NDArray[np.float32] | None = None) -> Trees:
    """Trees of CatBoost as arrays."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        saved = json.loads(path.read_text("utf8"))
    trees = saved["oblivious_trees"]
    depth = max(len(tree["splits"] or []) for tree in trees)
    columns = np.zeros((len(trees), depth), np.int32)
    borders = np.full((len(trees), depth), np.inf, np.float32)
    leaves = np.zeros((len(trees), 1 << depth), np.float32)
    for row, tree in enumerate(trees):
        for level, split in enumerate(tree["splits"] or []):
            columns[row, level], borders[row, level] = split["float_feature_index"], split["border"]
        leaves[row, : len(tree["leaf_values"])] = tree["leaf_values"]
    scale, bias = saved["scale_and_bias"]
    medians = np.zeros(len(names), np.float32) if typical is None else typical
    return Trees(tuple(names), columns, borders, leaves * np.float32(scale), float(bias[0]), medians)


@dataclass(slots=True)
class Fitted:
    """A model and its out-of-fold probabilities.

    Attributes:
        model: trained on all pages.
        before: first pass out of fold, for each page.
        after: mean of both passes out of fold, for each page.
        fitted: mean of both passes of the model that has seen the page.
        threads: probability of each page to be a thread, out of fold.
    """

    model: BlockModel | None
    before: list[NDArray[np.float64]]
    after: list[NDArray[np.float64]]
    fitted: list[NDArray[np.float64]]
    threads: NDArray[np.float64]


def page_weights(pages: Sequence[LabelledPage]) -> NDArray[np.float64]:
    """Weight of each page; 0: not learned from.

    A site with many pages of a source weighs less for each, and of more than ``MAX_PER_SITE`` so many are used.
    """
    sites = Counter((page.source, page.site) for page in pages)
    seen: Counter[tuple[str, str]] = Counter()
    weights = np.zeros(len(pages))
    for place, page in enumerate(pages):
        key = (page.source, page.site)
        step = -(-sites[key] // MAX_PER_SITE)
        if page.usable and not seen[key] % step:
            weights[place] = (
                SOURCE_WEIGHTS.get(page.source.split("/")[0], 1.0) * step / max(sites[key] / 4, 1.0) ** 0.5
            )
        seen[key] += 1
    return weights


class Trainer:
    """Labelled pages, their folds and their numbers."""

    def __init__(
        self, pages: Sequence[LabelledPage], settings: Settings, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.pages, self.settings, self.say = pages, settings, say
        self.folds = np.array([fold_of(page.site) for page in pages])
        self.weights = page_weights(pages)

    def fit(self, *, final: bool = True) -> Fitted:
        """Both passes in folds, then on all pages."""
        pages, folds = self.pages, self.folds
        self.say("odds of tokens")
        counts = TokenCounts(page for page in pages if page.usable)
        odds = [counts.odds(lambda site, left=left: fold_of(site) != left) for left in range(FOLDS)]  # type: ignore[misc]
        columns = [block_features(page.page, odds[fold]) for page, fold in zip(pages, folds, strict=True)]
        names = columns[0].names
        talk = ThreadCounts(page for page in pages if page.source not in WITH_COMMENTS)
        thread_odds = [talk.odds(lambda site, left=left: fold_of(site) != left) for left in range(FOLDS)]  # type: ignore[misc]
        page_rows = np.concatenate(
            [
                page_numbers(page.page, found, thread_odds[fold])
                for page, found, fold in zip(pages, columns, folds, strict=True)
            ]
        )
        threads = self._threads(page_rows)
        for page, found, thread in zip(pages, columns, threads, strict=True):
            found.add("thread", np.full(len(page.labels), thread))
        numbers = [found.matrix() for found in columns]
        self.say(f"{len(names)} numbers of {sum(map(len, numbers))} blocks of {len(pages)} pages")
        before: list[NDArray[np.float64]] = [np.zeros(0)] * len(pages)
        for left in range(FOLDS):
            trees = self._fit(numbers, names, folds != left)
            for place in np.flatnonzero(folds == left):
                before[place] = chances(trees.scores(numbers[place]))
            self.say(f"first pass, fold {left}")
        wide, wide_names = self._widened(columns, numbers, before)
        after: list[NDArray[np.float64]] = [np.zeros(0)] * len(pages)
        for left in range(FOLDS):
            trees = self._fit(wide, wide_names, folds != left)
            for place in np.flatnonzero(folds == left):
                after[place] = (before[place] + chances(trees.scores(wide[place]))) / 2
            self.say(f"second pass, fold {left}")
        everything = folds >= 0
        if not final:
            return Fitted(None, before, after, [], threads)
        kind = self._fit_kind(page_rows, everything)
        model = BlockModel(
            kind,
            self._fit(numbers, names, everything),
            self._fit(wide, wide_names, everything),
            counts.odds(),
            talk.odds(),
        )
        return Fitted(model, before, after, [self._read(model, page) for page in pages], threads)

    @staticmethod
    def _read(model: BlockModel, page: LabelledPage) -> NDArray[np.float64]:
        if page.source not in WITH_COMMENTS:
            return model.read(page.page).blocks
        return model.read_blocks(page.page, block_features(page.page, model.odds), 1.0).blocks

    def _threads(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Probability of each page to be a thread, out of fold; where comments are wanted as text that of some thread."""
        found = np.zeros(len(self.pages))
        for left in range(FOLDS):
            test = self.folds == left
            found[test] = chances(self._fit_kind(rows, ~test).scores(rows[test]))
        real = np.sort(found[[page.kind == "thread" for page in self.pages]])
        random = np.random.default_rng(self.settings.seed)
        with_comments = np.array([page.source in WITH_COMMENTS for page in self.pages])
        if real.size:
            found[with_comments] = random.choice(real[real.size // 4 :], int(with_comments.sum()))
        return found

    def _fit_kind(self, numbers: NDArray[np.float32], chosen: NDArray[np.bool_]) -> Trees:
        use = chosen & np.array([page.source not in WITH_COMMENTS for page in self.pages])
        labels = np.array([page.kind == "thread" for page in self.pages], np.float64)
        share = float((self.weights * labels)[use].sum() / max(self.weights[use].sum(), 1e-9))
        weights = self.weights * np.where(
            labels > 0, min(max(THREAD_SHARE / max(share, 1e-9), 1.0), 10.0), 1.0
        )
        return fit_trees(
            numbers[use],
            labels[use],
            weights[use],
            NAMES,
            replace(self.settings, trees=80, depth=4, rate=0.1),
        )

    def _widened(
        self, columns: list[Columns], numbers: list[NDArray[np.float32]], before: list[NDArray[np.float64]]
    ) -> tuple[list[NDArray[np.float32]], list[str]]:
        around = [
            context_features(page.page, found, first)
            for page, found, first in zip(self.pages, columns, before, strict=True)
        ]
        wide = [
            np.concatenate((own, more.matrix()), axis=1) for own, more in zip(numbers, around, strict=True)
        ]
        return wide, [*columns[0].names, *around[0].names]

    def _fit(
        self, numbers: list[NDArray[np.float32]], names: Sequence[str], chosen: NDArray[np.bool_]
    ) -> Trees:
        random = np.random.default_rng(self.settings.seed)
        rows, labels, weights = [], [], []
        for place, (page, own, use) in enumerate(zip(self.pages, numbers, chosen, strict=True)):
            if not use or not self.weights[place]:
                continue
            known = np.flatnonzero(page.weights > 0)
            scale = 1.0
            if known.size > MAX_ROWS:
                scale = known.size / MAX_ROWS
                known = np.sort(random.choice(known, MAX_ROWS, replace=False))
            rows.append(own[known])
            labels.append(page.labels[known])
            weights.append(page.weights[known] * scale * self.weights[place])
        weight = np.concatenate(weights)
        return fit_trees(
            np.concatenate(rows),
            np.concatenate(labels),
            weight * (weight.size / weight.sum()),
            names,
            self.settings,
        )
