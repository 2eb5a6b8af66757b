"""Build the lists of synonyms that are shipped from the Chinese Open Wordnet and from WordNet.

    python scripts/build_synonyms.py wn-data-cmn.tab
    python scripts/build_synonyms.py dict

The input is the tab-separated file of the Open Multilingual Wordnet, plain or compressed by xz, or the folder of WordNet with its
files ``data.noun``, ``index.sense`` and so on. The output is a plain list: one synset of at least two words a line, words in the
form that texts are compared in, so that reading it takes no normalisation. Words of several parts are left out, as no segmenter
gives them, and so are English words without two letters: 2 in a Chinese text is not "two", and a single letter is no numeral.

The Chinese Open Wordnet does not say which meaning of a word is its most frequent one, and methods use the first. So synsets
are ordered by how frequent their words are in general Chinese, together, by the dictionary of jieba: of 计算机 the synset with
电脑 comes before the one with 加法机, and words that share a frequent meaning have the same first one. Synsets of WordNet are ordered
by how often they occur in the texts that it was tagged in.
"""

from __future__ import annotations

import argparse
import logging
import lzma
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import jieba

from es_dedup.text.synonyms import WORDNET_FILES, in_text_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HEADERS: Final = {
    "zh": (
        "# Chinese Open Wordnet, Copyright 2013, 2014 by Francis Bond and Shan Wang. All rights reserved.",
        "# Permission to use, copy, modify and distribute: see the file LICENSE-zh beside this one.",
        "# Modified by es-dedup: normalised words of each synset on one line, the most frequent first; synsets of one word and particles set apart by + left out.",
    ),
    "en": (
        "# WordNet 3.1 Copyright 2011 by Princeton University. All rights reserved.",
        "# Permission to use, copy, modify and distribute: see the file LICENSE-en beside this one.",
        "# Modified by es-dedup: normalised words of each synset on one line, the most frequent first; synsets of one word, words of several parts, numbers and letters left out.",
    ),
}
PARTS: Final = {"noun": "1", "verb": "2", "adj": "3", "adv": "4"}  # as the first digit of a sense key
SATELLITE: Final = "5"  # adjectives that stand in data.adj too
PARTICLE: Final = re.compile(r"\+[的地].*")
SEPARATOR: Final = re.compile(r"[\s,，]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "source", type=Path, help="file of the Chinese Open Wordnet, .tab or .tab.xz, or folder of WordNet"
    )
    parser.add_argument("--output", type=Path)
    given = parser.parse_args(arguments)
    language = "en" if given.source.is_dir() else "zh"
    output = given.output or WORDNET_FILES[language]
    groups = in_text_form(english(given.source) if language == "en" else chinese(given.source))
    if not groups:
        print(f"{given.source} holds no synset of two words", file=sys.stderr)
        return 1
    text = "".join(f"{line}\n" for line in (*HEADERS[language], *map(" ".join, groups)))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(groups):,} groups, {output.stat().st_size:,} bytes")
    return 0


def chinese(source: Path) -> list[list[str]]:
    """Groups of the Chinese Open Wordnet."""
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    tokenizer.initialize()
    opened = lzma.open if source.suffix == ".xz" else open
    with opened(source, "rt", encoding="utf-8") as lines:
        return groups_of(lines, tokenizer.FREQ)


def english(folder: Path) -> list[list[str]]:
    """Groups of WordNet.

    Source:
        The manual pages wndb(5WN) and senseidx(5WN).
    """
    tagged: Counter[tuple[str, str]] = Counter()
    for line in (folder / "index.sense").read_text(encoding="utf-8").splitlines():
        key, synset, _, count = line.split()
        tagged[key.partition("%")[2][0].replace(SATELLITE, PARTS["adj"]), synset] += int(count)
    groups = []
    for name, part in PARTS.items():
        for line in (folder / f"data.{name}").read_text(encoding="utf-8").splitlines():
            if not line.startswith(" "):
                cells = line.split()
                named = (word.partition("(")[0] for word in cells[4 : 4 + 2 * int(cells[3], 16) : 2])
                words = [word for word in named if "_" not in word and sum(map(str.isalpha, word)) > 1]
                groups.append((tagged[part, cells[0]], words))
    return [words for _, words in sorted(groups, key=lambda each: -each[0])]


def groups_of(lines: Iterable[str], frequency: Mapping[str, int]) -> list[list[str]]:
    """The distinct words of each synset that has at least two, the most frequent synsets first, equals as in the file.

    Args:
        lines: of the Chinese Open Wordnet.
        frequency: of each word in general Chinese; a word without any counts 0.
    """
    synsets: dict[str, dict[str, None]] = {}
    for line in lines:
        lemma = lemma_of(line)
        if lemma is not None and lemma[1]:
            synsets.setdefault(lemma[0], {})[lemma[1]] = None
    groups = [list(words) for words in synsets.values() if len(words) > 1]
    return sorted(groups, key=lambda words: -sum(frequency.get(word, 0) for word in words))


def lemma_of(line: str) -> tuple[str, str] | None:
    """Synset and word of a line of the Open Multilingual Wordnet; None for any other line.

    A particle that the Chinese Open Wordnet sets apart (``认真+的``) is left out, as segmenters set it apart too. The word is empty
    when it holds a space or a comma: no segmenter gives such a word.
    """
    cells = line.rstrip("\r\n").split("\t")
    if len(cells) < 3 or not cells[1].endswith(":lemma") or not cells[2]:
        return None
    word = PARTICLE.sub("", cells[2].strip()).replace("+", "")
    return cells[0], "" if SEPARATOR.search(word) else word


if __name__ == "__main__":
    sys.exit(main())
