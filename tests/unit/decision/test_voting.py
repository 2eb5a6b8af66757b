"""One published method in place of the rules, and several that vote; the preset that lets them do so."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
import pytest
from pydantic import ValidationError

from es_dedup import Deduplicator, Page, Relation, Settings
from es_dedup.decision.candidate_search import term_groups
from es_dedup.decision.statistics import Statistics
from es_dedup.decision.voting import decided_by, outcome, reason, voters_of
from es_dedup.detectors.coverage import Coverage
from es_dedup.detectors.coverage_pairs import measure
from es_dedup.detectors.features import featurise
from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import ConfigError
from es_dedup.model import Content, Skipped, Verdict
from es_dedup.settings.decision import DecisionConfig
from es_dedup.settings.loading import describe, load_settings
from es_dedup.settings.presets import PAPERS, PRESETS, VOTES
from es_dedup.settings.recorded import decision_settings, with_recorded
from es_dedup.text.normalise import normalise
from tests.samples import some_pages
from tests.texts import ZH

SAME: Final = Verdict("ccdet", Relation.CONTAINED, 0.9, {})
ALIKE: Final = Verdict("simhash", Relation.DUPLICATE, 0.97, {})
OTHER: Final = Verdict("dwdcs", Relation.DIFFERENT, 0.3, {})
ELSE: Final = Verdict("coverage", Relation.DIFFERENT, 0.1, {})


@pytest.mark.parametrize(
    ("rule", "votes", "expected"),
    [
        ("any", (OTHER, SAME, ELSE), SAME),
        ("any", (OTHER, ELSE), OTHER),
        ("any", (None, ALIKE), ALIKE),
        ("majority", (SAME, OTHER, ALIKE), SAME),
        ("majority", (SAME, OTHER), OTHER),
        ("majority", (SAME, OTHER, None), OTHER),
        ("majority", (SAME, None, None), SAME),
        ("majority", (SAME, OTHER, ELSE), OTHER),
        ("all", (ALIKE, SAME), ALIKE),
        ("all", (ALIKE, SAME, OTHER), OTHER),
        ("all", (ALIKE, None), ALIKE),
        ("ordered", (None, OTHER, SAME), OTHER),
        ("ordered", (SAME, OTHER), SAME),
        ("ccdet", (SAME,), SAME),
        *((rule, (None, None), None) for rule in VOTES),
    ],
)
def test_votes_become_one_verdict(
    rule: str, votes: Sequence[Verdict | None], expected: Verdict | None
) -> None:
    assert outcome(rule, votes) is expected


def voting(method: str, *voters: str, detectors: Sequence[str] = ("ccdet", "simhash", "dwdcs")) -> Settings:
    """Settings under which these methods vote."""
    decision = DecisionConfig(method=method, voters=voters)
    return Settings(detectors=tuple(detectors), decision=decision, workers=1)


def test_who_votes_and_how_it_is_said() -> None:
    assert voters_of(Settings()) == ()
    assert voters_of(voting("simhash")) == ("simhash",)
    assert voters_of(voting("all")) == ("ccdet", "simhash", "dwdcs")
    chosen = voting("majority", "dwdcs", "ccdet")
    assert voters_of(chosen) == ("dwdcs", "ccdet")
    assert decided_by(chosen) == "majority: dwdcs, ccdet"
    assert decided_by(voting("simhash")) == "simhash"
    said = reason(voting("any"), Relation.CONTAINED, (SAME, OTHER))
    assert said == "accepted by any: ccdet accepts, dwdcs rejects, simhash cannot compare"
    assert reason(voting("any"), Relation.EXACT, ()) == "texts are equal"
    assert reason(voting("simhash"), Relation.DIFFERENT, (ALIKE,)) == "rejected by simhash"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {"decision.voters": ["dwdcs"]},
            r"decision\.voters: must be of ccdet, simhash, coverage, got 'dwdcs'",
        ),
        ({"decision.method": "any", "decision.voters": ["ccdet", "ccdet"]}, "names 'ccdet' more than once"),
        (
            {"decision.method": "most"},
            r"decision\.method: must be one of rules, .*, any, majority, all, ordered",
        ),
    ],
)
def test_voters_must_be_enabled(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_settings(overrides=values, environ={})


def test_the_preset_fills_in_what_is_not_given() -> None:
    chosen = load_settings(overrides={"decision.preset": PAPERS, "decision.method": "all"}, environ={})
    assert chosen.detectors == ("ccdet", "simhash", "dwdcs")
    assert chosen.extraction.extractor == "topic"
    assert chosen.decision.method == "all"
    for same in (
        Settings.model_validate({"decision": {"preset": PAPERS, "method": "all"}}),
        Settings(decision=DecisionConfig(preset=PAPERS, method="all")),
    ):
        assert same.model_dump() == chosen.model_dump()
    lines = {line.key: line.origin for line in describe(chosen)}
    assert {lines[key] for key in PRESETS[PAPERS] if key != "decision.method"} == {"preset papers"}
    assert lines["decision.method"] == "argument"
    assert lines["ccdet.min_ccs"] == "default"
    assert Settings(decision=DecisionConfig(preset="strict")).detectors == Settings().detectors


def test_recorded_values_stay_as_they_are() -> None:
    """What an index records of the preset is all of its values, so a later change of the preset changes no index."""
    chosen = Settings(decision=DecisionConfig(preset=PAPERS, method="majority", voters=("simhash", "ccdet")))
    adopted = with_recorded(
        Settings(detectors=chosen.detectors), {**decision_settings(chosen), "detectors": [*chosen.detectors]}
    )
    assert adopted.decision == chosen.decision
    assert adopted.simhash == chosen.simhash


@pytest.mark.parametrize(("method", "least"), [("rules", 2), ("any", 1), ("ccdet", 2), ("simhash", 1)])
def test_one_equal_band_is_enough_where_simhash_decides(method: str, least: int) -> None:
    settings = voting(method, detectors=("ccdet", "simhash"))
    table = featurise(["".join(ZH)], [""], settings)
    ((*_, bands),) = term_groups(table, settings)
    assert len(bands.terms) == 4
    assert bands.min_shared == least


METHODS: Final = ("ccdet", "simhash", "coverage", "multi_simhash", "char_frequency", "dwdcs")
"""The methods of the package."""
PAGES: Final = some_pages()[:8]


def dense(page: Page) -> str:
    """The normalised text without white space."""
    return "".join(normalise(page.text or "").split())


def alone(name: str) -> Settings:
    """Settings under which this method decides, and no other runs."""
    return Settings(detectors=(name,), decision=DecisionConfig(method=name), workers=1)


def vote_of(detector: Any, left: Any, right: Any, dedup: Deduplicator) -> Verdict | None:
    """What a method says of the features of a pair; coverage goes by what the corpus knows."""
    if isinstance(left, Skipped) or isinstance(right, Skipped):
        return None
    if not isinstance(detector, Coverage):
        verdict: Verdict = detector.verify(left, right)
        return verdict
    known = Statistics.from_bytes(dedup._index.load_statistics() or b"")
    row = np.array([0])
    return detector.decide(measure(left, row, right, row, known.weights(left), known.weights(right)), 0)


@pytest.mark.parametrize("method", [*METHODS, *VOTES])
def test_a_pair_is_what_the_method_or_its_voters_say(method: str) -> None:
    settings = alone(method) if method in METHODS else voting(method, "simhash", "dwdcs", "ccdet")
    detectors, voters, relations = create_detectors(settings), voters_of(settings), set()
    features = {
        page.id: {name: detectors[name].featurise(Content(page.text or "")) for name in voters}
        for page in PAGES
    }
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.add_many(PAGES)
        for left, right in combinations(PAGES, 2):
            pair = dedup.explain(left.id, right.id)
            assert pair.decided_by == pair.reversed.decided_by == decided_by(settings)
            assert "rules" not in {verdict.detector for verdict in pair.all_verdicts}
            if pair.relation is Relation.EXACT:
                assert dense(left) == dense(right)
                assert pair.reason == "texts are equal"
                continue
            votes = [
                vote_of(detectors[name], features[left.id][name], features[right.id][name], dedup)
                for name in voters
            ]
            wanted = outcome(method, votes)
            assert pair.relation is (wanted.relation if wanted else Relation.DIFFERENT)
            assert pair.score == (round(wanted.score, 4) if wanted else 0.0)
            said = f"{'rejected' if pair.relation is Relation.DIFFERENT else 'accepted'} by {method}"
            assert pair.reason == said or method in VOTES or wanted is None
            assert pair.reason.startswith(said) or wanted is None
            relations.add(pair.relation)
    assert Relation.DIFFERENT in relations


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
