"""Reference of the shipped synonyms: groups of words, and what they say of one word.

Source: DWDCS, formula 5; algorithms note, section 5.4.

A file has one group of words a line, the most frequent meaning first; lines that begin with # are no groups.
"""

import lzma
from collections.abc import Iterable
from pathlib import Path

import xxhash

Meanings = dict[str, list[frozenset[str]]]


def meanings(files: Iterable[Path]) -> Meanings:
    """For each word the groups that hold it, in the order of the files."""
    found: Meanings = {}
    for file in files:
        for line in lzma.decompress(file.read_bytes()).decode().splitlines():
            if line[0] != "#":
                group = frozenset(line.split())
                for word in group:
                    found.setdefault(word, []).append(group)
    return found


def concept(word: str, known: Meanings, senses: int) -> frozenset[str]:
    """Con(t): the word and its synonyms of so many meanings."""
    return frozenset([word]).union(*known.get(word, [])[:senses])


def code(word: str, known: Meanings, seed: int) -> int:
    """A hash of the word's first group, or of the word."""
    text = "\n".join(sorted(known[word][0])) if word in known else word
    return xxhash.xxh3_64_intdigest(text.encode(), seed=seed)
