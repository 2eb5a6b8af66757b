"""The block model: oblivious trees over the numbers of blocks, evaluated with numpy alone.

An oblivious tree asks the same question of all rows at each level, so the leaf of every row is a number of bits.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from lxml import etree

from es_dedup.extraction.block_features import block_features
from es_dedup.extraction.blocks import read_blocks
from es_dedup.extraction.page_columns import About, Page, read_page
from es_dedup.extraction.page_features import NAMES, page_numbers
from es_dedup.extraction.token_odds import Odds
from es_dedup.settings.files import made_of_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.extraction.containers import Columns

    Array = NDArray[np.float64]

FORMAT: Final = 1
DATA_FILE: Final = "block_model.npz"
_OF_ARTICLE, _OF_THREAD = 0.15, 0.5  # share of the mean of blocks alike in a block's score
_MOST_WEIGHT: Final = 40.0  # units
_SURE: Final = 9.0  # logarithm of odds; higher ones count as this in a mean
MAX_BYTES: Final = 64 << 20
"""Of a model; that of the package has 0.3 MB unpacked."""


@dataclass(slots=True)
class Trees:
    """A sum of oblivious trees of one depth.

    Attributes:
        features: names of the columns, in the order of the numbers.
        columns: column asked at each level of each tree, shape (trees, depth).
        borders: the answer is 1 where the number is larger, same shape.
        leaves: value of each leaf, shape (trees, 2 ** depth); the answer of level i counts 2 ** i.
        bias: added to the sum.
    """

    features: tuple[str, ...]
    columns: NDArray[np.int32]
    borders: NDArray[np.float32]
    leaves: NDArray[np.float32]
    bias: float

    def scores(self, numbers: NDArray[np.float32]) -> Array:
        """Sum of the trees for each row: logarithm of odds."""
        trees, depth = self.columns.shape
        asked = numbers.T[self.columns.T.ravel()] > self.borders.T.reshape(-1, 1)
        leaves = np.repeat(np.arange(trees, dtype=np.int32) << depth, len(numbers)).reshape(trees, -1)
        for level, answers in enumerate(asked.reshape(depth, trees, -1)):
            leaves += answers.astype(np.int32) << level
        found = np.ascontiguousarray(np.take(self.leaves.ravel(), leaves).T)
        return np.asarray(found.sum(axis=1, dtype=np.float64) + self.bias)


def chances(scores: Array) -> Array:
    """Logarithms of odds as probabilities."""
    return 1 / (1 + np.exp(-np.clip(scores, -30, 30)))


def agreed(scores: Array, page: Page, columns: Columns, thread: float) -> Array:
    """Scores drawn to the mean of the blocks with the same path of tags and names, so that all posts are kept, or none.

    Args:
        scores: logarithm of odds of each block.
        page: with its blocks.
        columns: numbers of its blocks, with the containers.
        thread: probability of the page to be a thread.

    Returns:
        Scores; in a thread half of the mean, in an article less. Long blocks weigh no more than ``_MOST_WEIGHT`` in it.
    """
    paths = columns.structure.paths[page.blocks.holders]
    weights = np.clip(page.characters.units, 1, _MOST_WEIGHT)
    bounded = np.clip(scores, -_SURE, _SURE)
    means = np.bincount(paths, bounded * weights) / np.maximum(np.bincount(paths, weights), 1e-9)
    return scores + (_OF_ARTICLE + (_OF_THREAD - _OF_ARTICLE) * thread) * (means[paths] - bounded)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model says of a page.

    Attributes:
        blocks: probability of each block to be main text, in [0, 1].
        thread: probability of the page to be a thread, in [0, 1].
    """

    blocks: Array
    thread: float


@dataclass(slots=True)
class BlockModel:
    """Probability of each block of a page to be main text.

    Attributes:
        kind: trees over the numbers of a page: a thread, or not.
        trees: over the numbers of blocks.
        odds: of tokens, of blocks to be main text.
        thread_odds: of tokens, of pages to be threads.
        card: what it was trained on and how good it was.
    """

    kind: Trees
    trees: Trees
    odds: Odds
    thread_odds: Odds
    card: dict[str, Any] = field(default_factory=dict)

    def read(self, page: Page) -> Reading:
        """Probabilities of a page and of its blocks; the page has at least one block."""
        columns = block_features(page, self.odds)
        thread = float(chances(self.kind.scores(page_numbers(page, columns, self.thread_odds)))[0])
        return self.read_blocks(page, columns, thread)

    def read_blocks(self, page: Page, columns: Columns, thread: float) -> Reading:
        """Probabilities of blocks."""
        columns.add("thread", np.array([[thread]]))
        if (tuple(columns.names), NAMES) != (self.trees.features, self.kind.features):
            raise ValueError(
                "the block model was trained on other numbers than this version makes: train it again"
            )
        scores = agreed(self.trees.scores(columns.matrix()), page, columns, thread)
        return Reading(chances(scores), thread)


def read_model(data: bytes) -> BlockModel:
    """The model in the bytes of a model file.

    Raises:
        ValueError: another format, or damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(part.file_size for part in archive.infolist()) > MAX_BYTES:
                raise ValueError(f"unpacked it is larger than {MAX_BYTES >> 20} MiB")
            about = json.loads(archive.read("about.json"))
            if about["format"] != FORMAT:
                raise ValueError(
                    f"block model of format {about['format']}, this version reads {FORMAT}: train it again"
                )
            arrays = {
                name[:-4]: np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name.endswith(".npy")
            }
        grown = [
            Trees(tuple(about[name]["features"]), arrays[f"{name}_columns"].astype(np.int32), arrays[f"{name}_borders"],
                  arrays[f"{name}_leaves"].astype(np.float32), float(about[name]["bias"]))
            for name in ("kind", "trees")
        ]  # fmt: skip
        for trees in grown:
            count, depth = trees.columns.shape
            if (trees.borders.shape, trees.leaves.shape) != ((count, depth), (count, 1 << depth)):
                raise ValueError("is damaged: its trees have parts of different sizes")
        odds = [
            Odds(dict(about[f"{name}_names"]), arrays[f"{name}_words"], arrays[f"{name}_values"].astype(np.float32))
            for name in ("block", "thread")
        ]  # fmt: skip
        return BlockModel(grown[0], grown[1], odds[0], odds[1], dict(about["card"]))
    except (
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        zlib.error,
        zipfile.BadZipFile,
    ) as error:
        raise ValueError(f"is no block model, or damaged ({error})") from error


@cache
def default_model() -> BlockModel:
    """The model that is part of the package."""
    return read_model(Path(__file__).with_name(DATA_FILE).read_bytes())


def load_model(path: str) -> BlockModel:
    """The model in a file, kept until the file changes; of an empty path the one that is part of the package.

    Raises:
        ConfigError: it cannot be read, is damaged, or was made by a version that computes other numbers.
    """
    return made_of_file("extraction.model", path, _checked, MAX_BYTES) if path else default_model()


def _checked(data: bytes) -> BlockModel:
    """The model in the bytes of a file, once it has read a block."""
    model = read_model(data)
    found = model.read(read_page(read_blocks(etree.fromstring("<p>a</p>")), About()))
    if not (np.isfinite(found.blocks).all() and np.isfinite(found.thread)):
        raise ValueError("is damaged: it has numbers that are none")
    return model
