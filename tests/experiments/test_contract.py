"""The comparators keep the contract of the detectors' port."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content
from es_dedup.settings import Settings
from es_dedup.testing.detector_contract import DetectorContract
from experiments.methods import Learner

if TYPE_CHECKING:
    from es_dedup.detectors.port import Detector


SEED: Final = 20261121
FUNCTION_ZH: Final = "的 了 是 在 和 与 也 就 都".split()
FUNCTION_EN: Final = "the a is are was had can will".split()
NOUNS_ZH: Final = (
    "泵站 检修 雨季 设备 记者 现场 会议 代表 新规 图书馆 读者 桥梁 港口 轮船 工程师 价格 市场 医院 学校 老师 农民 水稻 "
    "森林 河流 铁路 火车 机场 航班 乘客 司机 公路 隧道 电力 煤炭 石油 天然气 仓库 商店 顾客 银行 贷款 利率 股票 基金"
).split()
NOUNS_EN: Final = (
    "harbour quay repair ferry engine council budget ticket price dollar bridge river forest railway airport flight driver "
    "tunnel power coal station warehouse customer bank loan rate share fund school teacher farmer hospital doctor patient"
).split()


def worded_contents() -> list[Content]:
    """Pages of random sentences of real words, neighbours near-copies of each other; always the same."""
    rng = random.Random(SEED)

    def sentence(language: str) -> str:
        function, nouns = (FUNCTION_ZH, NOUNS_ZH) if language == "zh" else (FUNCTION_EN, NOUNS_EN)
        words = [
            word for _ in range(7) for word in (rng.choice(nouns), rng.choice(function), rng.choice(nouns))
        ]
        if language == "en":
            return " ".join(words) + ". "
        return "".join(words[:10]) + "，" + "".join(words[10:]) + f"{rng.randrange(100)}年。"

    contents = []
    for language, count in (("zh", 8), ("zh", 30), ("en", 30), ("zh", 120)):
        sentences = [sentence(language) for _ in range(count)]
        parts = (sentences, sentences[: max(5, count // 2)], [*sentences[1:], sentence(language)])
        contents += [Content("".join(part), title=part[0][:16], language=language) for part in parts]
    return contents


class Comparator(DetectorContract):
    """A comparator by its name, as the settings' defaults make it."""

    name = ""
    tag = 0

    @pytest.fixture
    def detector(self) -> Detector[Any]:
        return create_detectors(Settings(detectors=(self.name,)))[self.name]

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({self.tag})


class Worded(Comparator):
    """A comparator that needs real words."""

    @pytest.fixture
    def contents(self) -> list[Content]:
        return worded_contents()


class Learned(Worded):
    """The same with what it learns from the pages at hand."""

    @pytest.fixture
    def detector(self) -> Detector[Any]:
        plain = create_detectors(Settings(detectors=(self.name,)))[self.name]
        assert isinstance(plain, Learner)
        # every word is made rarer by pages that have none of them
        return plain.learned([*worded_contents(), *[Content("别的文字。")] * 200])


class TestShingling(Comparator):
    name, tag = "shingling", 48


class TestShinglingContainment(Comparator):
    name, tag = "shingling_containment", 49


class TestSupershingles(Comparator):
    name, tag = "supershingles", 50


class TestMinhash(Comparator):
    name, tag = "minhash", 51


class TestSpotsigs(Worded):
    name, tag = "spotsigs", 52


class TestSpotsigsLearned(Learned):
    name, tag = "spotsigs", 52


class TestImatch(Worded):
    name, tag = "imatch", 53


class TestImatchLearned(Learned):
    name, tag = "imatch", 53


class TestImatchRandom(Worded):
    name, tag = "imatch_random", 54


class TestImatchSpots(Worded):
    name, tag = "imatch_s", 55


class TestImatchSpotsLearned(Learned):
    name, tag = "imatch_s", 55


class TestImatchPeriods(Comparator):
    name, tag = "imatch_p", 56

    @pytest.fixture
    def contents(self) -> list[Content]:
        return [each for each in worded_contents() if each.language == "zh"]


class TestLshSpots(Worded):
    name, tag = "lsh_s", 57


class TestLshPeriods(Comparator):
    name, tag = "lsh_p", 58

    @pytest.fixture
    def contents(self) -> list[Content]:
        return [each for each in worded_contents() if each.language == "zh"]


class TestCodetLike(Worded):
    name, tag = "codet_like", 59


class TestCodetLikeLearned(Learned):
    name, tag = "codet_like", 59


class TestFeatureSentence(Worded):
    name, tag = "feature_sentence", 60


class TestPunctuation(Comparator):
    name, tag = "punctuation", 61
