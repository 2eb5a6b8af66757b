"""The detectors keep the contract of their port."""

import pytest

from es_dedup.detectors.ccdet import Ccdet
from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.coverage import Coverage
from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.detectors.multi_simhash import MultiSimhash
from es_dedup.detectors.simhash import Simhash
from es_dedup.model import Content
from es_dedup.settings.sections import (
    CcdetConfig,
    CharFrequencyConfig,
    CoverageConfig,
    DwdcsConfig,
    MultiSimhashConfig,
    SimhashConfig,
)
from es_dedup.testing.detector_contract import DetectorContract
from es_dedup.text.synonyms import of_groups
from tests.texts import topical


def topical_contents() -> list[Content]:
    """Pages whose words repeat, as those of articles do; each with a cut and a lengthened copy."""
    contents = []
    for seed, sentences in ((1, 60), (2, 90), (3, 140)):
        whole = topical(seed, sentences=sentences)
        pieces = whole.split("。")
        cut = "。".join(pieces[: len(pieces) * 2 // 3]) + "。"
        contents += [Content(text) for text in (whole, cut, whole + "又及。")]
    return contents


class TestCcdet(DetectorContract):
    @pytest.fixture
    def detector(self) -> Ccdet:
        return Ccdet(CcdetConfig())

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({1})

    @pytest.fixture
    def poor(self) -> list[Content]:
        return [
            Content(""),
            Content("没有句号"),
            Content("甲。乙。"),
            Content("甲。甲。甲。"),
            Content("English only."),
        ]


class TestSimhashOfGrams(DetectorContract):
    @pytest.fixture
    def detector(self) -> Simhash:
        return Simhash(SimhashConfig(max_hamming_distance=3, features="grams"))

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({2, 3, 4, 5})

    def test_pages_of_one_word_are_told_apart(self, detector: Simhash) -> None:
        found = detector.featurise_many([Content("甲"), Content("乙"), Content("page"), Content("乙")])
        assert len(set(map(str, found))) == 3
        assert found[1] == found[3]


class TestSimhashOfWords(TestSimhashOfGrams):
    @pytest.fixture
    def detector(self) -> Simhash:
        return Simhash(SimhashConfig(max_hamming_distance=7, features="words"))


class TestCoverage(DetectorContract):
    @pytest.fixture
    def detector(self) -> Coverage:
        return Coverage(CoverageConfig())

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({8, 9})


class TestMultiSimhash(DetectorContract):
    @pytest.fixture
    def detector(self) -> MultiSimhash:
        return MultiSimhash(MultiSimhashConfig())

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({32})


class TestMultiSimhashWithSynonyms(TestMultiSimhash):
    @pytest.fixture
    def detector(self) -> MultiSimhash:
        config = MultiSimhashConfig(max_bits=3, max_text_bits=7)
        return MultiSimhash(config, of_groups([("检修", "维修"), ("泵站", "水站")]))


class TestCharFrequency(DetectorContract):
    @pytest.fixture
    def detector(self) -> CharFrequency:
        return CharFrequency(CharFrequencyConfig())

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({33})

    @pytest.fixture
    def contents(self) -> list[Content]:
        return topical_contents()


class TestDwdcs(DetectorContract):
    @pytest.fixture
    def detector(self) -> Dwdcs:
        return Dwdcs(DwdcsConfig(), of_groups([("检修", "维修"), ("泵站", "水站")]))

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({34})

    @pytest.fixture
    def contents(self) -> list[Content]:
        return topical_contents()


class TestDwdcsByLeadingConcepts(TestDwdcs):
    @pytest.fixture
    def detector(self) -> Dwdcs:
        return Dwdcs(DwdcsConfig(query="leading"))
