"""Known answers of the comparators: payloads, terms and scores of short texts, committed in tests/golden/comparators.json.

They hold on every machine and for every release in which a method's ``version`` stays the same. When a change of them is
wanted, raise that ``version``, then write the file anew with ``UPDATE_GOLDEN_COMPARATORS=1 pytest`` on this file.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from es_dedup.model import CandidateQuery, Content, Skipped
from experiments.settings import COMPARATORS
from tests.experiments.comparator_cases import detector
from tests.texts import EN, FULL_WIDTH, MIXED, TRADITIONAL, ZH

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
