"""Multi-SimHash: weights, windows, codes and the rule, against the slow reference."""

import itertools
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from es_dedup.detectors.fingerprint import hamming_distance
from es_dedup.detectors.multi_simhash import SPEECH, MultiSimhash, TwoFingerprints, windows_around
from es_dedup.errors import ConfigError
from es_dedup.model import Content, Relation, Skipped
from es_dedup.settings.sections import MultiSimhashConfig
from es_dedup.text.idf import Idf, general
from es_dedup.text.normalise import normalise_many
from es_dedup.text.synonyms import NONE, Synonyms, of_groups
from es_dedup.text.words import WordBatch, content_words
from tests.reference import multi_simhash as slow
from tests.samples import truths
from tests.texts import EN, ZH, page_texts

CONFIG: Final = MultiSimhashConfig()
SYNONYMS: Final = of_groups([("检修", "维修", "修理"), ("设备", "装置"), ("repair", "mending")])


def expected(words: WordBatch, page: int, config: MultiSimhashConfig, synonyms: Synonyms, idf: Idf) -> Any:
    """Both fingerprints of a page by the reference."""
    own = words.words(page)
    facts = {
        word: (value, SPEECH[speech])
        for word, value, speech in zip(
            words.vocabulary, words.hashes.tolist(), words.speech.tolist(), strict=True
        )
    }

    def rarity(word: str) -> float:
        return float(idf.of([word])[0])

    weights = slow.word_weights(own, rarity, lambda word: facts[word][1])
    near = slow.windows(own, slow.keywords(weights, config.keywords), config.context)

    text, keywords = slow.fingerprints(own, near, lambda word: facts[word][0], synonyms.code, lambda _: 1)
    return None if text is None else TwoFingerprints(text, keywords or 0)


def check(texts: list[str], config: MultiSimhashConfig, synonyms: Synonyms = NONE) -> None:
    words = content_words(normalise_many(texts))
    found = MultiSimhash(config, synonyms).of_words(words)
    for page, features in enumerate(found):
        wanted = expected(words, page, config, synonyms, general())
        assert (None if isinstance(features, Skipped) else features) == wanted


@settings(max_examples=40)
@given(st.lists(page_texts, max_size=4), st.integers(5, 15), st.integers(6, 14))
def test_random_pages_equal_the_reference(texts: list[str], keywords: int, context: int) -> None:
    check(texts, MultiSimhashConfig(keywords=keywords, context=context), SYNONYMS)


def test_real_pages_equal_the_reference() -> None:
    check([truth.text for truth in truths()[:15]], CONFIG, SYNONYMS)


def test_windows_end_with_the_page() -> None:
    words = content_words(normalise_many(["甲 乙 丙 丁 戊 己 庚 辛 壬", "子 丑 寅"]))
    keyword = np.zeros(len(words.ids), dtype=np.bool_)
    keyword[[1, 10]] = True
    assert windows_around(words, keyword, 6).tolist() == [1] * 8 + [0] + [1] * 3
    keyword[4] = True
    assert windows_around(words, keyword, 6).tolist() == [2] * 8 + [1] * 4


@pytest.mark.parametrize(("near", "wide"), [(1, 5), (2, 6), (3, 7)])
def test_the_rule_equals_the_reference_at_every_pair_of_distances(near: int, wide: int) -> None:
    detector = MultiSimhash(MultiSimhashConfig(max_bits=near, max_text_bits=wide))
    for text, keywords in itertools.product(range(12), repeat=2):
        verdict = detector.verify(
            TwoFingerprints(0, 0), TwoFingerprints((1 << text) - 1, (1 << keywords) - 1)
        )
        wanted = slow.duplicate(text, keywords, near, wide)
        assert (verdict.relation is Relation.DUPLICATE) == wanted
        assert verdict.score == 1 - text / 64


VALUES: Final = st.integers(0, (1 << 64) - 1)


@settings(max_examples=300)
@given(VALUES, VALUES, st.sets(st.integers(0, 63), max_size=7), st.sets(st.integers(0, 63), max_size=7))
def test_every_accepted_pair_shares_a_queried_term(
    text: int, keywords: int, first: set[int], second: set[int]
) -> None:
    detector = MultiSimhash(MultiSimhashConfig(max_bits=3, max_text_bits=7))
    one = TwoFingerprints(text, keywords)
    other = TwoFingerprints(text ^ sum(1 << bit for bit in first), keywords ^ sum(1 << bit for bit in second))
    if detector.verify(one, other).relation is Relation.DUPLICATE:
        assert not set(detector.candidate_query(one).groups[0].terms).isdisjoint(detector.terms(other))


def test_synonyms_leave_the_keywords_alike_and_not_the_text() -> None:
    plain = "".join(ZH) + "检修" * 3
    other = plain.replace("检修", "维修")
    without, coded = (MultiSimhash(CONFIG, each) for each in (NONE, SYNONYMS))
    distances = []
    for detector in (without, coded):
        one, two = detector.featurise_many([Content(plain), Content(other)])
        assert isinstance(one, TwoFingerprints)
        assert isinstance(two, TwoFingerprints)
        distances.append((hamming_distance(one.text, two.text), hamming_distance(one.keywords, two.keywords)))
    assert distances[0][0] == distances[1][0] > 0
    assert distances[1][1] < distances[0][1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keywords": 4}, "greater than or equal to 5"),
        ({"keywords": 16}, "less than or equal to 15"),
        ({"context": 5}, "greater than or equal to 6"),
        ({"context": 15}, "less than or equal to 14"),
        ({"max_bits": 0}, "greater than or equal to 1"),
        ({"max_bits": 4}, "less than or equal to 3"),
        ({"max_text_bits": 4}, "greater than or equal to 5"),
        ({"max_text_bits": 8}, "less than or equal to 7"),
    ],
)
def test_values_outside_the_ranges_of_the_source_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MultiSimhashConfig.model_validate(changes)


def test_english_pages_have_both_fingerprints() -> None:
    one, copy = MultiSimhash(CONFIG).featurise_many(
        [Content(" ".join(EN) * 5), Content(" ".join(EN) * 5 + " Repairs ended.")]
    )
    assert isinstance(one, TwoFingerprints)
    assert isinstance(copy, TwoFingerprints)
    assert hamming_distance(one.text, copy.text) <= 6


def test_bytes_of_another_version_are_refused() -> None:
    detector = MultiSimhash(CONFIG)
    payload = detector.pack(TwoFingerprints(1, 2))
    assert len(payload) == 17
    with pytest.raises(ValueError, match="version 1"):
        detector.unpack(b"\x02" + payload[1:])


def test_a_file_of_idf_that_is_gone_is_named_by_its_setting() -> None:
    method = MultiSimhash(MultiSimhashConfig(idf="/nowhere/words.idf"), NONE)
    with pytest.raises(ConfigError, match=r"multi_simhash\.idf: .*words\.idf cannot be read"):
        method.featurise_many([Content("泵站检修完成，居民恢复正常用水。" * 5)])
