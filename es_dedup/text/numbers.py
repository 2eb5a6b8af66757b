"""Numbers inside clauses: what a clause reads like when its numbers are masked.

Two clauses that are equal after masking and different before are the mark of a serial report: the same sentence with
another day's figures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.characters import PLANE, table_of
from es_dedup.text.hashing import mix64
from es_dedup.text.ragged import gather_between, run_starts
from es_dedup.text.tokens import TokenBatch, clause_hashes_of, segment_hashes, word_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.text.normalise import TextBatch

NUMERALS: Final = "〇零一二三四五六七八九十百千万亿两"
UNITS: Final = "年月日时分秒号点个名例人元岁米度倍成期届次"
_MASK: Final = np.uint64(0x23)
_RUN_BASE: Final = 0x94D049BB133111EB
_COMMA: Final = 0x2C
_GROUP: Final = 3  # digits


def number_tokens(batch: TextBatch, tokens: TokenBatch) -> NDArray[np.bool_]:
    """True for tokens that are numbers: digit runs, runs of two or more Chinese numerals, a numeral before a unit."""
    first = np.minimum(batch.codes[tokens.starts], PLANE - 1)
    digit_word = ~tokens.single & _is_digit(first)
    at = np.flatnonzero(digit_word)
    places, owner = gather_between(tokens.starts[at], tokens.ends[at])
    digit_word[at] = np.logical_and.reduceat(_is_digit(batch.codes[places]), run_starts(owner))
    numeral = tokens.single & table_of(NUMERALS)[first]
    unit = tokens.single & table_of(UNITS)[first]
    figure = numeral | digit_word
    near_figure = np.zeros(len(tokens), dtype=np.bool_)
    joined = tokens.clause[1:] == tokens.clause[:-1]
    near_figure[:-1] |= joined & (figure[1:] | unit[1:])
    near_figure[1:] |= joined & figure[:-1]
    return digit_word | (numeral & near_figure)


def _is_digit(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether a character is a digit; 〇 makes a run, not a token of its own."""
    return np.asarray(((codes >= 0x30) & (codes <= 0x39)) | (codes == 0x3007))


def masked_clause_hashes(
    tokens: TokenBatch, numbers: NDArray[np.bool_]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """One hash per clause with each run of number tokens as one mask, and whether the clause holds a number.

    Both of shape (clauses,); the hash of a clause without numbers is 0.
    """
    mask = mix64(np.array([_MASK]))[0]
    masked = np.zeros(tokens.clause_count, dtype=np.uint64)
    numeric = np.zeros(tokens.clause_count, dtype=np.bool_)
    numeric[tokens.clause[numbers]] = True
    at = np.flatnonzero(numeric[tokens.clause])
    figure, clause = numbers[at], tokens.clause[at]
    keep = np.ones(len(at), dtype=np.bool_)
    keep[1:] = ~(figure[1:] & figure[:-1] & (clause[1:] == clause[:-1]))
    values = np.where(figure, mask, tokens.hashes[at])
    masked[numeric] = clause_hashes_of(values[keep], clause[keep])
    return masked, numeric


def number_runs(
    batch: TextBatch, tokens: TokenBatch, numbers: NDArray[np.bool_]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hash of each run of number tokens together with the token after it, and the run's page.

    The month and day of an agency's dateline are left out: a reprint carries its own. Thousands set apart by commas are
    one number: 488,636 is 488636.
    """
    joined, hashes = _thousands(batch, tokens, numbers)
    if joined.any():
        kept = ~joined
        columns = {
            name: getattr(tokens, name)[kept] for name in ("single", "starts", "ends", "pages", "clause")
        }
        tokens, numbers = replace(tokens, hashes=hashes[kept], **columns), numbers[kept]
    at = np.flatnonzero(numbers)
    if not len(at):
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    follows = (np.diff(at) == 1) & (np.diff(tokens.clause[at]) == 0)
    group = np.concatenate(([0], np.cumsum(~follows)))
    starts = run_starts(group)
    first, last = at[starts], at[np.append(starts[1:], len(at)) - 1]
    values = segment_hashes(tokens.hashes, first, last + 1, _RUN_BASE)
    after = np.minimum(last + 1, len(tokens) - 1)
    inside = (last + 1 < len(tokens)) & (tokens.clause[after] == tokens.clause[last])
    values = mix64(values + np.where(inside, tokens.hashes[after], np.uint64(0)))
    keep = ~_in_dateline(batch, tokens, first, after)
    return values[keep], tokens.pages[first[keep]].astype(np.int64)


def _thousands(
    batch: TextBatch, tokens: TokenBatch, numbers: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Tokens that are groups of three digits after a comma, and all hashes, with that of the whole number at its first token."""
    at = np.flatnonzero(numbers)
    at = at[~tokens.single[at]]
    sizes = tokens.ends[at] - tokens.starts[at]
    grouped = np.zeros(len(at), dtype=np.bool_)
    grouped[1:] = (sizes[1:] == _GROUP) & (sizes[:-1] <= _GROUP) & (np.diff(at) == 1)
    grouped[1:] &= (tokens.starts[at[1:]] == tokens.ends[at[:-1]] + 1) & (
        tokens.pages[at[1:]] == tokens.pages[at[:-1]]
    )
    grouped &= batch.codes[tokens.starts[at] - 1] == _COMMA
    joined = np.zeros(len(tokens), dtype=np.bool_)
    joined[at[grouped]] = True
    first = np.flatnonzero(grouped & ~np.roll(grouped, 1)) - 1
    if not len(first):
        return joined, tokens.hashes
    last = np.flatnonzero(grouped & ~np.append(grouped[1:], np.bool_(False)))  # noqa: FBT003
    spans = zip(tokens.starts[at[first]].tolist(), tokens.ends[at[last]].tolist(), strict=True)
    parts = [batch.codes[start:end] for start, end in spans]
    hashes = tokens.hashes.copy()
    hashes[at[first]] = word_hashes([part[part != _COMMA] for part in parts])
    return joined, hashes


def _in_dateline(
    batch: TextBatch, tokens: TokenBatch, first: NDArray[np.int64], after: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Runs that belong to a date directly before the mark of an agency's dateline."""
    last = len(tokens) - 1
    code = np.minimum(batch.codes[tokens.starts], PLANE - 1)
    mark = table_of("电讯")[code]
    page, beyond = tokens.pages[first], np.minimum(after + 1, last)
    is_day = (code[after] == ord("日")) & mark[beyond] & (tokens.pages[beyond] == page)
    result: NDArray[np.bool_] = is_day.copy()
    month = (code[after] == ord("月")) & (np.append(first[1:], 0) == after + 1)
    result[:-1] |= month[:-1] & is_day[1:] & (page[1:] == page[:-1])
    return result
