"""Inverse document frequencies in files: written, read, refused, and recorded by content."""

from pathlib import Path

import pytest

from es_dedup import Deduplicator, Page, load_settings
from es_dedup.errors import ConfigError, SettingsMismatch
from es_dedup.index.factory import features_of
from es_dedup.text.idf import chosen, general, load
from experiments.idf import as_text, learned

PAGES = (["水泵", "设备"], ["水泵", "检修"], ["水泵"])


def test_learned_numbers_come_back_from_a_file(tmp_path: Path) -> None:
    found, file = learned(PAGES), tmp_path / "words.idf"
    file.write_text(as_text(found), encoding="utf-8")
    read = load(file)
    assert read.values == pytest.approx(dict(found.values), rel=1e-5)
    assert read.unknown == pytest.approx(found.unknown, rel=1e-5)
    assert read.of(["水泵", "设备", "河"]).tolist() == pytest.approx([1.0, 1.6931, 2.3863], rel=1e-4)
    assert chosen(str(file)) is read
    assert chosen("") is general()


def test_a_list_without_unknown_words_gives_them_its_median(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("甲 1\n乙 2\n丙 9\n", encoding="utf-8")
    assert load(file).unknown == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8"),
        ("甲 一\n".encode(), "line 1: a word, a space and a number"),
        ("甲 1\n乙 -1\n".encode(), "line 2"),
        ("甲 inf\n".encode(), "line 1"),
        (b"\n", "holds no line"),
        ("甲 1\n乙".encode(), "line 2: a word, a space and a number"),
        ("# unknown 2\n# words 2\n甲 1\n".encode(), "holds 1 of 2 words: it was cut off"),
    ],
)
def test_other_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "words.idf"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load(file)


def test_a_learned_list_is_refused_wherever_it_is_cut_off_in_its_words(tmp_path: Path) -> None:
    file = tmp_path / "words.idf"
    whole = as_text(learned(PAGES)).encode()
    for size in range(whole.index("\n检修".encode()) + 1, len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises(ConfigError):
            load(file)


def test_a_missing_file_is_a_problem_of_the_settings(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none")
    settings = load_settings(
        overrides={"detectors": ["multi_simhash"], "multi_simhash.idf": str(tmp_path / "none")}, environ={}
    )
    with pytest.raises(ConfigError, match=r"multi_simhash\.idf: .*none cannot be read"):
        features_of(settings)


@pytest.mark.parametrize("method", ["multi_simhash", "simhash"])
def test_an_index_refuses_another_content_of_the_file_by_name(method: str, tmp_path: Path) -> None:
    file = tmp_path / "words.idf"
    file.write_text(as_text(learned(PAGES)), encoding="utf-8")
    settings = load_settings(
        overrides={
            "detectors": [method],
            "decision.method": method,
            f"{method}.idf": str(file),
            "simhash.features": "words-tfidf",
        },
        environ={},
    )
    with Deduplicator.open(tmp_path / "pages.db", settings=settings) as dedup:
        dedup.add(Page(id="a", text="水泵设备检修。" * 5))
    with Deduplicator.open(tmp_path / "pages.db", settings=settings) as dedup:
        assert dedup.record("a").page_id == "a"
    file.write_text(as_text(learned(PAGES[:2])), encoding="utf-8")
    with pytest.raises(SettingsMismatch, match=rf"content of {method}\.idf"):
        Deduplicator.open(tmp_path / "pages.db", settings=settings)
