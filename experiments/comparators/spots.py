"""Spot signatures: short chains of content words that follow a frequent function word.

Source: Theobald, Siddharth, Paepcke, "SpotSigs: robust and efficient near duplicate detection in large web
collections", SIGIR 2008; the step over stop words as in the released code.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.hashing import mix64
from es_dedup.text.normalise import normalise, normalise_many
from experiments.comparators.hashsets import bags
from experiments.comparators.words import hashes_of, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from experiments.comparators.hashsets import HashBag
    from experiments.comparators.words import SegmentedWords
    from experiments.settings import SpotsigsConfig

ANTECEDENTS_ZH: Final = frozenset(
    "的 了 是 在 和 与 也 就 都 将 对 为 从 被 把 而 等 有 并 及 于 中 上 不".split()
)
"""Frequent function words of written Chinese: they stand in sentences, hardly ever in link texts."""
ANTECEDENTS_EN: Final = frozenset(
    "the a an is are was were be been being do does did have has had can could will would shall should".split()
)
"""Articles and the forms of be, do, have, can, will and shall."""
STOP_WORDS: Final = (
    ANTECEDENTS_ZH
    | ANTECEDENTS_EN
    | frozenset(
        "不 我 有 他 这 个 们 中 来 上 大 为 说 到 地 得 着 那 要 下 以 会 可 她 里 所 而 并 及 对 将 被 把 从 等".split()
    )
    | frozenset(
        "of to and in that for it as with on at by this from or not but they his her he she we you i its their which who "
        "there if than so no all also may might must when what into out up about more one".split()
    )
)
"""Words that a chain steps over."""
_LINK: Final = np.uint64(0x9FB21C651E98DF25)


def spot_bags(texts: Sequence[str], config: SpotsigsConfig) -> list[HashBag]:
    """The multiset of spot signatures of each text."""
    words = words_of(normalise_many(texts))
    hashes, owners = spot_signatures(words, config.antecedents, config.distance, config.chain)
    return bags(hashes, owners, len(texts))


def spot_signatures(
    words: SegmentedWords, antecedents: tuple[str, ...], distance: int, chain: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hashes of all spot signatures, and their pages.

    A signature is an antecedent and the ``chain`` content words found by going ``distance`` words on, then over stop
    words to the next content word, and so on from there. A chain that does not end within the page is none.

    Args:
        words: segmented pages.
        antecedents: words that start a signature; the built-in lists when empty.
        distance, chain: at least 1.
    """
    starting, passed = _lists(antecedents)
    total = len(words)
    if not total:
        return words.hashes, words.pages
    content = np.where(np.isin(words.hashes, passed), total, np.arange(total))
    following = np.append(np.minimum.accumulate(content[::-1])[::-1], total)
    at = np.flatnonzero(np.isin(words.hashes, starting))
    end = words.offsets[words.pages[at] + 1]
    signature = words.hashes[at]
    place, whole = at, np.ones(len(at), dtype=np.bool_)
    for _ in range(chain):
        place = following[np.minimum(place + distance, total)]
        whole &= place < end
        signature = mix64(signature * _LINK + words.hashes[np.minimum(place, total - 1)])
    return signature[whole], words.pages[at[whole]]


@cache
def _lists(antecedents: tuple[str, ...]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Hashes of the antecedents, and of the words that are stepped over."""
    starting = {normalise(word) for word in antecedents} - {""} or ANTECEDENTS_ZH | ANTECEDENTS_EN
    return hashes_of(starting), hashes_of(STOP_WORDS | starting)
