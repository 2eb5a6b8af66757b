"""CoDet-like: nodes and similarity against the reference."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Relation, Skipped
from experiments.comparators.hashsets import HashBag
from experiments.comparators.words import hashes_of
from tests.experiments.comparator_cases import (
    close,
    detector,
    features,
    placed,
    worded_texts,
)
from tests.reference import imatch as slow

LOOSE: Final = {"codet__min_sentences": 1}


def sentences(text: str) -> list[set[str]]:
    """Words of each sentence."""
    found: dict[int, set[str]] = defaultdict(set)
    for word in placed(text):
        found[word.sentence].add(word.word)
    return list(found.values())


def rank(word: str, df: int = 0) -> tuple[int, int]:
    """Rarest first, then by hash."""
    return df, int(hashes_of([word])[0])


@settings(max_examples=150, deadline=None)
@given(st.lists(worded_texts, min_size=2, max_size=3), st.integers(2, 5))
def test_nodes_and_similarity_equal_the_reference(texts: list[str], depth: int) -> None:
    method = detector("codet_like", codet__depth=depth, **LOOSE)
    expected = [slow.paths(sentences(text), depth, rank) for text in texts]
    found = features(method, *texts)
    for one, ours in zip(found, expected, strict=True):
        assert isinstance(one, Skipped) == (not ours)
        if isinstance(one, HashBag):
            assert sorted(one.counts.tolist()) == sorted(map(len, slow.nodes(ours)))
        for other, theirs in zip(found, expected, strict=True):
            if ours and theirs:
                assert close(method.verify(one, other).score, slow.tree_similarity(ours, theirs))


def test_known_answer() -> None:
    # two sentences of two words each are four nodes with depths 1 + 2 + 1 + 2 = 6; one sentence shared is 3 of 6
    method = detector("codet_like")
    one, other, longer = features(
        method,
        "泵站检修。图书馆码头。",
        "泵站检修。雨季设备。",
        "泵站检修。图书馆码头。记者设备。工程师铁路。",
    )
    assert method.verify(one, other).score == 0.5
    verdict = method.verify(one, longer)
    assert (verdict.score, verdict.relation) == (1.0, Relation.DUPLICATE)
    contained = detector("codet_like", codet__min_ratio=0.6)
    assert contained.verify(one, longer).relation is Relation.CONTAINED
    assert contained.verify(longer, one).relation is Relation.CONTAINS


@settings(max_examples=100, deadline=None)
@given(worded_texts, worded_texts)
def test_accepted_pairs_are_always_candidates(left: str, right: str) -> None:
    method = detector("codet_like", codet__min_similarity=0.34, **LOOSE)
    one, other = features(method, left, right)
    if isinstance(one, Skipped) or isinstance(other, Skipped):
        return
    if method.verify(one, other).relation is not Relation.DIFFERENT:
        assert set(method.terms(one)) & set(method.terms(other))
