"""Odds of tokens, learned from labelled blocks; a site counts once for a token, however many pages it has."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from es_dedup.extraction.block_characters import UNITS
from es_dedup.extraction.token_odds import Odds, part_tokens

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from experiments.extraction.pages import LabelledPage

MAX_NAMES: Final = 1_500
MAX_WORDS: Final = 4_000
MIN_SITES: Final = 3
MAX_THREAD_TOKENS: Final = 600
"""Of names, and of words."""
_PRIOR: Final = 2.0
_LEAST, _MOST = 0.005, 0.995

Token = TypeVar("Token", str, int)


class _Counts:
    """Shares of tokens of names and of words, by site."""

    most_names: int
    most_words: int

    def __init__(self) -> None:
        self._names: dict[str, dict[str, list[float]]] = defaultdict(dict)
        self._words: dict[int, dict[str, list[float]]] = defaultdict(dict)

    def odds(self, left_out: Container[str] = ()) -> Odds:
        """Odds of the tokens that stand on ``MIN_SITES`` sites and tell most.

        Args:
            left_out: sites whose pages do not count.
        """
        words = sorted(_odds(self._words, self.most_words, left_out).items())
        return Odds(
            _odds(self._names, self.most_names, left_out),
            np.array([word for word, _ in words], np.uint64),
            np.array([value for _, value in words], np.float32),
        )


class TokenCounts(_Counts):
    """How often blocks with a token are main text, by site.

    Args:
        pages: with labels.
    """

    most_names, most_words = MAX_NAMES, MAX_WORDS

    def __init__(self, pages: Iterable[LabelledPage]) -> None:
        super().__init__()
        for page in pages:
            self._count(page)

    def _count(self, labelled: LabelledPage) -> None:
        blocks, characters, labels = labelled.page.blocks, labelled.page.characters, labelled.labels
        known = labelled.weights > 0
        units = characters.counts @ UNITS
        total, kept = np.zeros(len(labels) + 1), np.zeros(len(labels) + 1)
        np.cumsum(np.where(known, units, 0), out=total[1:])
        np.cumsum(np.where(known, units * labels, 0), out=kept[1:])
        seen: dict[str, list[float]] = {}
        for place, name in enumerate(blocks.signatures):
            first, last = blocks.first[place], blocks.last[place]
            if name and total[last] > total[first] and place:
                for token in name_tokens(blocks.names[name]):
                    found = seen.setdefault(token, [0.0, 0.0])
                    found[0] += kept[last] - kept[first]
                    found[1] += total[last] - total[first]
        for token, (inside, whole) in seen.items():
            _add(self._names[token], labelled.site, inside / whole)
        chosen = known[characters.word_blocks]
        values = labels[characters.word_blocks[chosen]]
        distinct, inverse = np.unique(characters.words[chosen], return_inverse=True)
        means = np.bincount(inverse, values, minlength=distinct.size) / np.maximum(
            np.bincount(inverse, minlength=distinct.size), 1
        )
        for word, mean in zip(distinct.tolist(), means.tolist(), strict=True):
            _add(self._words[word], labelled.site, mean)


class ThreadCounts(_Counts):
    """How often pages with a token are threads, by site.

    Args:
        pages: with their kinds.
    """

    most_names = most_words = MAX_THREAD_TOKENS

    def __init__(self, pages: Iterable[LabelledPage]) -> None:
        super().__init__()
        for page in pages:
            is_thread = float(page.kind == "thread")
            tokens = {token for name in page.page.blocks.names for token in name_tokens(name)}
            for token in tokens:
                _add(self._names[token], page.site, is_thread)
            for word in np.unique(page.page.characters.words).tolist():
                _add(self._words[word], page.site, is_thread)


def name_tokens(signature: str) -> frozenset[str]:
    """Tokens of a container's class, id, role and itemprop."""
    return frozenset().union(*map(part_tokens, signature.split()))


def _add(by_site: dict[str, list[float]], site: str, share: float) -> None:
    found = by_site.setdefault(site, [0.0, 0.0])
    found[0] += share
    found[1] += 1


def _odds(
    counts: dict[Token, dict[str, list[float]]], limit: int, left_out: Container[str]
) -> dict[Token, float]:
    """Logarithm of odds of the mean over sites, against that of all tokens."""
    means: dict[Token, tuple[float, int]] = {}
    for token, by_site in counts.items():
        if len(by_site) >= MIN_SITES:
            shares = [found[0] / found[1] for site, found in by_site.items() if site not in left_out]
            if len(shares) >= MIN_SITES:
                means[token] = (sum(shares), len(shares))
    if not means:
        return {}
    prior = sum(kept for kept, _ in means.values()) / sum(sites for _, sites in means.values())
    prior = min(max(prior, _LEAST), _MOST)
    base = np.log(prior / (1 - prior))
    odds: dict[Token, float] = {}
    for token, (kept, sites) in means.items():
        share = min(max((kept + _PRIOR * prior) / (sites + _PRIOR), _LEAST), _MOST)
        odds[token] = float(np.log(share / (1 - share)) - base)
    ranked = sorted(odds, key=lambda token: (-abs(odds[token]) * means[token][1] ** 0.5, token))
    return {token: odds[token] for token in ranked[:limit]}
