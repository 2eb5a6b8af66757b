"""What sharing a term counts: how much of an answer to a candidate query each of its terms is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.model import CandidateQuery, TermGroup

ENOUGH: Final = 2_520
"""A page that has so much answers: divisible by 1 to 10, so that sums stay whole numbers, on every kind of index alike."""


def weights_of(candidate_query: CandidateQuery) -> dict[int, int]:
    """For each distinct term of a candidate query its part of ``ENOUGH``, rounded up; of several groups the one where it counts most."""
    weights: dict[int, int] = {}
    for group in _groups(candidate_query):
        weights |= dict.fromkeys(group.terms, -(-ENOUGH // max(1, group.min_shared)))
    return weights


def common_of(candidate_query: CandidateQuery) -> dict[int, int]:
    """For terms that count half where they are common, in more pages than how many they are."""
    common: dict[int, int | None] = {}
    for group in _groups(candidate_query):
        common |= dict.fromkeys(group.terms, group.common_df)
    return {term: most for term, most in common.items() if most is not None}


def limits_of(candidate_query: CandidateQuery) -> dict[int, int]:
    """For terms with a limit of their own, in how many pages they may be found; for all others ``CandidateQuery.max_df`` holds."""
    limits: dict[int, int | None] = {}
    if any(group.max_df is not None for group in candidate_query.groups):
        for group in _groups(candidate_query):
            limits |= dict.fromkeys(group.terms, group.max_df)
    return {term: most for term, most in limits.items() if most is not None}


def _groups(candidate_query: CandidateQuery) -> list[TermGroup]:
    """Where a term weighs most comes last; of groups where it weighs the same, the last that was given."""
    return sorted(candidate_query.groups, key=lambda group: -max(1, group.min_shared))


def by_frequency(
    weights: Mapping[int, int], common: Mapping[int, int], counts: Mapping[int, int]
) -> dict[int, int]:
    """Weights with those of common terms halved.

    Args:
        weights, common: of one candidate query, see ``weights_of`` and ``common_of``.
        counts: number of pages that carry each term; absent: none.
    """
    halved = {term: weights[term] // 2 for term, most in common.items() if counts.get(term, 0) > most}
    return {**weights, **halved}
