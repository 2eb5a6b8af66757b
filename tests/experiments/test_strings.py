"""CoDet-like nodes, common subsequence, feature sentences and punctuation strings, against the reference."""

from collections import defaultdict
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.model import Content, Relation, Skipped
from es_dedup.text.normalise import normalise
from experiments.comparators.hashsets import HashBag
from experiments.comparators.punctuation import MARKS
from experiments.comparators.spots import STOP_WORDS
from experiments.comparators.strings import MOST_CHARS, Text
from experiments.comparators.subsequence import common_subsequence
from experiments.comparators.words import hashes_of
from tests.experiments.comparator_cases import close, detector, features, pieces, placed, worded_texts, words
from tests.reference import imatch as slow_trees
from tests.reference import sentences as slow
from tests.texts import page_texts

WEIGHTS: Final = (0.4, 0.2, 0.3, 0.1)


@settings(max_examples=300)
@given(st.text("甲乙丙ab", max_size=40), st.text("甲乙丙ab", max_size=40))
def test_the_common_subsequence_equals_the_reference(left: str, right: str) -> None:
    assert common_subsequence(left, right) == slow.common_subsequence(left, right)


def sentence(text: str, title: str = "", min_chars: int = 8) -> str | None:
    """The feature sentence by the reference, as much of it as is kept."""
    found = slow.feature_sentence(pieces(text), words(title), STOP_WORDS, WEIGHTS, min_chars)
    return found and found[:MOST_CHARS]


@settings(max_examples=200)
@given(st.lists(st.tuples(worded_texts, worded_texts), min_size=1, max_size=3), st.sampled_from([2, 8]))
def test_feature_sentences_equal_the_reference(pages: list[tuple[str, str]], min_chars: int) -> None:
    method = detector("feature_sentence", feature_sentence__min_chars=min_chars)
    found: list[Any] = method.featurise_many([Content(text, title=title) for text, title in pages])
    expected = [sentence(text, title, min_chars) for text, title in pages]
    assert [each.text if isinstance(each, Text) else None for each in found] == expected


@settings(max_examples=200)
@given(st.lists(st.one_of(page_texts, worded_texts), max_size=3), st.integers(0, 3), st.integers(1, 3))
def test_punctuation_strings_equal_the_reference(texts: list[str], before: int, after: int) -> None:
    method = detector(
        "punctuation", punctuation__before=before, punctuation__after=after, punctuation__min_marks=1
    )
    expected = [slow.punctuation_string(normalise(text), MARKS, before, after)[:MOST_CHARS] for text in texts]
    assert [each.text if isinstance(each, Text) else "" for each in features(method, *texts)] == expected


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


@settings(max_examples=150)
@given(st.lists(worded_texts, min_size=2, max_size=3), st.integers(2, 5))
def test_nodes_and_similarity_equal_the_reference(texts: list[str], depth: int) -> None:
    method = detector("codet_like", codet__depth=depth, **LOOSE)
    expected = [slow_trees.paths(sentences(text), depth, rank) for text in texts]
    found = features(method, *texts)
    for one, ours in zip(found, expected, strict=True):
        assert isinstance(one, Skipped) == (not ours)
        if isinstance(one, HashBag):
            assert sorted(one.counts.tolist()) == sorted(map(len, slow_trees.nodes(ours)))
        for other, theirs in zip(found, expected, strict=True):
            if ours and theirs:
                assert close(method.verify(one, other).score, slow_trees.tree_similarity(ours, theirs))


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
