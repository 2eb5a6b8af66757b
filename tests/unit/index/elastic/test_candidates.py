"""Which pages that searches do not see yet answer a candidate query."""

from __future__ import annotations

import numpy as np
import pytest

from es_dedup.index.elastic.candidates import _Asked
from es_dedup.index.elastic.read_your_writes_pages import WrittenBatch, postings_of
from es_dedup.index.term_weights import weights_of
from es_dedup.model import Candidate, CandidateQuery, TermGroup

FIRST, SECOND, THIRD = 1, 2, 3


@pytest.mark.parametrize("counted", [False, True])
def test_a_page_answers_by_terms_that_only_it_carries(counted: bool) -> None:
    query = CandidateQuery((TermGroup((FIRST, SECOND, THIRD), 2),), limit=5)
    batch = WrittenBatch(
        0, ["new"], np.array([FIRST, SECOND], np.uint64), np.array([0, 0]), np.array([0], np.uint64)
    )
    values = {term: ("terms", str(term)) for term in (FIRST, SECOND, THIRD)}
    postings = postings_of([batch], [FIRST, SECOND, THIRD])
    asked = _Asked([query], [weights_of(query)], {FIRST: 1}, values, postings, counted=counted)
    assert asked.bodies == [None]
    (answer,) = asked.answers([])
    assert answer.candidates == (Candidate("new", 1.0),)
