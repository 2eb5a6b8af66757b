"""What an index records of settings: which shape features, which shape decisions, and how others differ."""

import pickle
from typing import Any, Final

import pytest

from es_dedup.errors import ConfigError, Difference, SettingsDiffer, SettingsMismatch
from es_dedup.settings.loading import Settings, describe, load_settings
from es_dedup.settings.recorded import (
    clustered_with,
    decision_differences,
    decision_settings,
    decisions_in,
    differences,
    feature_settings,
    with_recorded,
)

VERSIONS: Final = {"ccdet": 1, "simhash": 1, "coverage": 1}
BASE: Final = feature_settings(Settings(), 1, VERSIONS)


def chosen(**changed: Any) -> Settings:
    """Settings with these values, by key with two underscores for the dot."""
    return load_settings(
        overrides={key.replace("__", "."): value for key, value in changed.items()}, environ={}
    )


def features(settings: Settings) -> dict[str, Any]:
    """Feature settings with known versions."""
    return feature_settings(settings, 1, dict.fromkeys(settings.detectors, 1))


def test_methods_that_are_only_stored_count_with_their_settings_and_versions() -> None:
    versions = {**VERSIONS, "dwdcs": 2}
    found = feature_settings(Settings(), 1, versions, ["dwdcs"])
    added = {name: value for name, value in found.items() if BASE.get(name) != value}
    assert added["elastic.also_stored"] == ["dwdcs"]
    assert added["version of dwdcs"] == versions["dwdcs"]
    assert "dwdcs.window" in added
    enabled = chosen(detectors=["dwdcs", "ccdet", "simhash", "coverage"])
    assert "elastic.also_stored" not in feature_settings(enabled, 1, versions, ["dwdcs"]), "it is enabled"
    assert with_recorded(chosen(elastic__also_stored=[]), found).elastic.also_stored == ("dwdcs",)


@pytest.mark.parametrize(
    "changed",
    [
        {"index__limit": 7},
        {"workers": 2},
        {"ccdet__min_ccs": 0.9},
        {"decision__preset": "strict"},
        {"detectors": ["coverage", "simhash", "ccdet"]},
        {"multi_simhash__keywords": 9},
    ],
)
def test_what_does_not_shape_features_is_not_among_them(changed: dict[str, Any]) -> None:
    assert features(chosen(**changed)) == BASE


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"ccdet__window": 8}, ["ccdet.window"]),
        ({"ccdet__min_features": 4}, ["ccdet.min_features"]),
        ({"simhash__features": "words"}, ["simhash.features"]),
        (
            {"detectors": ["ccdet"]},
            ["detectors", "simhash.features", "simhash.idf", "version of coverage", "version of simhash"],
        ),
    ],
)
def test_what_shapes_features_is_named(changed: dict[str, Any], named: list[str]) -> None:
    assert [each.name for each in differences(BASE, features(chosen(**changed)))] == named


def test_versions_of_text_processing_and_methods_are_feature_settings() -> None:
    (text,) = differences(BASE, feature_settings(Settings(), 2, VERSIONS))
    assert text == Difference("version of text processing", 1, 2)
    (method,) = differences(BASE, feature_settings(Settings(), 1, {**VERSIONS, "ccdet": 2}))
    assert str(method) == "version of ccdet is 1 in the index and 2 now"


def test_each_setting_of_an_enabled_method_shapes_features_or_decisions() -> None:
    """A threshold that belongs to neither would change clusters without a word."""
    ours = {**BASE, **decision_settings(Settings())}
    sections = ("ccdet.", "simhash.", "coverage.", "decision.", "cluster.")
    keys = {line.key for line in describe(Settings()) if line.key.startswith(sections)}
    assert keys <= ours.keys()
    assert set(BASE).isdisjoint(decision_settings(Settings()))
    assert not {key for key in ours if key.startswith(("elastic.", "maintenance.", "multi_simhash."))}


def test_recorded_values_replace_the_callers() -> None:
    given = chosen(decision__preset="strict", index__lock_seconds=3, elastic__password="s")  # noqa: S106 - of no server
    recorded = decisions_in(
        clustered_with("1234", 5, chosen(decision__preset="loose", cluster__preferred_sites=["b.org"]))
    )
    adopted = with_recorded(given, recorded)
    assert adopted.decision.preset == "loose"
    assert adopted.cluster.preferred_sites == ("b.org",)
    assert adopted.index.lock_seconds == 3
    assert adopted.elastic.password.get_secret_value() == "s"
    assert [each.name for each in decision_differences(recorded, given)] == ["decision.preset"]
    assert with_recorded(given, decision_settings(given)) is given
    assert decisions_in(None) == {}


