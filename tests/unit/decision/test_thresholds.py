"""Thresholds of the decision rules: those of presets, and single ones that are set."""

from dataclasses import asdict, fields, replace
from typing import Final

import pytest

from es_dedup.decision.thresholds import BALANCED, LOOSE, PRESETS, Thresholds, thresholds_of
from es_dedup.settings.decision import DecisionConfig, ThresholdsConfig

KNOTS: Final = {"amounts", "untitled_amounts"}


def test_each_threshold_is_a_setting() -> None:
    assert set(ThresholdsConfig.model_fields) == {each.name for each in fields(Thresholds)} - KNOTS - {
        "without"
    }
    assert (len(BALANCED.needed_cover), len(BALANCED.untitled_cover)) == (3, 2)


@pytest.mark.parametrize("preset", PRESETS)
def test_values_of_presets_can_be_set_and_change_nothing(preset: str) -> None:
    values = {
        name: value
        for name, value in asdict(PRESETS[preset]).items()
        if name in ThresholdsConfig.model_fields
    }
    decision = DecisionConfig.model_validate({"preset": preset, "thresholds": values})
    assert (
        thresholds_of(decision)
        == PRESETS[preset]
        == thresholds_of(DecisionConfig.model_validate({"preset": preset}))
    )


def test_what_is_set_goes_before_the_preset() -> None:
    given = {"preset": "loose", "thresholds": {"about_title": 0, "untitled_cover": [0.7, 0.5]}}
    expected = replace(LOOSE, about_title=0, untitled_cover=(0.7, 0.5))
    assert thresholds_of(DecisionConfig.model_validate(given)) == expected
