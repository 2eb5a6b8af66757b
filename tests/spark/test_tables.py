"""Tables in a folder: finished ones are kept, a later day is compared with the days before, and nothing is mixed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

import es_dedup.spark
from es_dedup import Page
from es_dedup.errors import ConfigError, DamagedData, InputError, SettingsMismatch
from es_dedup.settings import Settings
from tests.processes import PROGRAM, ROOT, ended
from tests.samples import story
from tests.spark_corpora import SETTINGS, corpus, found, scanned, table

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore")]


def written(pages: Iterable[Page], path: Path) -> str:
    """Pages as JSON Lines."""
    rows = ({name: value for name, value in asdict(page).items() if value is not None} for page in pages)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def update(spark: Any, inputs: str, folder: Path, settings: Settings = SETTINGS, **how: Any) -> Any:
    return es_dedup.spark.update_tables(
        spark, [inputs], str(folder), settings, es_dedup.spark.DayOptions(**how)
    )


def rows(spark: Any, folder: Path, name: str, day: str = "0") -> list[Any]:
    return sorted(spark.read.parquet(f"{folder}/{name}/day={day}").collect())


def test_tables_hold_the_clusters_of_a_scan_and_finished_ones_are_kept(spark: Any, tmp_path: Path) -> None:
    some = corpus(3, 40)
    given_pages, folder = written(some, tmp_path / "pages.jsonl"), tmp_path / "tables"
    first = update(spark, given_pages, folder)
    assert first.made == ("features", "statistics", "pairs", "clusters")
    assert (first.pages, first.failed) == (40, 0)
    assert found(spark.read.parquet(f"{folder}/clusters/day=0")) == scanned(some)
    assert update(spark, given_pages, folder).made == ()
    before = rows(spark, folder, "clusters")
    (folder / "pairs/day=0/_SUCCESS").unlink()  # as if it had been stopped there
    (folder / "clusters/day=0/_SUCCESS").unlink()
    assert update(spark, given_pages, folder).made == ("pairs", "clusters")
    assert rows(spark, folder, "clusters") == before
    shutil.rmtree(folder / "features/day=0")
    again = update(spark, written(some[:30], tmp_path / "fewer.jsonl"), folder)
    assert (again.made, again.pages) == (first.made, 30)
    # no persisted table is kept; local checkpoints are not seen here, Spark drops them when nothing refers to them any more
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def test_other_settings_are_refused(spark: Any, tmp_path: Path) -> None:
    given_pages, folder = written(corpus(4, 10), tmp_path / "pages.jsonl"), tmp_path / "tables"
    update(spark, given_pages, folder)
    strict = SETTINGS.model_copy(
        update={"decision": SETTINGS.decision.model_copy(update={"preset": "strict"})}
    )
    with pytest.raises(SettingsMismatch, match=r"decision\.preset is balanced in the index and strict now"):
        update(spark, given_pages, folder, strict)


@given(st.integers(0, 10**6), st.integers(4, 50), st.integers(1, 9))
@hypothesis.settings(max_examples=3, suppress_health_check=list(hypothesis.HealthCheck))
def test_days_added_one_after_the_other_have_the_clusters_of_one_run(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, tenths: int
) -> None:
    some, place = corpus(seed, count), tmp_path_factory.mktemp("days")
    cut = max(1, count * tenths // 10)
    old, new = some[:cut], some[cut:]
    update(spark, written(old, place / "old.jsonl"), place / "days", day="2026-11-22")
    if not new:
        return
    later = update(spark, written(new, place / "new.jsonl"), place / "days", day="2026-11-23")
    assert later.made == ("features", "pairs", "clusters")
    made = es_dedup.spark.features(table(spark, some), SETTINGS).persist()
    learned = es_dedup.spark.folder.TableFolder(spark, f"{place}/days").statistics()
    whole = es_dedup.spark.pairs(made, SETTINGS, statistics=learned).persist()
    days = [row for day in ("2026-11-22", "2026-11-23") for row in rows(spark, place / "days", "pairs", day)]
    assert sorted(days) == sorted(whole.collect())
    names = {page.id for page in new}
    assert all(
        row.left in names or row.right in names for row in rows(spark, place / "days", "pairs", "2026-11-23")
    )
    clustered = rows(spark, place / "days", "clusters", "2026-11-23")
    assert clustered == sorted(es_dedup.spark.clusters(made, whole, SETTINGS).collect())
    shutil.rmtree(place / "days/features/day=2026-11-23")
    repeated = update(spark, str(place / "new.jsonl"), place / "days", day="2026-11-23")
    assert repeated.made == later.made
    assert rows(spark, place / "days", "clusters", "2026-11-23") == clustered


def test_renewed_statistics_give_the_clusters_of_a_scan_again(spark: Any, tmp_path: Path) -> None:
    some, folder = corpus(6, 60), tmp_path / "tables"
    update(spark, written(some[:10], tmp_path / "a.jsonl"), folder, day="1")
    later = written(some[10:], tmp_path / "b.jsonl")
    update(spark, later, folder, day="2")
    assert update(spark, later, folder, day="2", renew=True).made == ("statistics", "pairs", "clusters")
    assert found(spark.read.parquet(f"{folder}/clusters/day=2")) == scanned(some)
    with pytest.raises(ConfigError, match="day 1 comes before day 2"):
        update(spark, later, folder, day="1")


def test_what_is_refused_leaves_the_tables(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    first = written(corpus(4, 6), tmp_path / "a.jsonl")
    later = written([story(900, "x")], tmp_path / "b.jsonl")
    update(spark, first, folder, day="1")
    update(spark, later, folder, day="2")
    strict = SETTINGS.model_copy(
        update={"decision": SETTINGS.decision.model_copy(update={"preset": "strict"})}
    )
    with pytest.raises(SettingsMismatch):
        update(spark, later, folder, strict, day="2", renew=True)
    with pytest.raises(InputError, match="no such file"):
        update(spark, str(tmp_path / "nowhere"), folder, day="3")
    (tmp_path / "other.jsonl").write_text('{"name": "a"}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="no field of text or HTML"):
        update(spark, str(tmp_path / "other.jsonl"), folder, day="3")
    for day in ("", "3/4", "12:00", "{x}"):
        with pytest.raises(ConfigError, match="a character that paths of tables must not have"):
            update(spark, later, folder, day=day)
    with pytest.raises(ConfigError, match="a character that paths of tables must not have"):
        update(spark, later, tmp_path / "out [1]")
    assert update(spark, later, folder, day="2").made == ()
    (folder / "features/day=2/_SUCCESS").unlink()
    with pytest.raises(ConfigError, match="day 2 was begun and is not finished"):
        update(spark, later, folder, day="3")
    assert update(spark, later, folder, day="2").made == ("features", "pairs", "clusters")
    with pytest.raises(InputError, match=r"page ids occur twice.* repeat the call for day 3"):
        update(spark, later, folder, day="3")
    other = written([story(901, "y")], tmp_path / "c.jsonl")
    assert update(spark, other, folder, day="3").made == ("features", "pairs", "clusters")


def test_features_stay_where_their_comparison_fails(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those in which a page id occurs twice are made again; damage that is read is a ``ValueError``, too."""
    inputs, folder = written(corpus(3, 6), tmp_path / "a.jsonl"), tmp_path / "tables"

    def damaged(*_: Any, **__: Any) -> Any:
        raise DamagedData("features", "cut off")

    with monkeypatch.context() as patched:
        patched.setattr("es_dedup.spark.updating.pairs", damaged)
        with pytest.raises(DamagedData):
            update(spark, inputs, folder)
    assert update(spark, inputs, folder).made == ("pairs", "clusters")


