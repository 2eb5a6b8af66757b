"""Reference of I-Match and of the CoDet-like tree.

Source: algorithms note, sections 2.2 and 2.5.
"""

import math
from collections.abc import Callable, Collection, Sequence

Path = tuple[str, ...]


def normalised_idf(df: int, pages: int) -> float:
    """``ln((N + 1) / df) / ln(N + 1)``; a term of no page counts as one of one page."""
    return math.log((pages + 1) / max(df, 1)) / math.log(pages + 1)


def signature(
    terms: Collection[str], min_terms: int, kept: Callable[[str], bool] = lambda _: True
) -> frozenset[str] | None:
    """What is hashed: the terms that the (random) lexicon keeps; None with fewer than ``min_terms``."""
    found = frozenset(term for term in terms if kept(term))
    return found if len(found) >= min_terms else None


def paths(
    sentences: Sequence[Collection[str]], depth: int, rank: Callable[[str], tuple[int, int]]
) -> list[Path]:
    """For each sentence of two distinct words or more: its first ``depth`` words in the order of ``rank``."""
    return [tuple(sorted(set(each), key=rank)[:depth]) for each in sentences if len(set(each)) > 1]


def nodes(of_paths: Sequence[Path]) -> set[Path]:
    """All prefixes of the paths."""
    return {path[:length] for path in of_paths for length in range(1, len(path) + 1)}


def tree_similarity(left: Sequence[Path], right: Sequence[Path]) -> float:
    """Depths of the shared nodes over those of the page with the smaller sum; 0 where a page has none."""
    ours, theirs = nodes(left), nodes(right)
    shorter = min(sum(map(len, ours)), sum(map(len, theirs)))
    return sum(map(len, ours & theirs)) / shorter if shorter else 0.0
