"""How rare a word is: inverse document frequencies of general Chinese, or learned from pages at hand."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Idf:
    """Inverse document frequency by word; immutable.

    Attributes:
        values: word to idf, natural logarithm, above 0.
        unknown: idf of every other word.
        version: names the snapshot in evidence.
    """

    values: Mapping[str, float] = field(repr=False)
    unknown: float
    version: str

    def of(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Idf of each word; shape (words,)."""
        unknown = self.unknown
        get = self.values.get
        return np.fromiter((get(word, unknown) for word in words), dtype=np.float64, count=len(words))


def learned(pages: Iterable[Iterable[str]]) -> Idf:
    """Idf over pages given as their words: ln((N + 1) / (df + 1)) + 1; an unknown word is in no page.

    The added 1 keeps a word that all pages have from weighing nothing.
    """
    frequency: Counter[str] = Counter()
    count = 0
    for words in pages:
        frequency.update(set(words))
        count += 1
    values = {word: math.log((count + 1) / (df + 1)) + 1 for word, df in frequency.items()}
    return Idf(values, math.log(count + 1) + 1, f"learned-{count}")


@cache
def general() -> Idf:
    """Idf of general Chinese: the list that jieba carries (about 260,000 words); unknown words get its median.

    Returns:
        Values from 0.1 to 14. Words of other scripts are hardly in the list: within a page they differ by count alone.
        Where jieba has no such file all words weigh the same.
    """
    found = find_spec("jieba")
    path = Path(found.origin).parent / "analyse" / "idf.txt" if found and found.origin else None
    if path is None or not path.is_file():
        return Idf({}, 1.0, "none")
    values = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, number = line.rpartition(" ")
        if word:
            values[word] = float(number)
    return Idf(values, median(values.values()), "jieba")
