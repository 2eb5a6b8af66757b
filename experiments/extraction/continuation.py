"""Continue the training of a block model on labelled pages: more trees upon those that it has, and figures by site."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.errors import InputError
from es_dedup.extraction.block_features import block_features
from es_dedup.extraction.block_model import chances
from es_dedup.extraction.page_features import page_numbers
from experiments.extraction.evaluate import by_group, page_agreement
from experiments.extraction.fitting import EVEN, Settings, fit_blocks, fit_kinds, page_weights
from experiments.extraction.pages import FOLDS, label, page_of_row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from es_dedup.extraction.block_model import BlockModel
    from experiments.extraction.pages import LabelledPage

FEWEST_PAGES: Final = 5

MORE_TREES: Final = Settings(trees=60, rate=0.06)
"""Trees that are added for a user's pages."""


@dataclass(frozen=True, slots=True)
class SiteFigures:
    """How good main texts of a site are.

    Attributes:
        site: the site.
        pages: labelled pages of it.
        before: mean F1 of character 5-grams by the model that was there.
        out_of_fold: mean F1 by models that have seen no page of the fold that the page is in.
        missed: pages with an F1 below .3 out of fold.
    """

    site: str
    pages: int
    before: float
    out_of_fold: float
    missed: int


@dataclass(frozen=True, slots=True)
class Retrained:
    """A model whose training was continued, and its figures.

    Attributes:
        model: trained on all of them.
        sites: figures of each site, in alphabetical order.
        total: figures of all pages.
        by_page: all pages are of one site, so pages and not sites were left out: the figures hold for this site alone.
    """

    model: BlockModel
    sites: tuple[SiteFigures, ...]
    total: SiteFigures
    by_page: bool


def read_pages(paths: Sequence[Path]) -> tuple[list[LabelledPage], list[str]]:
    """Labelled pages to learn from, and why others are left out, one line each.

    Args:
        paths: of JSON lines (``.xz`` too) with ``html``, ``html_base64`` or ``file``, ``text``, and if known ``url``, ``site``, ``kind``, ``id``.

    Raises:
        InputError: a file or a row cannot be read.
    """
    found: list[LabelledPage] = []
    left_out: list[str] = []
    for path in paths:
        for row in rows(path):
            page = page_of_row(row, path.parent)
            labelled = label(page, row, "") if page else None
            if labelled is None:
                left_out.append(f"page {row['id']}: no text in its markup")
            elif not labelled.usable:
                left_out.append(
                    f"page {row['id']}: its gold text is not in its markup (F1 at best {labelled.reached:.2f})"
                )
            else:
                found.append(labelled)
    return found, left_out


def retrain(pages: Sequence[LabelledPage], model: BlockModel, settings: Settings = MORE_TREES) -> Retrained:
    """A model that has learned from more pages, and what it is worth on sites that it has not seen.

    Args:
        pages: usable ones, as ``read_pages`` gives them.
        model: to go on from, and to compare with.
        settings: how trees are grown.

    Raises:
        InputError: the pages are too few.
    """
    sites = {page.site for page in pages}
    if len(pages) < FEWEST_PAGES:
        raise InputError(
            "labelled pages", None, f"{len(pages)} to learn from, at least {FEWEST_PAGES} are needed"
        )
    before = [_agreement(model, page) for page in pages]
    more = Continuation(model, pages, settings)
    trained, after = more.fit(np.ones(len(pages), bool)), more.agreement_outside()
    figures = _figures([page.site for page in pages], before, after)
    (total,) = _figures(["all"] * len(pages), before, after)
    trained.card = {"own_pages": {"sites": len(sites), **asdict(total)}, "upon": model.card}
    return Retrained(trained, figures, total, by_page=len(sites) == 1)


def _agreement(model: BlockModel, page: LabelledPage) -> float:
    reading = model.read(page.page)
    return page_agreement(page, reading.blocks, reading.thread)


def _figures(
    names: Sequence[str], before: Sequence[float], after: Sequence[float]
) -> tuple[SiteFigures, ...]:
    old = by_group(names, before)
    return tuple(
        SiteFigures(name, int(row["pages"]), old[name]["f1"], row["f1"], int(row["missed"]))
        for name, row in by_group(names, after).items()
    )


class Continuation:
    """A model that goes on learning: more trees for what it did not know of pages; its odds of tokens stay.

    Args:
        model: to go on from.
        pages: with labels; of those without a kind the page kind is not learned.
        settings: for the trees that are added, with the depth of those that are there.
    """

    def __init__(self, model: BlockModel, pages: Sequence[LabelledPage], settings: Settings) -> None:
        self.model, self.pages = model, pages
        self.settings = replace(settings, depth=model.trees.columns.shape[1])
        self.weights = page_weights(pages)
        columns = [block_features(page.page, model.odds) for page in pages]
        self.rows = np.concatenate([
            page_numbers(page.page, found, model.thread_odds)
            for page, found in zip(pages, columns, strict=True)
        ])  # fmt: skip
        self.known = np.array([bool(page.kind) for page in pages])
        threads = chances(model.kind.scores(self.rows))
        wrong = self.known & ((threads > EVEN) != np.array([page.kind == "thread" for page in pages]))
        for found, thread in zip(columns, np.where(wrong, 1 - threads, threads), strict=True):
            found.add("thread", np.array([[thread]]))
        self.numbers = [found.matrix() for found in columns]

    def fit(self, chosen: NDArray[np.bool_]) -> BlockModel:
        """The model with trees for the chosen pages."""
        weights = np.where(chosen, self.weights, 0)
        model, of_known = self.model, np.where(self.known, weights, 0)
        kind = model.kind
        if of_known.any():
            kind = fit_kinds(self.pages, self.rows, of_known, self.settings, model.kind)
        trees = fit_blocks(
            self.pages, self.numbers, weights, model.trees.features, self.settings, model.trees
        )
        return replace(model, kind=kind, trees=trees)

    def agreement_outside(self) -> list[float]:
        """F1 of each page by a model that has seen no page of its fold; pages of one site are in one fold, unless there is but one."""
        sites = [page.site for page in self.pages]
        names = sites if len(set(sites)) > 1 else [page.id for page in self.pages]
        ranked = sorted(set(names), key=lambda name: hashlib.sha256(name.encode()).digest())
        folds = np.array([ranked.index(name) % FOLDS for name in names])
        models = {fold: self.fit(folds != fold) for fold in sorted(set(folds.tolist()))}
        return [_agreement(models[fold], page) for fold, page in zip(folds.tolist(), self.pages, strict=True)]
