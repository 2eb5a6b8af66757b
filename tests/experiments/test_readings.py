"""Other readings of the described systems: against the slow reference, and where they differ from the package's."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.detectors.ccdet import Ccdet, PeriodTable
from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.char_frequency_features import FrequentUnits
from es_dedup.detectors.dwdcs import Dwdcs, cosine
from es_dedup.detectors.dwdcs_network import KeyConcepts
from es_dedup.detectors.multi_simhash import SPEECH
from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content, Relation, Skipped
from es_dedup.settings import Settings
from es_dedup.settings.sections import CcdetConfig, CharFrequencyConfig, DwdcsConfig, MultiSimhashConfig
from es_dedup.testing.detector_contract import DetectorContract
from es_dedup.text.idf import general
from es_dedup.text.normalise import normalise_many
from es_dedup.text.synonyms import of_groups
from es_dedup.text.words import WordBatch, content_words
from experiments.readings.ccdet import CcdetKeptCounts, noise_by_idf
from experiments.readings.char_frequency import CharFrequencyAuxAlone
from experiments.readings.dwdcs import (
    DwdcsContribution,
    DwdcsPhrases,
    DwdcsTfidf,
    WeightedConcepts,
    printed_spread,
)
from experiments.readings.multi_simhash import IDF_STEPS, MultiSimhashEach, MultiSimhashTfidf
from tests.reference import ccdet as slow_ccdet
from tests.reference import dwdcs as slow_dwdcs
from tests.reference import multi_simhash as slow_multi
from tests.samples import truths
from tests.texts import page_texts, topical
from tests.twins import RELATIONS

SYNONYMS: Final = of_groups(
    [("检修", "维修", "修理"), ("设备", "装置", "器材"), ("城市", "都市"), ("表示", "指出", "称")]
)
TAGS: Final = {
    "ccdet_idf": 1,
    "ccdet_kept_counts": 1,
    "char_frequency_aux_alone": 33,
    "char_frequency_both_long": 33,
    "dwdcs_phrases": 34,
    "dwswn": 35,
    "multi_simhash_each": 32,
    "multi_simhash_tfidf": 32,
}
"""Tags of terms by method. Left out: ``dwdcs_printed``, whose verdict depends on which page is left, and weights that are no
whole numbers, by which a page has a cosine of 1 with itself but for rounding."""


@pytest.mark.parametrize("name", TAGS)
class TestContract(DetectorContract):
    """Each reading keeps the contract of the detectors' port."""

    @pytest.fixture
    def detector(self, name: str) -> Any:
        return create_detectors(Settings(detectors=(name,)))[name]

    @pytest.fixture
    def tags(self, name: str) -> frozenset[int]:
        return frozenset({TAGS[name]})

    @pytest.fixture
    def contents(self) -> list[Content]:
        texts = [topical(seed, sentences=count) for seed, count in ((1, 40), (2, 60), (3, 90))]
        return [
            Content(each) for text in texts for each in (text, text[: 2 * len(text) // 3], f"{text}又及。")
        ]


SIGNATURES: Final = st.lists(
    st.frozensets(st.sampled_from("甲乙丙丁戊己"), min_size=1), min_size=2, max_size=6
)


@settings(max_examples=100)
@given(SIGNATURES, st.floats(0.01, 3.0), st.integers(1, 3))
def test_noise_by_idf_and_kept_counts_equal_the_reference(
    pages: list[frozenset[str]], min_idf: float, min_pages: int
) -> None:
    numbers = {name: 7 + 13 * at for at, name in enumerate(sorted(set().union(*pages)))}
    rows = [sorted(numbers[name] for name in page) for page in pages]
    table = PeriodTable.whole(
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([each for row in rows for each in row], dtype=np.uint64),
    )
    named = {str(at): page for at, page in enumerate(pages)}
    lists = slow_ccdet.posting_lists(named)
    dropped = frozenset(
        each for each in slow_ccdet.pruned_by_idf(named, min_idf) if len(lists[each]) >= min_pages
    )
    noise = noise_by_idf(table, min_idf, min_pages=min_pages)
    assert noise.tolist() == sorted(numbers[name] for name in dropped)
    config = CcdetConfig(min_features=1, min_common=1)
    limits = slow_ccdet.Limits(min_features=1, min_common=1)
    for kind, recount in ((Ccdet, True), (CcdetKeptCounts, False)):
        detector = kind(config, noise)
        for left in range(len(pages)):
            for right in range(len(pages)):
                found = detector.verify(table.row(left), table.row(right))
                wanted = slow_ccdet.decide_pages(
                    pages[left], pages[right], dropped, recount=recount, limits=limits
                )
                assert (found.relation, found.score) == (RELATIONS[wanted.relation], wanted.ccs)


def test_followers_decide_alone_where_the_steps_of_the_source_say_so() -> None:
    one, other = (
        FrequentUnits(
            900,
            np.arange(first, first + 10, dtype=np.uint32),
            np.arange(11, dtype=np.int64),
            np.full(10, 7, dtype=np.uint32),
        )
        for first in (60, 65)
    )
    config = CharFrequencyConfig()
    found = [kind(config).verify(one, other) for kind in (CharFrequency, CharFrequencyAuxAlone)]
    assert [each.relation for each in found] == [Relation.DIFFERENT, Relation.DUPLICATE]
    assert [each.score for each in found] == [0.5, 1.0]


@settings(max_examples=30)
@given(st.lists(page_texts, max_size=4), st.integers(5, 15), st.integers(6, 14))
def test_both_readings_of_multi_simhash_equal_the_reference(
    texts: list[str], keywords: int, context: int
) -> None:
    config, idf = MultiSimhashConfig(keywords=keywords, context=context), general()
    words = content_words(normalise_many(texts))
    hashes = dict(zip(words.vocabulary, words.hashes.tolist(), strict=True))
    speech = {word: SPEECH[at] for word, at in zip(words.vocabulary, words.speech.tolist(), strict=True)}

    def rarity(word: str) -> float:
        return float(idf.of([word])[0])

    for kind in (MultiSimhashTfidf, MultiSimhashEach):
        for page, features in enumerate(kind(config, SYNONYMS).of_words(words)):
            own = words.words(page)
            chosen = slow_multi.keywords(slow_multi.word_weights(own, rarity, speech.__getitem__), keywords)
            near = slow_multi.windows(own, chosen, context, each=kind is MultiSimhashEach)
            text, around = slow_multi.fingerprints(
                own,
                near,
                hashes.__getitem__,
                SYNONYMS.code,
                lambda word: max(1, round(IDF_STEPS * rarity(word))) if kind is MultiSimhashTfidf else 1,  # noqa: B023
            )
            if isinstance(features, Skipped):
                assert text is None
            else:
                assert (features.text, features.keywords) == (text, around or 0)


def expected(words: WordBatch, page: int, config: DwdcsConfig, least: int) -> list[tuple[list[int], float]]:
    """Positions and contribution of a page's key concepts by the reference, in order; ``least`` 0: no phrases."""
    own: list[tuple[str, ...]] = [(word,) for word in words.words(page)]
    sentences = words.sentence[words.offsets[page] : words.offsets[page + 1]].tolist()
    if least:
        own, sentences = slow_dwdcs.with_phrases(words.words(page), sentences, least)

    def concept(phrase: tuple[str, ...]) -> frozenset[str]:
        return frozenset().union(*(SYNONYMS.concept(word) for word in phrase))

    group = slow_dwdcs.merged(
        own, concept, config.min_overlap, lambda phrase: phrase if phrase[1:] else SYNONYMS.code(phrase[0])
    )
    names = [group[word] for word in own]
    nodes, graph = slow_dwdcs.network(names, sentences, config.window, config.min_occurrences)
    if len(nodes) < config.min_concepts:
        return []
    return [
        (
            [at for at, other in enumerate(names) if other == nodes[node]],
            max(0.0, slow_dwdcs.contribution(graph, node)),
        )
        for node in slow_dwdcs.key_nodes(graph, config.hubs, config.key_concepts)
    ]


def positions(page: KeyConcepts) -> list[list[int]]:
    """Positions of each key concept."""
    return [part.tolist() for part in np.split(page.positions, page.offsets[1:-1])]


def check_concepts(texts: list[str], config: DwdcsConfig) -> int:
    words, compared = content_words(normalise_many(texts)), 0
    for kind, least in ((DwdcsPhrases, 2), (DwdcsContribution, 0)):
        for page, features in enumerate(kind(config, SYNONYMS).of_words(words)):
            wanted = expected(words, page, config, least)
            if isinstance(features, Skipped):
                assert wanted == []
                continue
            compared += 1
            assert positions(features) == [places for places, _ in wanted]
            if isinstance(features, WeightedConcepts):
                gained = [gain for _, gain in wanted]
                assert features.vector.tolist() == pytest.approx(gained, rel=1e-6, abs=1e-9)
    return compared


@settings(max_examples=30)
@given(st.lists(page_texts, max_size=4), st.integers(1, 4), st.integers(1, 2))
def test_phrases_and_contributions_equal_the_reference(
    texts: list[str], window: int, occurrences: int
) -> None:
    config = DwdcsConfig(window=window, min_occurrences=occurrences, min_concepts=3)
    check_concepts([text * 2 for text in texts], config)


@pytest.mark.parametrize("kind", [DwdcsTfidf, DwdcsContribution])
def test_weights_decide_on_the_cosine_and_are_stored(kind: type[Dwdcs]) -> None:
    detector = kind(DwdcsConfig(min_concepts=4), SYNONYMS)
    made = detector.featurise_many([Content(truth.text) for truth in truths()[:40]])
    found = [each for each in made if isinstance(each, WeightedConcepts)]
    assert len(found) > 10
    for each in found:
        assert detector.unpack(detector.pack(each)) == each
        assert each != replace(each, weights=each.weights + 1)
        if kind is DwdcsTfidf:
            assert each.vector.tolist() == pytest.approx(
                (np.diff(each.offsets) * general().of(each.words)).tolist(), rel=1e-6
            )
    for one in found:
        for other in found:
            vectors = [
                dict(zip(each.concepts.tolist(), each.vector.tolist(), strict=True)) for each in (one, other)
            ]
            assert cosine(one, other) == pytest.approx(slow_dwdcs.weighted_cosine(*vectors), abs=1e-9)
            if detector.verify(one, other).relation is Relation.DUPLICATE:
                group = detector.candidate_query(one).groups[0]
                assert len(set(group.terms) & set(detector.terms(other))) >= group.min_shared
    for bad in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="damaged"):
            detector.unpack(detector.pack(replace(found[0], weights=np.full_like(found[0].weights, bad))))


def page(places: dict[int, list[int]]) -> KeyConcepts:
    """Features with these positions by concept."""
    counts = np.cumsum([0, *(len(each) for each in places.values())])
    flat = np.array([at for each in places.values() for at in each], dtype=np.int64)
    names = tuple(f"w{each}" for each in places)
    return KeyConcepts(1000, len(places), np.array(list(places), dtype=np.uint64), names, counts, flat)


PLACES: Final = st.dictionaries(
    st.integers(0, 8),
    st.lists(st.integers(0, 999), min_size=1, max_size=6, unique=True).map(sorted),
    min_size=1,
)


@settings(max_examples=100)
@given(PLACES, PLACES)
def test_the_printed_spread_equals_the_reference(
    left: dict[int, list[int]], right: dict[int, list[int]]
) -> None:
    wanted = slow_dwdcs.spread(left, right, signed=False)
    assert printed_spread(page(left), page(right)) == (None if wanted is None else pytest.approx(wanted))