def test_a_folder_with_other_content_is_refused(spark: Any, tmp_path: Path) -> None:
    """Nothing of it is replaced, by what name soever; what an earlier call left of its first table is no hindrance."""
    inputs = written(corpus(3, 6), tmp_path / "a.jsonl")
    contents = {
        "notes": ("notes.txt",),
        "another program's tables": ("features/day=0/part-0.parquet", "features/day=0/_SUCCESS"),
        "another program's settings": ("settings/part-0.parquet",),
        "no day": ("pairs/rows.parquet",),
    }
    for number, (what, files) in enumerate(contents.items()):
        folder = tmp_path / f"foreign {number}"
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("mine", encoding="utf-8")
        for option in ("renew", "named"):
            how: dict[str, Any] = {option: True}
            with pytest.raises(ConfigError, match=r"it holds .* is no folder of tables: name another"):
                update(spark, inputs, folder, **how)
        assert all((folder / name).read_text(encoding="utf-8") == "mine" for name in files), what
    with pytest.raises(ConfigError, match="is no folder of tables"):
        update(spark, inputs, Path(written(corpus(3, 6), tmp_path / "b.jsonl")))
    folder = tmp_path / "tables"
    (folder / "settings/_temporary").mkdir(parents=True)
    update(spark, inputs, folder)
    within = written(corpus(3, 6), folder / "features/day=0/b.jsonl")
    with pytest.raises(ConfigError, match="it is part of the input"):
        update(spark, within, folder)
    assert Path(within).exists()


