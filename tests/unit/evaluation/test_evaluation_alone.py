"""Methods by themselves on labelled pairs: verdicts, measures, thresholds and candidates of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.errors import ConfigError
from es_dedup.evaluation import Label, LabelledPair
from es_dedup.evaluation.alone import with_methods
from es_dedup.evaluation.runner import Measured, Threshold, measure
from es_dedup.model import Content, Page
from es_dedup.settings import Settings
from tests.texts import topical

TEXTS = {
    "a": topical(1),
    "b": topical(1) + "又及。",
    "c": topical(2),
    "d": "短。",
}
LABELS = tuple(
    LabelledPair(left, right, label)
    for left, right, label in (
        ("a", "b", Label.DUP),
        ("a", "c", Label.DIFF),
        ("c", "d", Label.DIFF),
        ("a", "z", Label.DUP),
    )
)


def measured_by(*names: str, settings: Settings | None = None) -> Measured:
    settings = settings or Settings()
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.scan([Page(name, text=text) for name, text in TEXTS.items()])
        return with_methods(measure(dedup, LABELS), dedup, LABELS, names, settings)


def test_a_method_that_is_not_stored_judges_by_itself() -> None:
    found = measured_by("dwdcs", "char_frequency")
    assert set(found.decisions["dwdcs"]) == {("a", "b"), ("a", "c")}
    one, other = Dwdcs(Settings().dwdcs).featurise_many([Content(TEXTS["a"]), Content(TEXTS["b"])])
    verdict = Dwdcs(Settings().dwdcs).verify(one, other)  # type: ignore[arg-type]
    assert found.decisions["dwdcs"]["a", "b"].relation is verdict.relation
    assert found.measures["a", "b"]["dwdcs.score"] == verdict.score
    assert found.thresholds["dwdcs.similarity"] == Threshold("min_similarity", 0.9, at_least=True)
    assert found.thresholds["dwdcs.position_variance"] == Threshold(
        "max_position_variance", 0.05, at_least=False
    )
    assert found.candidates["dwdcs"] == {("a", "b")}
    assert set(found.decisions["char_frequency"]) == {("a", "b"), ("a", "c")}


def test_methods_of_the_index_stay_as_they_are() -> None:
    plain, more = measured_by(), measured_by("ccdet", "dwdcs")
    assert more.decisions["ccdet"] == plain.decisions["ccdet"]
    assert replace(plain, decisions={}, candidates={}, measures={}, thresholds={}) == replace(
        more, decisions={}, candidates={}, measures={}, thresholds={}
    )
    assert "ccdet" not in more.candidates


def test_an_index_without_texts_is_refused() -> None:
    settings = Settings.model_validate({"index": {"keep_text": False}})
    assert "ccdet" in measured_by("ccdet", settings=settings).decisions
    with pytest.raises(ConfigError, match="dwdcs run on the texts"):
        measured_by("dwdcs", settings=settings)


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean dwdcs"):
        measured_by("dwcds")
