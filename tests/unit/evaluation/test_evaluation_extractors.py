"""Agreement of main texts with gold text."""

from __future__ import annotations

import pytest

from es_dedup.evaluation.extractors import agreement


def test_agreement_counts_grams_as_often_as_they_stand() -> None:
    assert agreement("abcdef", "abc def") == 1
    assert agreement("abcdefabcdef", "abcdef") == pytest.approx(2 * 2 / (8 + 2))
    assert agreement("abcdefgh", "abcdexyz") == pytest.approx(2 * 1 / 8)
    assert agreement("abc", "") == agreement("", "abc") == 0
    assert agreement("", "") == 1
