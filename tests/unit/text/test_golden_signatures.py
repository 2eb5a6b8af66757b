"""Known answers: hashes, fingerprints, terms and payloads of short texts, committed in tests/golden/signatures.json.

They hold on every machine and for every release of one ``SIGNATURE_VERSION``: stored features of one version must go
on comparing with new ones. When a change of them is wanted, raise ``SIGNATURE_VERSION`` in es_dedup/text/hashing.py,
then write the file anew with ``UPDATE_GOLDEN_SIGNATURES=1 pytest tests/unit/text/test_golden_signatures.py`` and say so
in the changelog. Writing is refused while the file holds other answers under the same version.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from es_dedup.detectors.features import featurise, pack, stored_terms, unpack
from es_dedup.settings import Settings
from es_dedup.settings.sections import SimhashConfig
from es_dedup.text.hashing import SIGNATURE_SEED, SIGNATURE_VERSION, hash64
from es_dedup.text.normalise import normalise, normalise_many
from es_dedup.text.tokens import clause_hashes, gram_hashes, tokenise
from tests.texts import EN, FULL_WIDTH, MIXED, TRADITIONAL, ZH

pytestmark = pytest.mark.usefixtures("both_paths")

FILE: Final = Path(__file__).parents[2] / "golden" / "signatures.json"
UPDATE: Final = "UPDATE_GOLDEN_SIGNATURES"
ADVICE: Final = (
    "stored features would no longer compare with new ones: undo the change, or raise SIGNATURE_VERSION and run "
    f"{UPDATE}=1 pytest tests/unit/text/test_golden_signatures.py"
)
CASES: Final = {
    "zh": ("城南泵站完成检修 - 某某网", "".join(ZH)),
    "zh-short": ("", "价格上涨了。"),
    "zh-one-token": ("", "甲"),
    "en": ("Quay reopens after repairs", " ".join(EN)),
    "en-short": ("", "Page not found"),
    "mixed": ("苹果iPhone 17", MIXED[0]),
    "accents": ("", MIXED[1]),
    "scripts": ("", "".join(MIXED[2:])),
    "traditional": ("颱風過後圖書館重新開放", "".join(TRADITIONAL)),
    "full-width": ("ＡＢＣ公司", "".join(FULL_WIDTH)),
    "numbers": ("", "二〇二六年3月5日电，共12.5亿元，三十五人。新社3月5日电 一旦开工"),
    "repeated": ("泵站", "泵站昨日完成检修，雨季前可全部投用。" * 30),
    "empty": ("", ""),
    "no-words": ("标题", "。！？ …"),
}


def hexadecimal(values: Any) -> list[str]:
    """Numbers in order, as text that reads the same in every JSON reader."""
    return [f"{value:x}" for value in values.tolist()]


def answers(title: str, text: str) -> dict[str, Any]:
    """All that must never change of one text."""
    settings = Settings()
    words = Settings(simhash=SimhashConfig(max_hamming_distance=3, features="words"))
    tokens = tokenise(normalise_many([text]))
    table = featurise([text], [title], settings)
    return {
        "title": title,
        "text": text,
        "normalised": normalise(text),
        "hash": f"{hash64(text):x}",
        "content_hash": hexadecimal(table.hashes)[0],
        "tokens": hexadecimal(tokens.hashes[:8]),
        "clauses": hexadecimal(clause_hashes(tokens)[:8]),
        "grams": hexadecimal(gram_hashes(tokens)[0][:8]),
        "periods": hexadecimal(table.periods.signatures),
        "simhash_grams": hexadecimal(table.fingerprints)[0],
        "simhash_words": hexadecimal(featurise([text], [title], words).fingerprints)[0],
        "terms": sorted(hexadecimal(stored_terms(table, settings)[0])),
        "payload": pack(table)[0].hex(),
    }


def write() -> None:
    """Write the file anew; only for a version that it does not hold, or a file that is not there."""
    cases = {name: answers(*case) for name, case in CASES.items()}
    if FILE.exists():
        known = json.loads(FILE.read_text(encoding="utf-8"))
        same = all(cases.get(name) == case for name, case in known["cases"].items())
        assert same or known["signature_version"] < SIGNATURE_VERSION, "raise SIGNATURE_VERSION first"
    golden = {"signature_version": SIGNATURE_VERSION, "seed": f"{SIGNATURE_SEED:x}", "cases": cases}
    FILE.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    """The committed answers."""
    if os.environ.get(UPDATE):
        write()
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def test_the_answers_are_those_of_this_signature_version(golden: dict[str, Any]) -> None:
    assert golden["signature_version"] == SIGNATURE_VERSION, ADVICE
    assert int(golden["seed"], 16) == SIGNATURE_SEED, ADVICE
    assert golden["cases"].keys() == CASES.keys()


def test_every_known_answer_is_given_again(golden: dict[str, Any]) -> None:
    for name, case in CASES.items():
        expected, found = golden["cases"][name], answers(*case)
        changed = [key for key in found if found[key] != expected.get(key)]
        assert (name, changed) == (name, []), ADVICE
        assert found.keys() == expected.keys()
        payload = bytes.fromhex(expected["payload"])
        assert pack(unpack([payload])) == [payload]
