"""The comparators, also with what they learn from a corpus, keep the contract of the detectors' port."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content
from es_dedup.settings import Settings
from es_dedup.testing.detector_contract import DetectorContract, ordinary_contents
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


TAGS: Final = {
    "shingling": 48,
    "shingling_containment": 49,
    "supershingles": 50,
    "minhash": 51,
    "spotsigs": 52,
    "imatch": 53,
    "imatch_random": 54,
    "imatch_s": 55,
    "imatch_p": 56,
    "lsh_s": 57,
    "lsh_p": 58,
    "codet_like": 59,
    "feature_sentence": 60,
    "punctuation": 61,
}
"""Tag of the terms of each comparator."""
OF_CHARACTERS: Final = {"shingling", "shingling_containment", "supershingles", "minhash", "punctuation"}
"""Comparators that random characters are enough for; the others need real words."""
CHINESE_ONLY: Final = {"imatch_p", "lsh_p"}


class ComparatorContract(DetectorContract):
    """A comparator by its name."""

    @pytest.fixture
    def tags(self, name: str) -> frozenset[int]:
        return frozenset({TAGS[name]})

    @pytest.fixture
    def contents(self, name: str) -> list[Content]:
        if name in OF_CHARACTERS:
            return ordinary_contents()
        return [each for each in worded_contents() if name not in CHINESE_ONLY or each.language == "zh"]


@pytest.mark.parametrize("name", TAGS)
class TestComparators(ComparatorContract):
    """Each as the settings' defaults make it."""

    @pytest.fixture
    def detector(self, name: str) -> Detector[Any]:
        return create_detectors(Settings(detectors=(name,)))[name]


@pytest.mark.parametrize("name", ["spotsigs", "imatch", "imatch_s", "codet_like"])
class TestLearned(ComparatorContract):
    """Those that learn, with what they learn from the pages at hand."""

    @pytest.fixture
    def detector(self, name: str) -> Detector[Any]:
        plain = create_detectors(Settings(detectors=(name,)))[name]
        assert isinstance(plain, Learner)
        # every word is made rarer by pages that have none of them
        return plain.learned([*worded_contents(), *[Content("别的文字。")] * 200])