def test_the_input_of_finished_features_is_not_read_again(spark: Any, tmp_path: Path) -> None:
    folder, some = tmp_path / "tables", corpus(7, 12)
    inputs = tmp_path / "pages"
    inputs.mkdir()
    written(some[:6], inputs / "1.jsonl")
    update(spark, str(inputs), folder)
    written(some[6:], inputs / "2.jsonl")
    (folder / "clusters/day=0/_SUCCESS").unlink()
    assert update(spark, str(tmp_path / "gone"), folder).made == ("clusters",)  # it is not needed again
    assert update(spark, str(inputs / "2.jsonl"), folder, day="1").pages == 12
    (inputs / "1.jsonl").unlink()
    assert update(spark, str(inputs), folder, day="1").made == ()
    written([*some[6:], story(9, "x")], inputs / "2.jsonl")
    shutil.rmtree(folder / "features/day=1")
    assert update(spark, str(inputs), folder, day="1").pages == 13
    assert update(spark, str(inputs), folder, day="1").made == ()


def test_lines_may_lack_columns_and_an_input_may_have_no_lines(spark: Any, tmp_path: Path) -> None:
    text, folder = story(1).text or "", tmp_path / "tables"
    some = [Page("empty", text=""), *[Page(f"p{row}", text=f"{row}") for row in range(1_000)]]
    some += [Page("html", html=f"<p>{text}</p>"), Page("copy", html=f"<p>{text}</p>", title="A title")]
    given_pages = written(some, tmp_path / "pages.jsonl")
    assert update(spark, given_pages, folder).failed == 0
    clustered = found(spark.read.parquet(f"{folder}/clusters/day=0"))
    assert {clustered["html"], clustered["copy"]} == {("copy", None), ("copy", "exact")}
    none = written([], tmp_path / "none.jsonl")
    assert update(spark, none, folder, day="1").pages == len(some)
    assert update(spark, none, tmp_path / "other").pages == 0
    (tmp_path / "upper.jsonl").write_text('{"ID": 7, "Text": "some words"}\n', encoding="utf-8")
    assert update(spark, str(tmp_path / "upper.jsonl"), folder, day="2").failed == 0
    table(spark, some[:1]).write.parquet(f"{tmp_path}/pages.parquet")
    with pytest.raises(InputError, match="JSON Lines and Parquet cannot be read together"):
        es_dedup.spark.update_tables(
            spark, [given_pages, f"{tmp_path}/pages.parquet"], str(tmp_path / "both"), SETTINGS
        )


