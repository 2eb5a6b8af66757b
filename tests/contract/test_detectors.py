"""The detectors keep the contract of their port."""

from __future__ import annotations

import pytest

from es_dedup.config import CcdetConfig, CoverageConfig, SimhashConfig
from es_dedup.detectors.ccdet import Ccdet
from es_dedup.detectors.coverage import Coverage
from es_dedup.detectors.simhash import Simhash
from es_dedup.model import Content
from es_dedup.testing.detector_contract import DetectorContract


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
        return Simhash(SimhashConfig(max_hamming_bits=3, features="grams"))

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
        return Simhash(SimhashConfig(max_hamming_bits=7, features="words"))


class TestCoverage(DetectorContract):
    @pytest.fixture
    def detector(self) -> Coverage:
        return Coverage(CoverageConfig())

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({8, 9})
