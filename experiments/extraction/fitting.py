"""Fit the block model with CatBoost, cross-fitted by site."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.extraction.block_features import block_features
from es_dedup.extraction.block_model import BlockModel, Trees, agreed, chances
from es_dedup.extraction.page_features import NAMES, page_numbers
from experiments.extraction.odds import ThreadCounts, TokenCounts
from experiments.extraction.pages import FOLDS, fold_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from experiments.extraction.pages import LabelledPage

MAX_PER_SITE: Final = 40
"""Pages of one site and source that are learned from."""

SOURCE_WEIGHTS: Final[dict[str, float]] = {
    "blogs": 0.8, "blogs+comments": 0.4, "cctv": 0.3, "gne": 3.0, "readability": 2.0, "aeb": 1.0, "mixed-article": 2.0, "mixed-thread": 2.0, "threads": 2.0,
    "older": 1.2, "rendered-article": 0.25, "rendered-thread": 0.4,
}  # fmt: skip
"""Weight of a page of each source; 1 where none is named."""


THREAD_SHARE: Final = 0.3
"""Weight of threads beside all other pages, for the trees that tell them."""

EVEN: Final = 0.5
_SURE: Final = 5.0  # logarithm of odds
_ALMOST: Final = 0.01

WITH_COMMENTS: Final = frozenset(("blogs+comments",))
"""Sources whose gold text holds the comments below an article: read as threads, to teach what replies look like."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How trees are grown.

    Attributes:
        trees, depth, rate, borders, seed, threads: as CatBoost calls them ``iterations``, ``depth``, ``learning_rate``, ``border_count``,
            ``random_seed``, ``thread_count``.
        blocks: of one page that are learned from; of longer pages a sample, each with more weight.
        fits: sets of trees for blocks, with seeds and samples of their own; their mean is the model.
    """

    trees: int = 220
    depth: int = 6
    rate: float = 0.12
    borders: int = 32
    seed: int = 7
    blocks: int = 120
    fits: int = 1
    threads: int = 1


def fit_trees(
    numbers: NDArray[np.float32],
    labels: NDArray[np.float64],
    weights: NDArray[np.float64],
    names: Sequence[str],
    settings: Settings,
    *,
    upon: Trees | None = None,
) -> Trees:
    """Oblivious trees for soft labels, by logarithmic loss.

    Args:
        numbers: a row for each block or page.
        labels: of each row, in [0, 1].
        weights: of each row.
        names: of the columns.
        settings: how trees are grown.
        upon: trees that new ones are added to; None: a model of its own.
    """
    import catboost  # noqa: PLC0415 - labels, odds and figures do without it

    if upon is None and labels.min() == labels.max():  # one class only: the same answer for all
        empty = np.zeros((1, settings.depth), np.int32), np.full((1, settings.depth), np.inf, np.float32)
        return Trees(
            tuple(names),
            *empty,
            np.zeros((1, 1 << settings.depth), np.float32),
            _SURE * (2 * float(labels[0]) - 1),
        )
    if labels.min() == labels.max():  # it takes two labels at least
        labels = np.append(np.abs(labels[:1] - _ALMOST), labels[1:])
    model = catboost.CatBoostClassifier(
        iterations=settings.trees, depth=settings.depth, learning_rate=settings.rate, border_count=settings.borders, random_seed=settings.seed,
        loss_function="CrossEntropy", thread_count=settings.threads, verbose=False, allow_writing_files=False, l2_leaf_reg=5,
        boosting_type="Plain", bootstrap_type="Bernoulli", subsample=0.7, rsm=0.4,
    )  # fmt: skip
    model.fit(catboost.Pool(numbers, labels, weight=weights, baseline=upon.scores(numbers) if upon else None))
    grown = export_trees(model, names)
    return sum_of([upon, grown]) if upon else grown


def sum_of(parts: Sequence[Trees]) -> Trees:
    """Trees whose scores are the sum of those of several over the same columns."""
    return replace(
        parts[0],
        columns=np.concatenate([each.columns for each in parts]),
        borders=np.concatenate([each.borders for each in parts]),
        leaves=np.concatenate([each.leaves for each in parts]),
        bias=sum(each.bias for each in parts),
    )


def export_trees(model: Any, names: Sequence[str]) -> Trees:
    """Trees of CatBoost as arrays."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        saved = json.loads(path.read_text("utf8"))
    trees = saved["oblivious_trees"]
    depth = model.get_params()["depth"]
    columns = np.zeros((len(trees), depth), np.int32)
    borders = np.full((len(trees), depth), np.inf, np.float32)
    leaves = np.zeros((len(trees), 1 << depth), np.float32)
    for row, tree in enumerate(trees):
        for level, split in enumerate(tree["splits"] or []):
            columns[row, level], borders[row, level] = split["float_feature_index"], split["border"]
        leaves[row, : len(tree["leaf_values"])] = tree["leaf_values"]
    scale, bias = saved["scale_and_bias"]
    return Trees(tuple(names), columns, borders, leaves * np.float32(scale), float(bias[0]))


