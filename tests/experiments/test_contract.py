"""The comparators: the contract of the detectors' port, known answers, ranges of settings."""

import hashlib
import json
import os
import random
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

from es_dedup.detectors.port import Detector
from es_dedup.detectors.registry import create_detectors
from es_dedup.model import CandidateQuery, Content, Skipped
from es_dedup.settings import Settings
from es_dedup.settings.sections import Section
from es_dedup.testing.detector_contract import DetectorContract, ordinary_contents
from experiments.methods import Learner
from experiments.settings import COMPARATORS, ExperimentSettings, settings_of
from tests.experiments.comparator_cases import detector
from tests.texts import EN, FULL_WIDTH, MIXED, TRADITIONAL, ZH

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


FILE: Final = Path(__file__).parents[1] / "golden" / "comparators.json"
UPDATE: Final = "UPDATE_GOLDEN_COMPARATORS"
TEXTS: Final = {
    "zh": "".join(ZH) * 2 + "城南的泵站在雨季前就都完成了检修，和去年的设备是一样的。",
    "zh-edited": "".join(ZH[1:]) * 2 + "城南的泵站在汛期前就都完成了检修，和去年的设备是一样的。",
    "en": " ".join(EN),
    "mixed": "".join(MIXED) + "".join(FULL_WIDTH),
    "traditional": "".join(TRADITIONAL) + "雨季的泵站在颱風後就都完成了檢修。",
    "short": "价格上涨了。",
    "empty": "",
}


def _plan(candidate_query: CandidateQuery | None) -> list[list[int]]:
    """Terms and needed terms of each group of a candidate query."""
    return (
        [[len(group.terms), group.min_shared] for group in candidate_query.groups] if candidate_query else []
    )


def answers(name: str) -> dict[str, Any]:
    """What must never change of one method: version, and of each text the payload's digest, size, and first terms."""
    method = detector(name)
    made = method.featurise_many([Content(text, title=text[:12]) for text in TEXTS.values()])
    found: dict[str, Any] = {"version": method.version}
    for case, each in zip(TEXTS, made, strict=True):
        if isinstance(each, Skipped):
            found[case] = each.reason
            continue
        payload = method.pack(each)
        found[case] = {
            "bytes": len(payload),
            "sha256": hashlib.sha256(payload).hexdigest()[:32],
            "terms": [f"{term:x}" for term in sorted(method.terms(each))[:4]],
            "candidate_query": _plan(method.candidate_query(each)),
            "score": round(method.verify(each, made[0]).score, 6),
        }
    return found


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    """The committed answers."""
    if os.environ.get(UPDATE):
        write()
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def write() -> None:
    """Write the file anew; refused for a method whose answers changed while its version did not."""
    new = {name: answers(name) for name in COMPARATORS}
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name, each in new.items():
        old = known.get(name, {"version": 0})
        assert each == old or each["version"] > old["version"], f"raise the version of {name} first"
    FILE.write_text(json.dumps(new, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def test_every_comparator_has_known_answers(golden: dict[str, Any]) -> None:
    assert sorted(golden) == list(COMPARATORS)
    assert all(golden[name].keys() == {"version", *TEXTS} for name in COMPARATORS)


@pytest.mark.parametrize("name", COMPARATORS)
def test_every_known_answer_is_given_again(golden: dict[str, Any], name: str) -> None:
    assert answers(name) == golden[name]


SECTIONS: Final[dict[str, type[Section]]] = {
    name: field.annotation
    for name, field in ExperimentSettings.model_fields.items()
    if isinstance(field.annotation, type)
    and issubclass(field.annotation, Section)
    and field.annotation.detector is not None
    and field.annotation.serves(COMPARATORS)
}


def beyond() -> list[tuple[str, float]]:
    """Each bound of each setting, and a value just beyond it."""
    found = []
    for section, kind in SECTIONS.items():
        for name, field in kind.model_fields.items():
            step = 1 if field.annotation is int else 1e-6
            for rule in field.metadata:
                for bound, out in (("ge", -step), ("le", step), ("gt", 0), ("lt", 0)):
                    if hasattr(rule, bound):
                        found.append((f"{section}.{name}", getattr(rule, bound) + out))
    return found


def test_a_value_beyond_its_range_is_refused() -> None:
    for key, value in beyond():
        with pytest.raises(ValidationError, match=key):
            settings_of({key: value})


def test_every_comparator_has_a_section_and_every_number_has_a_range() -> None:
    served: set[str] = set()
    for kind in SECTIONS.values():
        served |= {kind.detector} if isinstance(kind.detector, str) else set(kind.detector or ())
        for name, field in kind.model_fields.items():
            bounds = {
                bound for rule in field.metadata for bound in ("ge", "gt", "le", "lt") if hasattr(rule, bound)
            }
            assert field.annotation not in (int, float) or len(bounds) == 2, name
    assert served == set(COMPARATORS)
    assert len(beyond()) > 50
