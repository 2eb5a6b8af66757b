"""Which blocks of a page stand in its gold text: alignment in page order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.extractors import GRAM, grams

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LONG_CHARS: Final = 20
_ANCHOR_CHARS: Final = 10
_ANCHOR_SHARE: Final = 0.5
_MAX_PLACES: Final = 4
_BODY_CHARS: Final = 100
_SLACK: Final = 5


def block_labels(texts: Sequence[str], gold: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Share of each block that stands in the gold text, in [0, 1], and where in it (-1: nowhere).

    Long blocks that keep the order of the gold text come first, short ones are looked for between them; what is said twice on a
    page but once in its gold text counts where the order is kept.
    """
    whole = "".join(gold.split())
    plain = ["".join(text.split()) for text in texts]
    left = grams(gold)
    labels = np.zeros(len(texts))
    places = np.full(len(texts), -1, np.int64)
    candidates = _candidates(plain, whole, left)
    for block, start, _, _ in _chain(candidates):
        places[block] = int(start)
    for block in np.flatnonzero(places >= 0).tolist():
        labels[block] = _take(plain[block], left)
    _short(plain, whole, labels, places)
    for block, text in enumerate(plain):
        if places[block] < 0 and len(text) >= _LONG_CHARS:
            labels[block] = _take(text, left)
    return labels, places


def _candidates(plain: Sequence[str], whole: str, left: Counter[str]) -> list[tuple[int, int, int, float]]:
    """Places in the gold text that a block may come from: block, start, end, weight."""
    first: dict[str, int] = {}
    for place in range(len(whole) - GRAM, -1, -1):
        first[whole[place : place + GRAM]] = place
    found: list[tuple[int, int, int, float]] = []
    for block, text in enumerate(plain):
        if len(text) < _ANCHOR_CHARS:
            continue
        start, count = whole.find(text), 0
        while start >= 0 and count < _MAX_PLACES:
            found.append((block, start, start + len(text), float(len(text))))
            start, count = whole.find(text, start + 1), count + 1
        if not count and len(text) >= _LONG_CHARS:
            inside = [text[place : place + GRAM] for place in range(len(text) - GRAM + 1)]
            met = [(place, first[gram]) for place, gram in enumerate(inside) if gram in left]
            if len(met) >= _ANCHOR_SHARE * len(inside):
                offset = int(np.median([there - here for here, there in met]))
                found.append((block, max(offset, 0), max(offset, 0) + len(text), float(len(met))))
    return found


def _chain(candidates: list[tuple[int, int, int, float]]) -> list[tuple[int, int, int, float]]:
    """The heaviest sequence of candidates in which blocks and places ascend."""
    if not candidates:
        return []
    blocks, starts, ends, weights = (np.array(column) for column in zip(*candidates, strict=True))
    best, before = weights.astype(np.float64).copy(), np.full(len(candidates), -1)
    first = np.searchsorted(blocks, blocks)
    for place in range(1, len(candidates)):
        upto = first[place]
        if not upto:
            continue
        possible = np.where(ends[:upto] <= starts[place] + _SLACK, best[:upto], -1.0)
        top = int(possible.argmax())
        if possible[top] > 0:
            best[place] += possible[top]
            before[place] = top
    chain, place = [], int(best.argmax())
    while place >= 0:
        chain.append(candidates[place])
        place = int(before[place])
    return chain[::-1]


def _take(text: str, left: Counter[str]) -> float:
    """Share of a text's grams that are left in the gold text; they are used up."""
    own = grams(text)
    shared = own & left
    left.subtract(shared)
    return shared.total() / (own.total() or 1)


def _short(plain: Sequence[str], whole: str, labels: NDArray[np.float64], places: NDArray[np.int64]) -> None:
    """Find short blocks in the gold text between the anchors around them."""
    anchors = np.flatnonzero(places >= 0)
    borders: list[tuple[int, int]] = [
        *zip(anchors.tolist(), places[anchors].tolist(), strict=True),
        (len(plain), len(whole)),
    ]
    cursor, block = 0, 0
    for anchor, start in borders:
        while block < anchor:
            text = plain[block]
            if (
                text
                and len(text) < _LONG_CHARS
                and 0 <= (found := whole.find(text, cursor, start + 1 + len(text))) <= start - len(text) + 1
            ):
                labels[block], places[block], cursor = 1.0, found, found + len(text)
            block += 1
        if anchor < len(plain):
            cursor = start + len(plain[anchor])
            block = anchor + 1


def head_lines(
    texts: Sequence[str], labels: NDArray[np.float64], places: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Short blocks in the gold text before its first paragraph: title and byline, where the gold text has them."""
    long = (
        np.array([len(text) >= _BODY_CHARS for text in texts], bool)
        & (labels > _ANCHOR_SHARE)
        & (places >= 0)
    )
    first = int(places[long].min()) if long.any() else 0
    return ~long & (labels > _ANCHOR_SHARE) & (places >= 0) & (places < first)
