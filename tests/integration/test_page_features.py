"""All features of one page, stored, kept without text, or given: the same names and the same values."""

from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.detectors.named_fields import FROM_FEATURES, FROM_TEXT, GIVEN
from es_dedup.errors import ConfigError, UnknownPage
from es_dedup.settings import Settings, load_settings
from tests.commands import ran, rows
from tests.texts import topical

TEXT = topical(7, sentences=30)
PAPERS = {"period_signatures", "simhash", "simhash_band_0", "simhash_band_3", "key_concepts"}


def settings(**more: Any) -> Settings:
    return load_settings(overrides=more, environ={})


def test_a_stored_page_has_the_features_of_the_page_that_was_given(tmp_path: Path) -> None:
    page = Page(id="a", text=TEXT, title="题")
    with Deduplicator.open(tmp_path / "x.db", settings=settings()) as dedup:
        given = dedup.features(page)
        dedup.add(page)
        stored = dedup.features("a")
        with pytest.raises(UnknownPage):
            dedup.features("b")
        with pytest.raises(ConfigError, match="nonsense"):
            dedup.features("a", also=("nonsense",))
    assert given.fields.keys() >= PAPERS
    assert (given.origin, stored.origin) == (GIVEN, FROM_TEXT)
    assert {**given.as_dict(), "origin": ""} == {**stored.as_dict(), "origin": ""}
    assert not stored.missing


def test_without_text_what_cannot_be_told_is_named(tmp_path: Path) -> None:
    names = ["ccdet", "simhash", "coverage", "dwdcs", "char_frequency"]
    chosen = settings(detectors=names, **{"index.keep_text": False})
    page = Page(id="a", text=TEXT, title="题")
    with Deduplicator.open(tmp_path / "x.db", settings=chosen) as dedup:
        given = dedup.features(page)
        dedup.add(page)
        stored = dedup.features("a")
    assert stored.origin == FROM_FEATURES
    assert stored.missing == ("period_signatures",)
    assert stored.fields == {
        name: value for name, value in given.fields.items() if name != "period_signatures"
    }


def test_methods_that_skip_a_page_say_why(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path / "x.db", settings=settings()) as dedup:
        found = dedup.features(Page(id="a", text="泵站。"), also=("char_frequency",))
    assert found.fields["period_signatures"] == ["泵站"]
    assert found.skipped.keys() == {"ccdet", "dwdcs", "char_frequency"}


def test_a_method_that_is_not_enabled_speaks_when_asked(tmp_path: Path) -> None:
    pages = [Page(id="a", text=TEXT), Page(id="b", text=TEXT + "又及。")]
    with Deduplicator.open(tmp_path / "x.db", settings=settings()) as dedup:
        dedup.add_many(pages)
        plain, asked = dedup.explain("a", "b"), dedup.explain("a", pages[1], also=["dwdcs", "ccdet"])
    assert [verdict.detector for verdict in plain.verdicts] == ["ccdet", "simhash", "coverage"]
    assert [verdict.detector for verdict in asked.verdicts] == ["ccdet", "simhash", "coverage", "dwdcs"]
    assert "position_variance" in asked.verdicts[-1].evidence
    assert (asked.relation, asked.reason) == (plain.relation, plain.reason)


def test_explain_says_why_a_method_that_was_asked_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.txt").write_text("泵站。", encoding="utf-8")
    command = ("explain", "a.txt", "b.txt", "--method", "dwdcs")
    assert "dwdcs      not applicable: 0 of 10 nodes in b.txt" in ran(*command).stdout
    (found,) = rows(*command)
    assert found["skipped"]["dwdcs"] == "0 of 10 nodes in b.txt"
    assert "features" not in found


def test_features_are_read_from_standard_input_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    of_file, of_text, of_html = (
        rows("explain", name, "--features", given=given)[0]
        for name, given in (("a.txt", None), ("-", TEXT), ("-", f"<!DOCTYPE html><p>{TEXT}</p>"))
    )
    assert of_file["fields"] == of_text["fields"] == of_html["fields"]
    assert list(tmp_path.iterdir()) == [tmp_path / "a.txt"], "no index is made"


def test_an_index_in_a_file_does_not_record_what_only_elasticsearch_stores(tmp_path: Path) -> None:
    for stored in (["dwdcs"], []):
        with Deduplicator.open(
            tmp_path / "x.db", settings=settings(**{"elastic.also_stored": stored})
        ) as dedup:
            dedup.add(Page(id="a", text=TEXT))
            assert dedup.settings_differ is None
            assert not {"elastic.also_stored", "version of dwdcs"} & dedup.stats()["settings"].keys()  # type: ignore[attr-defined]
