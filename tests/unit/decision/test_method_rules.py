"""One method alone in place of the decision rules: what it says is what a scan, a check and an explanation say."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
import pytest
from pydantic import ValidationError

from es_dedup import Deduplicator, Page, Relation, Settings
from es_dedup.decision.statistics import Statistics
from es_dedup.detectors.coverage import Coverage, CoverageFeatures
from es_dedup.detectors.coverage_pairs import measure
from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import ConfigError
from es_dedup.model import Content, Skipped, Verdict
from es_dedup.settings import load_settings
from es_dedup.settings.decision import DecisionConfig
from es_dedup.text.normalise import normalise
from tests.samples import some_pages

METHODS: Final = ("ccdet", "simhash", "coverage", "multi_simhash", "char_frequency", "dwdcs")
"""The methods of the package."""
PAGES: Final = some_pages()[:8]


def dense(page: Page) -> str:
    """The normalised text without white space."""
    return "".join(normalise(page.text or "").split())


def alone(name: str) -> Settings:
    """Settings under which this method decides, and no other runs."""
    return Settings(detectors=(name,), decision=DecisionConfig(method=name), workers=1)


def weighed(left: CoverageFeatures, right: CoverageFeatures, dedup: Deduplicator) -> Verdict:
    """What coverage says of a pair by what the corpus knows."""
    known = Statistics.from_bytes(dedup._index.load_statistics() or b"")
    row, ours, theirs = np.array([0]), left.table, right.table
    measures = measure(ours, row, theirs, row, known.weights(ours), known.weights(theirs))
    return Coverage(alone(Coverage.name).coverage).decide(measures, 0)


@pytest.mark.parametrize("name", METHODS)
def test_a_pair_is_what_the_method_says(name: str) -> None:
    settings = alone(name)
    detector = create_detectors(settings)[name]
    features = {page.id: detector.featurise(Content(page.text or "")) for page in PAGES}
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.add_many(PAGES)
        for left, right in combinations(PAGES, 2):
            pair = dedup.explain(left.id, right.id)
            ours, theirs = features[left.id], features[right.id]
            if pair.relation is Relation.EXACT:
                assert dense(left) == dense(right)
                assert pair.reason == "texts are equal"
            elif isinstance(ours, Skipped) or isinstance(theirs, Skipped):
                assert pair.relation is Relation.DIFFERENT
            else:
                if isinstance(ours, CoverageFeatures) and isinstance(theirs, CoverageFeatures):
                    verdict = weighed(ours, theirs, dedup)
                else:
                    verdict = detector.verify(ours, theirs)
                assert (pair.relation, pair.score) == (verdict.relation, round(verdict.score, 4))
                said = "rejected" if verdict.relation is Relation.DIFFERENT else "accepted"
                assert pair.reason == f"{said} by {name}"
            assert pair.decided_by == pair.reversed.decided_by == name
            assert "rules" not in {verdict.detector for verdict in pair.all_verdicts}


@pytest.mark.parametrize("name", METHODS)
def test_scan_and_check_go_by_it(name: str) -> None:
    with Deduplicator.open(":memory:", settings=alone(name)) as dedup:
        dedup.scan(PAGES)
        for cluster in dedup.clusters(min_size=2):
            for member in cluster.members:
                if member.page_id != cluster.canonical:
                    pair = dedup.explain(cluster.canonical, member.page_id)
                    assert pair.relation is member.relation
                    assert pair.relation.same
        for page in PAGES:
            for pair in dedup.check(Page("asked", text=page.text)).verdicts:
                assert pair.relation is not Relation.DIFFERENT
                accepted = "texts are equal" if pair.relation is Relation.EXACT else f"accepted by {name}"
                assert pair.reason == accepted


def test_it_must_be_enabled() -> None:
    with pytest.raises(
        ConfigError, match=r"decision\.method: must be one of rules, ccdet, simhash, coverage"
    ):
        load_settings(overrides={"decision.method": "multi_simhash"})
    with pytest.raises(ValidationError, match=r"decision\.method"):
        Settings(decision=DecisionConfig(method="nobody"))
