"""Build the list of synonyms that is shipped from the Chinese Open Wordnet.

    python scripts/build_synonyms.py wn-data-cmn.tab

The input is the tab-separated file of the Open Multilingual Wordnet, plain or compressed by xz. The output is a plain list:
one synset of at least two words a line, words as they stand there.

The Chinese Open Wordnet does not say which meaning of a word is its most frequent one, and methods use the first. So synsets
are ordered by how frequent their words are in general Chinese, together, by the dictionary of jieba: of 计算机 the synset with
电脑 comes before the one with 加法机, and words that share a frequent meaning have the same first one.
"""

from __future__ import annotations

import argparse
import logging
import lzma
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import jieba

from es_dedup.text.synonyms import WORDNET_FILE, lemma_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HEADER: Final = (
    "# Chinese Open Wordnet, Copyright 2013, 2014 by Francis Bond and Shan Wang. All rights reserved.",
    "# Permission to use, copy, modify and distribute: see the file LICENSE beside this one.",
    "# Modified by es-dedup: words of each synset on one line, the most frequent first; synsets of one word and particles set apart by + left out.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="file of the Chinese Open Wordnet, .tab or .tab.xz")
    parser.add_argument("--output", type=Path, default=WORDNET_FILE)
    given = parser.parse_args(arguments)
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    tokenizer.initialize()
    opened = lzma.open if given.source.suffix == ".xz" else open
    with opened(given.source, "rt", encoding="utf-8") as lines:
        groups = groups_of(lines, tokenizer.FREQ)
    if not groups:
        print(f"{given.source} holds no synset of two words", file=sys.stderr)
        return 1
    text = "".join(f"{line}\n" for line in (*HEADER, *map(" ".join, groups)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(groups):,} groups, {given.output.stat().st_size:,} bytes")
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
