"""The registry: names to detectors, and refusal of names it does not know."""

from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator
from es_dedup.detectors.ccdet import Ccdet
from es_dedup.detectors.registry import create_detectors, detector_names, detector_versions, register
from es_dedup.detectors.simhash import Simhash
from es_dedup.errors import SettingsMismatch
from es_dedup.index import factory
from es_dedup.model import Page
from es_dedup.settings import Settings
from es_dedup.settings.recorded import decision_settings


def test_detectors_come_in_the_order_of_the_settings_and_know_their_section() -> None:
    settings = Settings.model_validate(
        {"detectors": ("simhash", "ccdet"), "simhash": {"max_hamming_distance": 5}, "ccdet": {"window": 7}}
    )
    detectors = create_detectors(settings)
    assert list(detectors) == ["simhash", "ccdet"]
    assert {name: detector.name for name, detector in detectors.items()} == {
        "simhash": "simhash",
        "ccdet": "ccdet",
    }
    assert isinstance(detectors["simhash"], Simhash)
    assert detectors["simhash"].decide(5).evidence["max_hamming_distance"] == 5
    assert isinstance(detectors["ccdet"], Ccdet)


def test_unknown_names_are_refused_together_with_the_names_known() -> None:
    with pytest.raises(ValueError) as caught:
        Settings(detectors=("ccdte", "ccdet", "other", "ccdet"))
    message = str(caught.value)
    assert f"{', '.join(detector_names())}, got 'ccdte'; did you mean ccdet?" in message
    assert "got 'other'" in message
    assert "'ccdet' 2 times" in message


@pytest.mark.parametrize("name", ["ccdet", ""])
def test_a_name_is_given_once(name: str) -> None:
    with pytest.raises(ValueError, match="choose another name"):
        register(name, lambda settings: Ccdet(settings.ccdet))


def test_a_raised_detector_version_refuses_an_index_filled_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pages.db"
    with Deduplicator.open(path) as dedup:
        dedup.add(Page(id="a", text="泵站完成检修。"))
        before: Any = dedup.stats()["settings"]
    assert before == {**factory.features_of(Settings(), embedded=True), **decision_settings(Settings())}
    assert detector_versions(Settings())["simhash"] == Simhash.version
    monkeypatch.setattr(Simhash, "version", Simhash.version + 1)
    for read_only in (True, False):
        with pytest.raises(SettingsMismatch, match="version of simhash is") as caught:
            Deduplicator.open(path, read_only=read_only)
        assert [each.name for each in caught.value.differences] == ["version of simhash"]
    Deduplicator.open(tmp_path / "other.db", settings=Settings(detectors=("ccdet",))).close()