def test_tables_of_a_call_that_was_stopped_while_it_dropped_them_are_made_again(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, folder = corpus(5, 8), tmp_path / "tables"
    inputs = written(some, tmp_path / "a.jsonl")
    update(spark, inputs, folder)
    folders = es_dedup.spark.folder.TableFolder
    drop = folders.drop

    def stopped(self: Any, *names: str) -> None:
        drop(self, names[0])
        raise KeyboardInterrupt

    monkeypatch.setattr(folders, "drop", stopped)
    with pytest.raises(KeyboardInterrupt):
        update(spark, inputs, folder, renew=True)
    monkeypatch.setattr(folders, "drop", drop)
    assert update(spark, inputs, folder).made == ("clusters",)


def test_input_that_cannot_be_used_is_named(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file"):
        update(spark, str(tmp_path / "nowhere"), tmp_path / "a")
    (tmp_path / "bad.parquet").write_bytes(b"no table at all")
    with pytest.raises(InputError, match=r"bad\.parquet"):
        update(spark, str(tmp_path / "bad.parquet"), tmp_path / "b")
    (tmp_path / "other.jsonl").write_text('{"name": "a"}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="no field of text or HTML"):
        update(spark, str(tmp_path / "other.jsonl"), tmp_path / "c")
    twice = written([story(1, "a"), story(2, "a")], tmp_path / "twice.jsonl")
    with pytest.raises(InputError, match="page ids occur twice, as 'a'"):
        update(spark, twice, tmp_path / "d")


def test_the_command_makes_the_tables_and_says_what_is_wrong(spark: Any, tmp_path: Path) -> None:
    given_pages = written([story(1, "a"), story(1, "b"), Page("c")], tmp_path / "pages.jsonl")

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = (PROGRAM, "spark", "run", "--conf", "spark.driver.memory=1g", *arguments)
        return ended(*command, env=os.environ | environment, cwd=tmp_path, timeout=None)

    ours = ("--input", given_pages, "--output", "tables", "--master", "local[2]")
    done = run(*ours, "--json")
    assert done.returncode == 3, done.stderr  # one page has neither text nor html
    assert json.loads(done.stdout)["made"] == ["features", "statistics", "pairs", "clusters"]
    assert json.loads(done.stdout)["clusters"] == 1
    bad = run("--input", "nowhere.parquet", "--output", "tables2", "--master", "local[2]")
    assert bad.returncode == 1
    assert bad.stderr.splitlines()[-1].startswith("error: nowhere.parquet: no such file")
    lost = run("--input", given_pages, "--output", "tables2", "--master", "local[two]")
    assert lost.returncode == 1
    assert "\nerror: no Spark session (Could not parse Master URL: 'local[two]')" in f"\n{lost.stderr}"
    without = run(*ours, JAVA_HOME=str(tmp_path))
    assert (without.returncode, without.stdout) == (1, "")
    assert without.stderr.startswith(f"error: no Spark session (no Java at JAVA_HOME, {tmp_path}): check")


def test_the_benchmark_compares_with_a_scan_and_writes_its_figures(spark: Any, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    benchmark = (sys.executable, "benchmarks/bench_spark.py")

    def rows_of(*options: str) -> list[dict[str, Any]]:
        done = ended(*benchmark, *options, "--json", out, cwd=ROOT, timeout=None)
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))["rows"]
        return found

    rows = rows_of("--pages", "60", "--memory", "1g")
    assert [row["step"] for row in rows] == ["features", "pairs", "clusters"]
    assert all(row["stages"] and row["peak MiB"] > 100 for row in rows)
    assert rows[1]["shuffled MiB"] > 0
    assert [row["size"] for row in rows_of("--parts", "0.001")] == [100, 1_000, 2_000]
