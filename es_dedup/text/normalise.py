"""One form for texts that read the same: NFKC, width, quotes, case, simplified characters, white space.

Many texts are normalised together as one array of code points. What needs the full Unicode algorithm, or the phrases of the simplifier,
is done on strings: short runs of characters on which those around them have no influence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup import native
from es_dedup.text.characters import PLANE, fold_string, tables
from es_dedup.text.ragged import sorted_distinct
from es_dedup.text.simplify import simplify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_SPACE: Final = 0x20
_NEWLINE: Final = 0x0A
_THREADS: Final = 4  # that read pages at once, each with a last result
NEAR: Final = 4  # characters between two runs
SHORT_RUN: Final = 32  # characters
REMEMBERED_RUNS: Final = 4_096  # short ones; a few occur on most pages


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
    runs = _near_as_one(steps.flagged_runs(codes, offsets, table.joining, table.slow), offsets)
    codes, offsets = _with_runs(codes, offsets, runs, codes, fold_string)
    codes, offsets = steps.collapsed(steps.mapped_codes(codes, table.mapped), offsets)
    alone = steps.mapped_codes(codes, table.simplified)
    runs = steps.flagged_runs(codes, offsets, table.in_phrases, table.by_phrase)
    return TextBatch(*_with_runs(codes, offsets, runs, alone, simplify))


def _near_as_one(
    runs: tuple[NDArray[np.int64], NDArray[np.int64]], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Runs, those of a page joined that are at most ``NEAR`` characters apart: each run takes a call, and in some scripts every word is one."""
    starts, ends = runs
    pages = np.searchsorted(offsets, starts, side="right")
    apart = (starts[1:] - ends[:-1] > NEAR) | (pages[1:] != pages[:-1])
    return starts[np.append(True, apart)[: len(starts)]], ends[np.append(apart, True)[: len(ends)]]


def _with_runs(
    codes: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    runs: tuple[NDArray[np.int64], NDArray[np.int64]],
    others: NDArray[np.uint32],
    change: Callable[[str], str],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Texts whose runs are changed as strings.

    Args:
        codes, offsets: the texts.
        runs: where they begin and end.
        others: what stands in the texts outside the runs, character by character.
        change: gives the new string of a run.
    """
    starts, ends = runs
    if not len(starts):
        return others, offsets
    parts, at = [], 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        changed = _changed if end - start <= SHORT_RUN else _changed.__wrapped__
        parts += [others[at:start], changed(change, codes[start:end].tobytes())]
        at = end
    grown = np.array([len(part) for part in parts[1::2]]) - (ends - starts)
    pages = np.searchsorted(offsets, starts, side="right") - 1
    longer = offsets.copy()
    longer[1:] += np.cumsum(np.bincount(pages, grown, minlength=len(offsets) - 1)).astype(np.int64)
    return np.concatenate([*parts, others[at:]]), longer


@lru_cache(maxsize=REMEMBERED_RUNS)
def _changed(change: Callable[[str], str], raw: bytes) -> NDArray[np.uint32]:
    return encode([change(raw.decode("utf-32-le"))])[0]


def _flagged_runs(
    codes: NDArray[np.uint32], offsets: NDArray[np.int64], inside: NDArray[np.bool_], flags: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begins and ends of the runs of ``inside`` characters that hold a flagged one; a character beyond the basic plane counts as both."""
    own, beyond = np.minimum(codes, PLANE - 1), codes >= PLANE
    within = inside[own] | beyond
    first = within.copy()
    first[1:] &= ~within[:-1]
    begin = offsets[:-1][offsets[:-1] < len(codes)]
    first[begin] = within[begin]
    starts = np.flatnonzero(first)
    runs = sorted_distinct(np.searchsorted(starts, np.flatnonzero(flags[own] | beyond), side="right") - 1)
    stops = np.append(np.flatnonzero(first | ~within), len(codes))
    return starts[runs], stops[np.searchsorted(stops, starts[runs], side="right")]


def _mapped_codes(codes: NDArray[np.uint32], mapped: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Each character by the table; those beyond the basic plane stay."""
    return np.where(codes < PLANE, mapped[np.minimum(codes, PLANE - 1)], codes)


@lru_cache(maxsize=_THREADS)
def normalised_pages(texts: tuple[str, ...]) -> TextBatch:
    """``normalise_many`` with the last results cached, since several methods read the same pages one after the other."""
    return normalise_many(texts)


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


def _collapsed(
    codes: NDArray[np.uint32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Without removed characters (0); each run of white space one newline or one space, none at a page's ends."""
    keep = codes != 0
    codes, offsets = codes[keep], np.concatenate(([0], np.cumsum(keep)))[offsets]
    newline = codes == _NEWLINE
    white = newline | (codes == _SPACE)
    follows = np.zeros(len(codes), dtype=np.bool_)
    follows[1:] = white[:-1]
    follows[offsets[:-1][offsets[:-1] < len(codes)]] = False
    starts = np.flatnonzero(white & ~follows)
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


_IN_PYTHON: Final = SimpleNamespace(
    flagged_runs=_flagged_runs, mapped_codes=_mapped_codes, collapsed=_collapsed
)
"""Steps over all characters of a batch, which the native core has too."""
