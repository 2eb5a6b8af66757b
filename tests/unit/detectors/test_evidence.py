"""Verdicts follow from the measures of their evidence and the thresholds shown beside them."""

import random
from typing import Any, Final

import pytest

from es_dedup.detectors.ccdet import Ccdet
from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.coverage import Coverage
from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.detectors.port import Detector
from es_dedup.detectors.simhash import Simhash
from es_dedup.model import Content, Relation, Skipped, Verdict
from es_dedup.settings.sections import (
    CcdetConfig,
    CharFrequencyConfig,
    CoverageConfig,
    DwdcsConfig,
    SimhashConfig,
)
from es_dedup.views.evidence import measures
from tests.texts import article, topical

METHODS: Final[dict[str, list[Detector[Any]]]] = {
    "ccdet": [
        Ccdet(CcdetConfig(min_ccs=least, min_common=common)) for least in (0.3, 0.6) for common in (1, 3)
    ],
    "simhash": [Simhash(SimhashConfig(max_hamming_distance=most)) for most in (0, 3, 7)],
    "coverage": [
        Coverage(CoverageConfig(min_cover=least, min_both=both))
        for least in (0.3, 0.6)
        for both in (0.2, 0.8)
    ],
    "dwdcs": [Dwdcs(DwdcsConfig(min_similarity=least)) for least in (0.3, 0.9)],
    "char_frequency": [
        CharFrequency(CharFrequencyConfig(min_main=least, count_above=1, long_chars=long))
        for least in (0.3, 0.8)
        for long in (1, 10_000)
    ],
}


def accepted_by_evidence(verdict: Verdict) -> bool:
    """Whether the measures of a verdict reach their thresholds, by the rule of its method."""
    evidence: dict[str, Any] = dict(verdict.evidence)
    met = {each.name: each.met for each in measures(evidence)}
    match verdict.detector:
        case "ccdet":
            fewest = min(evidence["left_signatures"], evidence["right_signatures"])
            return bool(met["ccs"] and met["common"] and fewest >= evidence["min_features"])
        case "coverage":
            return bool(max(evidence["left_cover"], evidence["right_cover"]) >= evidence["min_cover"])
        case "char_frequency":
            sides = [
                evidence[f"main_{side}"] > evidence["min_main"]
                and ("min_aux" not in evidence or evidence[f"aux_{side}"] > evidence["min_aux"])
                for side in ("left", "right")
            ]
            return any(sides)
        case _:
            return all(value is not False for value in met.values())


@pytest.mark.parametrize("method", METHODS)
def test_a_verdict_follows_from_the_thresholds_that_it_shows(method: str) -> None:
    draw = random.Random(7)
    relations = set()
    for seed in range(16):
        text = (article if seed % 4 == 0 else topical)(seed, sentences=20)
        part = text[: draw.randrange(len(text) // 4, len(text))] + topical(99, sentences=draw.randrange(4))
        other = (text, topical(seed + 50, sentences=20), part, part, part)[seed % 5]
        for detector in METHODS[method]:
            left, right = detector.featurise_many([Content(text), Content(other)])
            if isinstance(left, Skipped) or isinstance(right, Skipped):
                continue
            verdict = detector.verify(left, right)
            relations.add(verdict.relation is not Relation.DIFFERENT)
            assert accepted_by_evidence(verdict) == (verdict.relation is not Relation.DIFFERENT), verdict
            if "min_both" in verdict.evidence and verdict.relation is not Relation.DIFFERENT:
                covers = [float(verdict.evidence[f"{side}_cover"] or 0) for side in ("left", "right")]
                assert (min(covers) >= float(verdict.evidence["min_both"] or 0)) == verdict.relation.same
    assert relations == {True, False}
