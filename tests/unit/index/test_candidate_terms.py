"""What queries share with pages is what a plain count of each page's terms gives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.index.candidate_terms import ENOUGH, QueryTerms, TermPostings, shared_terms
from es_dedup.model import CandidateQuery, TermGroup

TERMS = st.integers(0, 12)
GROUPS = st.builds(
    TermGroup,
    st.lists(TERMS, max_size=6).map(tuple),
    st.integers(0, 11),
    st.none() | st.integers(0, 4),
    st.none() | st.integers(0, 4),
)
QUERIES = st.lists(
    st.builds(CandidateQuery, st.lists(GROUPS, max_size=3).map(tuple), max_df=st.integers(0, 5)), max_size=4
)


def rules_of(query: CandidateQuery) -> dict[int, TermGroup]:
    """For each term of a query the group where it weighs most; of equal ones the last."""
    rules: dict[int, TermGroup] = {}
    for group in query.groups:
        for term in group.terms:
            if term not in rules or max(1, group.min_shared) <= max(1, rules[term].min_shared):
                rules[term] = group
    return rules


@given(QUERIES, st.lists(st.frozensets(TERMS), max_size=6))
def test_pages_answer_as_a_plain_count_says(
    queries: list[CandidateQuery], stored: list[frozenset[int]]
) -> None:
    terms = QueryTerms.of(queries)
    carried = [(term, at) for at, page in enumerate(stored) for term in page]
    known = [(np.searchsorted(terms.distinct, term), at) for term, at in carried if term in terms.distinct]
    places, pages = np.array(known, dtype=np.int64).reshape(-1, 2).T
    postings = TermPostings.of(len(terms.distinct), places, pages)
    weights, left_out = terms.weighed(postings.counts)
    rows, found, sums = shared_terms(terms.rows, terms.places, weights, postings)
    expected = {}
    for row, query in enumerate(queries):
        own, capped = {}, set()
        for term, group in rules_of(query).items():
            count = sum(term in page for page in stored)
            weight = -(-ENOUGH // max(1, group.min_shared))
            common = group.common_df is not None and count > group.common_df
            if count > (query.max_df if group.max_df is None else group.max_df):
                capped.add(term)
            else:
                own[term] = weight // 2 if common else weight
        assert terms.capped(row, left_out) == capped
        for at, page in enumerate(stored):
            if (weight := sum(own.get(term, 0) for term in page)) >= ENOUGH:
                expected[row, at] = weight
    assert dict(zip(zip(rows.tolist(), found.tolist(), strict=True), sums.tolist(), strict=True)) == expected
