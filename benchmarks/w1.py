"""Workload W1: random documents with edited copies, half Chinese, half English, and their truth.

Written for this project after the description of a workload used elsewhere; its documents are not the same, its kind
is: words drawn by rank with frequency falling as 1 / rank^1.05 from 20,000 Chinese words of one to three characters or
30,000 English ones of two to nine letters; 250-450 words a document; one word in six followed by a mark. A fifth of the
documents have one to three copies, in which up to a fifth of the words are dropped, replaced or followed by a new one.
Truth are the pairs of a family with an exact Jaccard similarity of 0.8 or more, over five code points (Chinese) or three
words (English), marks left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

RATES: Final = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
"""Share of edited words, one of them for each copy."""
SIMILAR: Final = 0.8
_MARKS: Final = {"zh": ("，", "。"), "en": (",", ".")}
_JOINT: Final = {"zh": "", "en": " "}
_EXPONENT: Final = 1.05
_COMMON_LETTERS: Final = "eeeeetttaaooiinnsshhrrdlucmfwypvbgkqjxz"


@dataclass(frozen=True, slots=True)
class Document:
    """One document; those of one family come from one base."""

    id: str
    language: str
    family: int
    text: str


class _Words:
    """The vocabulary of a language, drawn by frequency."""

    def __init__(self, words: Sequence[str], source: np.random.Generator) -> None:
        self._words = np.array(words, dtype=object)
        self._source = source
        weights = np.arange(1, len(words) + 1, dtype=np.float64) ** -_EXPONENT
        self._ends = np.cumsum(weights / weights.sum())

    def draw(self, count: int) -> NDArray[np.object_]:
        place = np.searchsorted(self._ends, self._source.random(count))
        drawn: NDArray[np.object_] = self._words[np.minimum(place, len(self._words) - 1)]
        return drawn


def documents(bases: int, seed: int) -> list[Document]:
    """Bases and their copies, shuffled; the same for the same arguments."""
    source = np.random.default_rng(seed)
    words = {"zh": _Words(_chinese(source), source), "en": _Words(_english(source), source)}
    made: list[tuple[str, int, list[str]]] = []
    for family in range(bases):
        language = ("zh", "en")[family % 2]
        base = _with_marks(words[language].draw(int(source.integers(250, 451))), language, source)
        made.append((language, family, base))
        if source.random() < 0.2:
            for _ in range(int(source.integers(1, 4))):
                rate = RATES[int(source.integers(len(RATES)))]
                made.append((language, family, _edited(base, rate, words[language], source)))
    order = source.permutation(len(made))
    return [
        Document(str(at), made[place][0], made[place][1], _JOINT[made[place][0]].join(made[place][2]))
        for at, place in enumerate(order.tolist())
    ]


def truth(made: Sequence[Document]) -> dict[str, set[tuple[str, str]]]:
    """Similar pairs of each language, ids in order."""
    families: dict[int, list[Document]] = {}
    for document in made:
        families.setdefault(document.family, []).append(document)
    found: dict[str, set[tuple[str, str]]] = {"zh": set(), "en": set()}
    for family in families.values():
        cut = {document.id: shingles(document) for document in family} if len(family) > 1 else {}
        for left, right in combinations(sorted(cut), 2):
            both = len(cut[left] & cut[right])
            if both >= SIMILAR * (len(cut[left]) + len(cut[right]) - both):
                found[family[0].language].add((left, right))
    return found


def shingles(document: Document) -> set[str]:
    """Five code points or three words, marks left out."""
    text = document.text.translate(dict.fromkeys(map(ord, "，。,."), ""))
    if document.language == "zh":
        return {text[at : at + 5] for at in range(len(text) - 4)}
    words = text.split()
    return {" ".join(words[at : at + 3]) for at in range(len(words) - 2)}


def _chinese(source: np.random.Generator) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < 20_000:
        length = int(source.choice((1, 2, 2, 2, 3)))
        words["".join(map(chr, (0x4E00 + source.integers(0, 3_500, length)).tolist()))] = None
    return list(words)


def _english(source: np.random.Generator) -> list[str]:
    words: dict[str, None] = {}
    letters = np.array(list(_COMMON_LETTERS))
    while len(words) < 30_000:
        words["".join(source.choice(letters, int(source.integers(2, 10))).tolist())] = None
    return list(words)


def _with_marks(words: NDArray[np.object_], language: str, source: np.random.Generator) -> list[str]:
    comma, stop = _MARKS[language]
    chance = source.random(len(words)).tolist()
    return [
        word + (stop if drawn < 0.04 else comma if drawn < 0.16 else "")
        for word, drawn in zip(words.tolist(), chance, strict=True)
    ]


def _edited(base: Sequence[str], rate: float, words: _Words, source: np.random.Generator) -> list[str]:
    """Of the edited words a third each is dropped, replaced, or followed by another."""
    kinds = np.where(source.random(len(base)) < rate, source.integers(1, 4, len(base)), 0).tolist()
    fresh = words.draw(len(base)).tolist()
    copy: list[str] = []
    for word, kind, other in zip(base, kinds, fresh, strict=True):
        copy += {0: [word], 1: [], 2: [other], 3: [word, other]}[kind]
    return copy
