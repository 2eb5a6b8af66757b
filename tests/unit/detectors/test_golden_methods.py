"""Known answers of the methods of the sources; they are kept in tests/golden/source_methods.json.

They hold on every machine for every release of one version of a method. When a change is wanted, raise the method's
``version``, then write the file anew with ``UPDATE_GOLDEN_METHODS=1 pytest tests/unit/detectors/test_golden_methods.py`` and
say so in the changelog. Writing is refused while the file holds other answers under the same version.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.detectors.multi_simhash import MultiSimhash
from es_dedup.detectors.port import Detector
from es_dedup.model import Content, Skipped
from es_dedup.settings.sections import CharFrequencyConfig, DwdcsConfig, MultiSimhashConfig, SimhashConfig
from es_dedup.text.synonyms import of_groups
from experiments.readings.dwdcs import Dwswn
from experiments.readings.multi_simhash import MultiSimhashTfidf
from experiments.simhash_layouts import LAYOUTS, LayoutSimhash
from tests.texts import EN, MIXED, TRADITIONAL, ZH, topical

FILE: Final = Path(__file__).parents[2] / "golden" / "source_methods.json"
UPDATE: Final = "UPDATE_GOLDEN_METHODS"
ADVICE: Final = (
    f"undo the change, or raise the method's version and run {UPDATE}=1 pytest {Path(__file__).name}"
)
CASES: Final = {
    "zh": "".join(ZH),
    "zh-long": "".join(ZH) * 6,
    "traditional": "".join(TRADITIONAL) * 6,
    "en": " ".join(EN) * 5,
    "mixed": "".join(MIXED) * 5,
    "topical": topical(7, sentences=30),
    "copy": topical(7, sentences=30) + "又及。",
    "one-word": "泵站",
    "empty": "",
}
SYNONYMS: Final = of_groups([("检修", "维修"), ("设备", "装置"), ("budget", "plan")])
METHODS: Final[dict[str, Detector[Any]]] = {
    "multi_simhash": MultiSimhash(MultiSimhashConfig(), SYNONYMS),
    "multi_simhash tfidf": MultiSimhashTfidf(MultiSimhashConfig()),
    "char_frequency": CharFrequency(CharFrequencyConfig()),
    "dwdcs": Dwdcs(DwdcsConfig(), SYNONYMS),
    "dwswn": Dwswn(DwdcsConfig(min_occurrences=1)),
    "simhash words-tfidf": LayoutSimhash(SimhashConfig(features="words-tfidf"), LAYOUTS["5c2"]),
}


def answers(method: str) -> dict[str, Any]:
    """All that must never change of one method: payloads, terms, candidate queries, and one verdict."""
    detector = METHODS[method]
    found = dict(zip(CASES, detector.featurise_many([Content(text) for text in CASES.values()]), strict=True))
    cases: dict[str, Any] = {}
    for name, features in found.items():
        if isinstance(features, Skipped):
            cases[name] = {"skipped": features.reason}
            continue
        candidate_query = detector.candidate_query(features)
        cases[name] = {
            "payload": detector.pack(features).hex(),
            "terms": [f"{term:x}" for term in detector.terms(features)[:8]],
            "candidate_query": [
                [len(group.terms), group.min_shared]
                for group in (candidate_query.groups if candidate_query else ())
            ],
        }
    verdict = detector.verify(found["topical"], found["copy"])
    return {
        "version": detector.version,
        "cases": cases,
        "verdict": {"relation": str(verdict.relation), **verdict.evidence},
    }


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    """The committed answers."""
    if os.environ.get(UPDATE):
        new = {method: answers(method) for method in METHODS}
        known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
        for method, each in known.items():
            raised = method in new and each["version"] < new[method]["version"]
            assert each == new.get(method) or raised, f"raise the version of {method} first"
        FILE.write_text(json.dumps(new, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def test_every_method_has_its_answers(golden: dict[str, Any]) -> None:
    assert golden.keys() == METHODS.keys()


@pytest.mark.parametrize("method", METHODS)
def test_every_known_answer_is_given_again(golden: dict[str, Any], method: str) -> None:
    found, expected = answers(method), golden[method]
    assert found["version"] == expected["version"], ADVICE
    assert [name for name in CASES if found["cases"][name] != expected["cases"].get(name)] == [], ADVICE
    assert found["verdict"] == expected["verdict"], ADVICE

    detector = METHODS[method]
    for case in expected["cases"].values():
        if "payload" in case:
            payload = bytes.fromhex(case["payload"])
            assert detector.pack(detector.unpack(payload)) == payload


def test_one_answer_worked_by_hand() -> None:
    """大 occurs five times, 年 four: codes by row and cell, followers in text order, head of 15 bytes."""
    method = CharFrequency(CharFrequencyConfig(min_characters=1))
    features = method.featurise(Content("大年大年大年大年大"))
    assert not isinstance(features, Skipped)
    # 大 is row 20, cell 83: 4 * 94 + 82; 年 is row 36, cell 74: 20 * 94 + 73
    assert features.units.tolist() == [458, 1953]
    head = "01" + "00" + "09000000" + "0200" + "08000000"
    rest = "ca01a107" + "04000000" * 2 + "a107" * 4 + "ca01" * 4
    assert method.pack(features).hex() == head + rest
