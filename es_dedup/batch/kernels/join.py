"""Kernel of ``batch.join``: how many terms each pair of pages shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_dedup.kernels.dispatch import kernel

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Ints, UInts64


@kernel
def shared_terms(
    query: Ints, starts: Ints, counts: Ints, owners: Ints, rows: int, facts: UInts64, least: int
) -> tuple[Ints, Ints, Ints]:
    """Pairs with a term in common.

    Args:
        query: row that queries a known term, ascending; one element per term queried.
        starts, counts: which slice of ``owners`` answers.
        owners: rows of the postings.
        rows: number of all rows.
        facts: see ``TermJoin``; no rows: all pairs are wanted.
        least: terms in common that are enough in any case, see ``sampled_needed``.

    Returns:
        Query row, matching row (another one) and terms in common; each pair once, by query row, in no other order.
    """
    shared = np.zeros(rows, dtype=np.int64)
    met = np.empty(rows, dtype=np.int64)
    size = counts.sum()
    left, right = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    common = np.empty(size, dtype=np.int64)
    done = at = 0
    while at < len(query):
        row, many = query[at], 0
        while at < len(query) and query[at] == row:
            for place in range(starts[at], starts[at] + counts[at]):
                other = owners[place]
                if shared[other] == 0:
                    met[many] = other
                    many += 1
                shared[other] += 1
            at += 1
        for place in range(many):
            other = met[place]
            enough = (
                len(facts) == 0 or shared[other] >= least or facts[other, 1] > facts[row, 0]
            )  # as ``sampled_needed``
            if other != row and enough:
                left[done], right[done], common[done] = row, other, shared[other]
                done += 1
            shared[other] = 0
    return left[:done].copy(), right[:done].copy(), common[:done].copy()
