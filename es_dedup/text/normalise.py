"""One form for texts that read the same: NFKC, width, quotes, case, simplified characters, white space.

Many texts are normalised together as one array of code points; what needs the full Unicode algorithm or the phrase
tables of the simplifier is done on the string of that page alone, so a page's form never depends on its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup import native
from es_dedup.text.characters import PLANE, fold_string, tables
from es_dedup.text.simplify import simplify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SPACE: Final = 0x20
_NEWLINE: Final = 0x0A
_THREADS: Final = 4  # that read pages at once, each with a last result
_SEPARATOR: Final = "\x01"  # between pages; a control character, so no mapped page holds it


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Texts of several pages in one array.

    Attributes:
        codes: code points of all pages, one after the other; shape (characters,).
        offsets: page ``i`` is ``codes[offsets[i]:offsets[i + 1]]``; shape (pages + 1,).
    """

    codes: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def string(self, page: int) -> str:
        """The text of one page."""
        return decode(self.codes[self.offsets[page] : self.offsets[page + 1]])


def normalise(text: str) -> str:
    """Normalised form of one text.

    Newlines are unified, NFKC applied, letters lowered, quotes and dashes straightened, traditional characters
    simplified, control and format characters removed, white space reduced to single spaces and newlines.

    Returns:
        Text without leading, trailing or repeated white space; may be empty.
    """
    return normalise_many([text]).string(0)


def normalise_many(texts: Sequence[str]) -> TextBatch:
    """Normalised forms of several texts; each equals ``normalise`` of that text alone."""
    table = tables()
    codes, offsets = encode(texts)
    steps = native.core or _IN_PYTHON
    if folded := np.flatnonzero(steps.flagged_pages(codes, offsets, table.slow)).tolist():
        codes, offsets = _folded(texts, folded)
    mapped = steps.mapped_codes(codes, table.mapped)
    if traditional := np.flatnonzero(steps.flagged_pages(mapped, offsets, table.traditional)).tolist():
        mapped, offsets = _simplified(mapped, offsets, traditional)
    return TextBatch(*steps.collapsed(mapped, offsets))


def _flagged_pages(
    codes: NDArray[np.uint32], offsets: NDArray[np.int64], flags: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Pages with a flagged character, or with one beyond the basic plane; shape (pages,)."""
    flagged = flags[np.minimum(codes, PLANE - 1)] | (codes >= PLANE)
    found = np.zeros(len(offsets) - 1, dtype=np.bool_)
    if flagged.any():
        found[np.searchsorted(offsets, np.flatnonzero(flagged), side="right") - 1] = True
    return found


def _mapped_codes(codes: NDArray[np.uint32], mapped: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Each character by the table; those beyond the basic plane stay."""
    return np.where(codes < PLANE, mapped[np.minimum(codes, PLANE - 1)], codes)


@lru_cache(maxsize=_THREADS)
def normalised_pages(texts: tuple[str, ...]) -> TextBatch:
    """``normalise_many`` with the last results cached, since several methods read the same pages one after the other."""
    return normalise_many(texts)


def _folded(texts: Sequence[str], pages: list[int]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Codes and offsets after folding these pages as strings."""
    folded = list(texts)
    for page in pages:
        folded[page] = fold_string(folded[page].replace("\r\n", "\n").replace("\r", "\n"))
    return encode(folded)


def encode(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Code points and page offsets of raw texts; lone surrogates are dropped."""
    joined = "".join(texts)
    lengths = [len(text) for text in texts]
    try:
        raw = joined.encode("utf-32-le")
    except UnicodeEncodeError:
        clean = [text.encode("utf-8", "ignore").decode("utf-8") for text in texts]
        lengths = [len(text) for text in clean]
        raw = "".join(clean).encode("utf-32-le")
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return np.frombuffer(raw, dtype=np.uint32), offsets


def decode(codes: NDArray[np.uint32]) -> str:
    """The string of an array of code points."""
    return codes.astype("<u4").tobytes().decode("utf-32-le")


def _simplified(
    codes: NDArray[np.uint32], offsets: NDArray[np.int64], pages: list[int]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Codes and offsets after simplifying these pages as one string; removed characters (0) are dropped before, since they would split phrases."""
    parts = [codes[start:end] for start, end in pairwise(offsets.tolist())]
    joined = _SEPARATOR.join([decode(parts[page][parts[page] != 0]) for page in pages])
    changed, _ = encode([simplify(joined)])
    cuts = np.concatenate(([-1], np.flatnonzero(changed == ord(_SEPARATOR)), [len(changed)])).tolist()
    for page, (start, end) in zip(pages, pairwise(cuts), strict=True):
        parts[page] = changed[start + 1 : end]
    lengths = np.zeros(len(offsets), dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=lengths[1:])
    return np.concatenate(parts), lengths


def _collapsed(
    codes: NDArray[np.uint32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Without removed characters (0); each run of white space one newline or one space, none at a page's ends."""
    keep = codes != 0
    if not keep.all():
        offsets = np.concatenate(([0], np.cumsum(keep)))[offsets]
        codes = codes[keep]
    newline = codes == _NEWLINE
    white = newline | (codes == _SPACE)
    follows = np.zeros(len(codes), dtype=np.bool_)
    follows[1:] = white[:-1]
    follows[offsets[:-1][offsets[:-1] < len(codes)]] = False
    starts = np.flatnonzero(white & ~follows)
    if not len(starts):
        return codes, offsets
    newlines = np.concatenate(([0], np.cumsum(newline)))
    stops = np.concatenate(([0], np.cumsum(white)))
    # a run ends where the next one starts, minus the text between: count white characters instead
    ends = starts + np.diff(np.concatenate((stops[starts], [stops[-1]])))
    result = codes.copy()
    result[starts] = np.where(newlines[ends] > newlines[starts], _NEWLINE, _SPACE)
    keep = ~white
    edge = np.isin(starts, offsets[:-1]) | np.isin(ends, offsets[1:])
    keep[starts[~edge]] = True
    return result[keep], np.concatenate(([0], np.cumsum(keep)))[offsets]


class _InPython:
    """Steps over all characters of a batch, which the native core has too."""

    flagged_pages = staticmethod(_flagged_pages)
    mapped_codes = staticmethod(_mapped_codes)
    collapsed = staticmethod(_collapsed)


_IN_PYTHON: Final = _InPython()