def test_thresholds_are_recorded_one_by_one() -> None:
    given = chosen(decision__thresholds__about_title=0.3)
    recorded = decisions_in(
        clustered_with("1234", 5, chosen(decision__thresholds__needed_cover=[0.9, 0.8, 0.7]))
    )
    assert [str(each) for each in decision_differences(recorded, given)] == [
        "decision.thresholds.about_title is not set in the index and 0.3 now"
    ]
    adopted = with_recorded(given, recorded).decision.thresholds
    assert adopted.model_dump(exclude_none=True) == {"needed_cover": (0.9, 0.8, 0.7)}
    with pytest.raises(ConfigError, match=r"decision\.thresholds\.about_title: must be at most 1.01, got 2"):
        with_recorded(given, {"decision.thresholds.about_title": 2})


def test_a_setting_that_a_release_adds_or_removes_does_not_differ() -> None:
    recorded = {**decision_settings(Settings()), "decision.gone": 1}
    del recorded["decision.method"]
    assert decision_differences(recorded, Settings()) == ()
    assert with_recorded(Settings(), recorded) == Settings()


def test_recorded_values_are_checked() -> None:
    with pytest.raises(ConfigError, match="recorded in the index") as caught:
        with_recorded(Settings(), {"ccdet.min_ccs": 7})
    assert "ccdet.min_ccs: must be at most 1" in str(caught.value)
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "voters", "adopted"),
    [
        ("any", ("ccdet", "dwdcs"), ("any", ("ccdet",))),
        ("dwdcs", (), ("rules", ())),
        ("ccdet", (), ("ccdet", ())),
    ],
)
def test_methods_that_an_index_does_not_have_decide_nothing_in_reading_it(
    method: str, voters: tuple[str, ...], adopted: tuple[str, tuple[str, ...]]
) -> None:
    given = Settings.model_validate(
        {"detectors": ["ccdet", "dwdcs"], "decision": {"method": method, "voters": voters}}
    )
    found = with_recorded(given, {"detectors": ["ccdet", "simhash"]})
    assert (found.decision.method, found.decision.voters) == adopted
    assert (
        with_recorded(given, {"detectors": ["ccdet", "simhash"], "decision.method": "ccdet"}).decision.method
        == "ccdet"
    )


def test_of_methods_that_an_index_does_not_have_only_the_names_are_told() -> None:
    different = (Difference("detectors", ["ccdet"], ["dwdcs"]), Difference("dwdcs.hubs", None, 30))
    assert "dwdcs.hubs" not in str(SettingsMismatch("pages.db", different))
    assert "detectors is ccdet in the index and dwdcs now" in str(SettingsMismatch("pages.db", different))


@pytest.mark.parametrize(
    ("name", "recorded", "current", "set_"),
    [
        ("ccdet.window", 10, 5, True),
        ("content of simhash.idf", None, "5f1c", True),
        ("words.segmenter", "jieba", None, False),
        ("ccdet.new", None, 0, False),
        ("version of ccdet", 1, 2, False),
    ],
)
def test_what_another_release_has_recorded_is_not_to_be_set(
    name: str, recorded: object, current: object, *, set_: bool
) -> None:
    said = str(SettingsMismatch("pages.db", (Difference(name, recorded, current),)))
    assert ("Set these values" in said) is set_
    assert ("made by another release of es-dedup" in said) is not set_
    assert "can the pages again into a new index" in said


def test_messages_name_both_values_and_survive_pickling() -> None:
    different = (
        Difference("decision.preset", "balanced", "strict"),
        Difference("cluster.preferred_sites", [], ["a"]),
    )
    warning = SettingsDiffer("pages.db", (), different)
    assert "decision.preset is balanced in the index and strict now" in str(warning)
    assert "cluster.preferred_sites is empty in the index and a now" in str(warning)
    assert "es-dedup elastic recluster" in str(warning)
    mismatch = SettingsMismatch("pages.db", (Difference("ccdet.window", 10, 5),))
    assert "ccdet.window is 10 in the index and 5 now" in str(mismatch)
    for each in (warning, mismatch):
        assert str(pickle.loads(pickle.dumps(each))) == str(each)
