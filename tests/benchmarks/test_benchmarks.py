"""Every benchmark runs, checks its answer and writes its figures; here on small made-up sets in place of the data."""

import importlib
import json
import random
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import bench_candidates
import harness
import pytest
import w1

from es_dedup import Page
from tests.servers import fresh_name, url_of
from tests.small_sets import text, write_sets

BENCHMARKS: Final = sorted(
    path.stem
    for path in (Path(__file__).parents[2] / "benchmarks").glob("bench_*.py")
    if path.stem != "bench_spark"  # in tests/spark
)
LONG: Final = ("bench_backfill", "bench_leave_out")
SMALL: Final = {
    "bench_scan": ["--sizes", "30", "0", "--workers", "1", "--dump"],
    "bench_check": ["--pages", "12"],
    "bench_console": ["--bases", "30", "--copies", "5", "--rounds", "1"],
    "bench_serve": ["--pages", "12", "--rounds", "1"],
    "bench_elastic": ["--stored", "80", "--pages", "12", "--compact", "--both", "--rounds", "2"],
    "bench_words": [
        *("--sets", "portal-zh", "--methods", "multi_simhash", "dwdcs"),
        *("--words", "--synonyms", "none"),
    ],
    "bench_w1": ["--bases", "300"],
    "bench_libraries": ["--bases", "60"],
    "bench_voting": ["--sets", "portal-zh", "edits-zh"],
    "bench_features": ["--pages", "20", "--rounds", "1"],
    "bench_rules": ["--items", "40", "--originals", "6", "--no-read"],
    "bench_presets": ["--no-read"],
    "bench_leave_out": [
        *("--no-read", "--rounds", "1", "--sets", "judged-en", "edits-zh"),
        *(["--trained"] if find_spec("catboost") else []),
    ],
    "bench_mutants": ["--originals", "6", "--items", "40"],
    "bench_systems": ["--pages", "20", "--rounds", "1", "--checked", "2", "--min-occurrences", "1"],
    "bench_extract": ["--rounds", "1", "--growth", "30"],
    "bench_collapse": ["--rounds", "1", "--queries", "春", "东西"],
    "bench_hook": ["--stored", "30", "--pages", "10"],
    "bench_inconclusive": ["--sets", "portal-zh", "--chunks", "20"],
    "bench_start": ["--rounds", "1"],
    "bench_refresh": ["--sets", "portal-zh", "news-en"],
}
RIGHT: Final[dict[str, Callable[[Any], bool]]] = {
    "bench_candidates": lambda rows: {row["query missed"] for row in rows} == {0},
    "bench_extract": lambda rows: len(rows) >= 5 and min(row["f1"] for row in rows) > 0.97,
    "bench_inconclusive": lambda rows: [(row["waiting"], row["missed"]) for row in rows] == [(0, 0)] * 2,
    "bench_refresh": lambda rows: {row["equal clusters"] for row in rows} == {1},
    "bench_versions": lambda rows: (rows[1]["groups of 2+"], rows[1]["neighbours"]) == (25, 25),
}
"""Whether the figures of a benchmark on the small sets are right, where that is known."""
ON_A_SERVER: Final = {
    "bench_alternatives",
    "bench_backfill",
    "bench_collapse",
    "bench_hook",
    "bench_inconclusive",
    "bench_refresh",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the one that ``ES_DEDUP_DATA`` names."""
    return write_sets(tmp_path_factory.mktemp("data"))


def test_extraction_reads_folders_of_test_pages(tmp_path: Path) -> None:
    source = random.Random(7)
    for name in ("one", "two"):
        (tmp_path / "others" / name).mkdir(parents=True)
        lines = "".join(f"<p>{line}</p>" for line in text(source, english=True))
        (tmp_path / "others" / name / "source.html").write_text(
            f"<nav><a href=/>x</a></nav><article>{lines}</article>"
        )
        (tmp_path / "others" / name / "expected.html").write_text(f"<div>{lines}</div>")
        labels = {"lang": "en-us", "publishedTime": None, "title": ""}
        (tmp_path / "others" / name / "expected-metadata.json").write_text(json.dumps(labels))
    out = tmp_path / "figures.json"
    given = ["--sets", "--test-pages", str(tmp_path / "others"), "--rounds", "1", "--json", str(out)]
    assert importlib.import_module("bench_extract").main(given) == 0
    figures = json.loads(out.read_text(encoding="utf-8"))
    [row] = figures["rows"]
    assert (row["set"], row["pages"]) == ("others", 2)
    assert row["f1"] > 0.99
    assert figures["notes"]["metadata"].startswith("language ")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in BENCHMARKS]
)
def test_a_benchmark_prints_a_table_and_writes_its_figures(
    name: str, data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ES_DEDUP_DATA", str(data))
    if name in ON_A_SERVER:
        monkeypatch.setenv("ES_DEDUP_ES_URL", url_of("es8"))
    out = tmp_path / "figures.json"
    given = [*SMALL.get(name, []), "--json", str(out)]
    if name == "bench_elastic":
        given += ["--address", f"{url_of('es8')}/{fresh_name()}"]
    assert importlib.import_module(name).main(given) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert RIGHT.get(name, bool)(found["rows"])
    assert {"rows", "notes", "ran", "benchmark"} <= set(found)
    printed = capfd.readouterr().out
    assert found["benchmark"] in printed
    assert all(column in printed for row in found["rows"] for column in row)


def test_caps_leave_pairs_out(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    caps = ["--caps", "1", "64", "--json", str(out)]
    importlib.import_module("bench_candidates").main(["--data", str(data), *caps])
    few, all_ = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert 0 < few["compared"] <= all_["compared"]


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="ES_DEDUP_DATA"):
        harness.data_file(tmp_path, "broadcast-zh.jsonl.xz")


def test_a_wrong_answer_is_no_figure() -> None:
    with pytest.raises(harness.WrongAnswer, match="lost"):
        harness.expect(holds=False, message="lost")


def test_w1_is_the_same_for_the_same_seed() -> None:
    made = w1.documents(40, 3)
    assert made == w1.documents(40, 3)
    assert made != w1.documents(40, 4)
    assert {each.language for each in made} == {"zh", "en"}
    families = {each.id: each.family for each in made}
    similar = w1.truth(made)
    assert all(families[left] == families[right] for pairs in similar.values() for left, right in pairs)


def test_contained_posts_are_those_of_a_direct_comparison() -> None:
    source = random.Random(9)
    posts = ["".join(text(source))[: source.randint(40, 120)] for _ in range(20)]
    posts += [post[:30] for post in posts[:5]]
    pages = [Page(id=str(at), text=post) for at, post in enumerate(posts)]
    assert sorted(bench_candidates.contained_pairs(pages)) == sorted(
        (str(at), str(20 + at)) for at in range(5)
    )