@dataclass(slots=True)
class Fitted:
    """A model and its out-of-fold probabilities.

    Attributes:
        model: trained on all pages.
        outside: probabilities of the blocks of each page, out of fold.
        fitted: the same of the model that has seen the page.
        threads: probability of each page to be a thread, out of fold.
    """

    model: BlockModel | None
    outside: list[NDArray[np.float64]]
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
    """Labelled pages, their folds and their numbers.

    Args:
        pages: to learn from.
        settings: how trees are grown.
        say: told of each step.
        by_source: a fold is a source, by the first word of its name, and not a fifth of the sites.
    """

    def __init__(
        self,
        pages: Sequence[LabelledPage],
        settings: Settings,
        say: Callable[[str], None] = lambda _: None,
        *,
        by_source: bool = False,
    ) -> None:
        self.pages, self.settings, self.say = pages, settings, say
        words = [re.split(r"\W", page.source, maxsplit=1)[0] for page in pages] if by_source else []
        self.names = sorted(set(words)) or list(map(str, range(FOLDS)))
        self.folds = np.array(
            [self.names.index(word) for word in words] or [fold_of(page.site) for page in pages]
        )
        self.weights = page_weights(pages)
        self.sites = [
            frozenset(page.site for page, fold in zip(pages, self.folds, strict=True) if fold == left)
            for left in range(len(self.names))
        ]

    def outside(self, left: int) -> NDArray[np.bool_]:
        """The pages that the trees for a fold are grown on: those of sites that have no page in it."""
        return np.array([page.site not in self.sites[left] for page in self.pages])

    def fit(self, *, final: bool = True) -> Fitted:
        """In folds, then on all pages."""
        pages, folds = self.pages, self.folds
        self.say("odds of tokens")
        counts = TokenCounts(page for page in pages if page.usable and page.source not in WITH_COMMENTS)
        talk = ThreadCounts(page for page in pages if page.source not in WITH_COMMENTS)
        odds = [counts.odds(own) for own in self.sites]
        thread_odds = [talk.odds(own) for own in self.sites]
        columns = [block_features(page.page, odds[fold]) for page, fold in zip(pages, folds, strict=True)]
        page_rows = np.concatenate([
            page_numbers(page.page, found, thread_odds[fold])
            for page, found, fold in zip(pages, columns, folds, strict=True)
        ])  # fmt: skip
        threads, taught = self._threads(page_rows)
        for found, thread in zip(columns, taught, strict=True):
            found.add("thread", np.array([[thread]]))
        names = columns[0].names
        numbers = [found.matrix() for found in columns]
        self.say(f"{len(names)} numbers of {sum(map(len, numbers))} blocks of {len(pages)} pages")
        outside: list[NDArray[np.float64]] = [np.zeros(0)] * len(pages)
        for left, name in enumerate(self.names):
            trees = self._fit(numbers, names, self.outside(left))
            for place in np.flatnonzero(folds == left).tolist():
                rows = numbers[place].copy()
                rows[:, -1] = threads[place]
                own = agreed(trees.scores(rows), pages[place].page, columns[place], threads[place])
                outside[place] = chances(own)
            self.say(f"fold {name}")
        if not final:
            return Fitted(None, outside, [], threads)
        everything = folds >= 0
        kind, trees = self._fit_kind(page_rows, everything), self._fit(numbers, names, everything)
        model = BlockModel(kind, trees, counts.odds(), talk.odds())
        return Fitted(model, outside, [self._read(model, page) for page in pages], threads)

    @staticmethod
    def _read(model: BlockModel, page: LabelledPage) -> NDArray[np.float64]:
        if page.source not in WITH_COMMENTS:
            return model.read(page.page).blocks
        return model.read_blocks(page.page, block_features(page.page, model.odds), 1.0).blocks

    def _threads(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probability of each page to be a thread, out of fold, and the one to train with.

        Pages on the wrong side are trained with the probability of some page on the right one, else trees would learn that replies may be
        main text of pages that are no threads. So are, always, pages where comments are wanted as text.
        """
        found = np.zeros(len(self.pages))
        for left in range(len(self.names)):
            test = self.folds == left
            found[test] = chances(self._fit_kind(rows, self.outside(left)).scores(rows[test]))
        random = np.random.default_rng(self.settings.seed)
        with_comments = np.array([page.source in WITH_COMMENTS for page in self.pages])
        is_thread = np.array([page.kind == "thread" for page in self.pages])
        taught = found.copy()
        for own, right in ((is_thread, found > EVEN), (~is_thread & ~with_comments, found <= EVEN)):
            pool, wrong = found[own & right], own & ~right
            if own is is_thread:
                wrong |= with_comments
            if pool.size:
                taught[wrong] = random.choice(pool, int(wrong.sum()))
        return np.where(with_comments, taught, found), taught

    def _fit_kind(self, numbers: NDArray[np.float32], chosen: NDArray[np.bool_]) -> Trees:
        use = chosen & np.array([page.source not in WITH_COMMENTS for page in self.pages])
        return fit_kinds(self.pages, numbers, np.where(use, self.weights, 0), self.settings)

    def _fit(
        self, numbers: list[NDArray[np.float32]], names: Sequence[str], chosen: NDArray[np.bool_]
    ) -> Trees:
        return fit_blocks(self.pages, numbers, np.where(chosen, self.weights, 0), names, self.settings)


def fit_kinds(
    pages: Sequence[LabelledPage],
    numbers: NDArray[np.float32],
    page_weights: NDArray[np.float64],
    settings: Settings,
    upon: Trees | None = None,
) -> Trees:
    """Trees that say of a page whether it is a thread.

    Args:
        pages: with their kinds.
        numbers: a row for each page.
        page_weights: 0: not learned from.
        settings: how trees are grown; those for kinds are smaller.
        upon: trees that new ones are added to.
    """
    use = page_weights > 0
    labels = np.array([page.kind == "thread" for page in pages], np.float64)
    share = float((page_weights * labels).sum() / max(page_weights.sum(), 1e-9))
    weights = page_weights * np.where(labels > 0, min(max(THREAD_SHARE / max(share, 1e-9), 1.0), 10.0), 1.0)
    own = replace(settings, trees=80 if upon is None else settings.trees // 2, depth=4, rate=0.1)
    return fit_trees(numbers[use], labels[use], weights[use], NAMES, own, upon=upon)


def fit_blocks(
    pages: Sequence[LabelledPage],
    numbers: Sequence[NDArray[np.float32]],
    page_weights: NDArray[np.float64],
    names: Sequence[str],
    settings: Settings,
    upon: Trees | None = None,
) -> Trees:
    """Trees that say of a block whether it is main text.

    Args:
        pages: with labels of their blocks.
        numbers: of each page, a row for each block.
        page_weights: 0: not learned from.
        names: of the columns.
        settings: how trees are grown.
        upon: trees that new ones are added to.
    """
    if settings.fits > 1:
        several = [replace(settings, seed=settings.seed + fit, fits=1) for fit in range(settings.fits)]
        return mean_of([fit_blocks(pages, numbers, page_weights, names, each, upon) for each in several])
    random = np.random.default_rng(settings.seed)
    rows, labels, weights = [], [], []
    for page, own, page_weight in zip(pages, numbers, page_weights, strict=True):
        if not page_weight:
            continue
        known = np.flatnonzero(page.weights > 0)
        scale = 1.0
        if known.size > settings.blocks:
            scale = known.size / settings.blocks
            known = np.sort(random.choice(known, settings.blocks, replace=False))
        rows.append(own[known])
        labels.append(page.labels[known])
        weights.append(page.weights[known] * scale * page_weight)
    weight = np.concatenate(weights)
    return fit_trees(
        np.concatenate(rows), np.concatenate(labels), weight * (weight.size / weight.sum()), names, settings, upon=upon,
    )  # fmt: skip


def mean_of(fits: Sequence[Trees]) -> Trees:
    """Trees whose scores are the mean of those of several over the same columns."""
    count = len(fits)
    return sum_of([
        replace(each, leaves=(each.leaves / count).astype(np.float32), bias=each.bias / count) for each in fits
    ])  # fmt: skip
