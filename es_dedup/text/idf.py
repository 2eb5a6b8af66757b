"""How rare a word is: inverse document frequencies of general Chinese, or of a file.

A file has a word and its number on each line, separated by a space, as jieba's list has. A line ``# unknown NUMBER`` says what
every other word has, and a line ``# words COUNT`` how many there are, by which a file that was cut
off is recognised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from es_dedup.settings.files import made_of_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        return np.array([self.values.get(word, self.unknown) for word in words], dtype=np.float64)


def file_of_jieba(name: str) -> Path:
    """Where jieba keeps a file; jieba itself is not imported."""
    found = find_spec("jieba")
    return Path(found.origin).parent / name if found and found.origin else Path(name)


def _median(values: Mapping[str, float]) -> float:
    return float(np.median(np.fromiter(values.values(), dtype=np.float64, count=len(values))))


@cache
def general() -> Idf:
    """Idf of general Chinese: the list that jieba contains (about 260,000 words); unknown words get its median.

    Returns:
        Values from 0.1 to 14. Words of other scripts are hardly in the list: within a page they differ by count alone.
        Where jieba has no such file all words weigh the same.
    """
    path = file_of_jieba("analyse/idf.txt")
    if not path.is_file():
        return Idf({}, 1.0, "none")
    values, _ = _parsed(path.read_text(encoding="utf-8"))
    return Idf(values, _median(values), "jieba")


def chosen(path: str, setting: str = "idf") -> Idf:
    """The idf that a setting, named for errors, has: that of a file, or of general Chinese where it is empty.

    Raises:
        ConfigError: as ``load``.
    """
    return load(path, setting) if path else general()


def load(path: str | Path, setting: str = "idf") -> Idf:
    """Idf of a file, kept until the file changes; its version names the content.

    Without a line ``# unknown`` an unknown word has the median.

    Raises:
        ConfigError: it cannot be read, is no UTF-8 text, was cut off, or a line is not a word and a number above 0.
    """
    return made_of_file(setting, path, _idf_of)


def _idf_of(raw: bytes) -> Idf:
    values, unknown = _parsed(raw.decode("utf-8-sig"))
    if not values:
        raise ValueError("holds no line with a word and its number")
    return Idf(values, unknown or _median(values), f"file-{xxhash.xxh3_64_hexdigest(raw)}")


def _parsed(text: str) -> tuple[dict[str, float], float | None]:
    """Words with their numbers, and the number of unknown words where a line names it."""
    values: dict[str, float] = {}
    unknown = count = None
    for place, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        word, _, number = line.rpartition(" ")
        try:
            value = float(number) if word else 0.0
        except ValueError:
            value = 0.0
        if not 0 < value < math.inf:
            raise ValueError(f"line {place}: a word, a space and a number above 0 are expected")
        if word == "# unknown":
            unknown = value
        elif word == "# words":
            count = int(value)
        else:
            values[word] = value
    whole = len(values) - (not text.endswith("\n"))
    if count is not None and whole != count:
        raise ValueError(f"holds {whole:,} of {count:,} words: it was cut off or changed; make it again")
    return values, unknown
