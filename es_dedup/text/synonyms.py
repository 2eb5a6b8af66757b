"""Words of one meaning, as groups: those of the shipped wordnets, Chinese and English, or of a file of the user.

A file is a plain list, one meaning a line, its words separated by white space or commas (``#`` begins a comment), or HIT-IR
Tongyici Cilin (extended): ``Aa01A01= 人 士 人物``, where only rows marked ``=`` are synonyms; ``#`` (related) and ``@`` (alone) are
passed over. The two shipped lists are compressed plain lists, made by ``scripts/build_synonyms.py``; their licences are in the
same folder.
"""

from __future__ import annotations

import lzma
import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from io import BytesIO, TextIOWrapper
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.model.batches import by_key
from es_dedup.settings.files import made_of_file
from es_dedup.text.hashing import hash64
from es_dedup.text.normalise import normalise_many
from es_dedup.text.words import WordBatch, stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Places = tuple[NDArray[np.int64], NDArray[np.int64]]

WORDNET: Final = "wordnet"
"""In a setting: the wordnets that are shipped."""
NO_LIST: Final = "none"
"""In a setting: no synonyms."""
WORDNET_FILES: Final = {
    language: Path(__file__).parent / "wordnet" / f"groups-{language}.txt.xz" for language in ("zh", "en")
}
_CILIN: Final = re.compile(r"[A-Z][a-z]\d\d[A-Z]\d\d[=#@]")
_SYNSET: Final = re.compile(r"\d{8}-[a-z]\t")


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity, as a key of caches
class Synonyms:
    """Groups of words of one meaning; immutable.

    Attributes:
        groups: words of each group, in the form that texts are compared in.
        senses: word to the numbers of its groups, in the order of the file (in WordNet: most frequent sense first).
        order: place of each word in that order.
    """

    groups: tuple[frozenset[str], ...] = field(repr=False)
    senses: Mapping[str, tuple[int, ...]] = field(repr=False)
    order: Mapping[str, int] = field(init=False, repr=False)
    _codes: NDArray[np.uint64] = field(init=False, repr=False)  # by place; 0: not asked yet

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", {word: at for at, word in enumerate(self.senses)})
        object.__setattr__(self, "_codes", np.zeros(len(self.senses), dtype=np.uint64))

    def __len__(self) -> int:
        return len(self.groups)

    def code(self, word: str) -> int:
        """64-bit code of a word's first meaning: equal for its synonyms, the hash of a word without any.

        It is made from the words of the group alone, so it does not depend on the rest of the file.
        """
        senses = self.senses.get(word)
        return _group_code(self.groups[senses[0]]) if senses else hash64(word)

    def codes(self, words: WordBatch, known: Places | None = None) -> NDArray[np.uint64]:
        """``code`` of each distinct word; ``known`` is what ``places`` gives."""
        codes, (at, places) = words.hashes.copy(), known or self.places(words)
        for number in np.flatnonzero(self._codes[places] == 0).tolist():
            self._codes[places[number]] = self.code(words.vocabulary[at[number]])
        codes[at] = self._codes[places]
        return codes

    def places(self, words: WordBatch) -> Places:
        """Which distinct words have a meaning, ascending, and the place of each in ``order``."""
        found = map(self.order.get, words.vocabulary, repeat(-1))
        places = np.fromiter(found, np.int64, len(words.vocabulary))
        at = np.flatnonzero(places >= 0)
        return at, places[at]

    def concept(self, word: str) -> frozenset[str]:
        """Con(t): the word and all its synonyms in its first meaning.

        Source:
            DWDCS, formula 5.
        """
        senses = self.senses.get(word)
        return self.groups[senses[0]] if senses else frozenset((word,))


NONE: Final = Synonyms((), {})
"""No synonyms: every word is a meaning of its own."""


def of_groups(groups: Iterable[Iterable[str]]) -> Synonyms:
    """Synonyms from groups of words; a group needs two different words."""
    return _numbered(in_text_form(groups))


def in_text_form(groups: Iterable[Iterable[str]]) -> list[list[str]]:
    """The distinct words of each group, normalised and stemmed like texts; groups of fewer than two words are left out."""
    groups = [list(group) for group in groups]
    form = _forms({word for group in groups for word in group})
    formed = [list(dict.fromkeys(filter(None, map(form.__getitem__, group)))) for group in groups]
    return [words for words in formed if len(words) > 1]


def _numbered(groups: Sequence[Sequence[str]]) -> Synonyms:
    senses = by_key((word, number) for number, words in enumerate(groups) for word in words)
    return Synonyms(tuple(map(frozenset, groups)), {word: tuple(numbers) for word, numbers in senses.items()})


def named(value: str, setting: str = "synonyms") -> Synonyms:
    """The synonyms that a setting, named for errors, has by its value: ``wordnet``, ``none``, or a path for ``load``.

    Raises:
        ConfigError: as ``load``.
    """
    if value == NO_LIST:
        return NONE
    return wordnet() if value == WORDNET else load(value, setting)


@cache
def wordnet() -> Synonyms:
    """The groups of the Chinese Open Wordnet and of WordNet 3.1, whose files hold words in the form of texts; read once a process.

    A word's own language chooses its groups: an English name in a Chinese text has those that it has in an English one. The most
    frequent groups come first: of the Chinese wordnet, which has no frequencies, those whose words are frequent in general Chinese.

    Source:
        Wang, Bond: Building the Chinese Open Wordnet (COW). Proceedings of the 11th Workshop on Asian Language Resources, 2013.
        Fellbaum (ed.): WordNet: An Electronic Lexical Database. MIT Press, 1998.
    """
    lines: list[str] = []
    for path in WORDNET_FILES.values():
        lines += lzma.decompress(path.read_bytes()).decode().splitlines()
    return _numbered([line.split() for line in lines if not line.startswith("#")])


def load(path: str | Path, setting: str = "synonyms") -> Synonyms:
    """Synonyms from a file; kept until the file changes.

    Raises:
        ConfigError: it cannot be read, is too large, is no UTF-8 text, was cut off, or holds no group of two words.
    """
    return made_of_file(setting, path, _synonyms_of)


def _synonyms_of(raw: bytes) -> Synonyms:
    found = parse(TextIOWrapper(BytesIO(raw), encoding="utf-8-sig"))
    if not found.groups:
        raise ValueError("holds no line with two words of one meaning")
    return found


def parse(lines: Iterable[str]) -> Synonyms:
    """Synonyms from the lines of a file.

    Raises:
        ValueError: a row of Cilin has no word, so the file was cut off; or the file is a wordnet, which is no list.
    """
    groups: list[Sequence[str]] = []
    for number, line in enumerate(lines, 1):
        row = line.strip()
        if _SYNSET.match(line):
            raise ValueError("is a wordnet: make a list of it by scripts/build_synonyms.py")
        if code := _CILIN.match(row):
            if code.group() == row:
                raise ValueError(f"line {number} was cut off")
            groups.append(row.split()[1:] if code.group().endswith("=") else ())
        else:
            groups.append(row.partition("#")[0].replace(",", " ").replace("，", " ").split())
    return of_groups(groups)


def _forms(words: Collection[str]) -> dict[str, str]:
    """Normalised stem of each word; empty if it has no letter or digit."""
    batch = normalise_many(list(words))
    texts = zip(words, map(batch.string, range(len(batch))), strict=True)
    return {word: stem(text) if any(map(str.isalnum, text)) else "" for word, text in texts}


@lru_cache(maxsize=1 << 16)
def _group_code(group: frozenset[str]) -> int:
    return hash64("\n".join(sorted(group)))
