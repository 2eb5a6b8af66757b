"""Settings: where they come from, what is refused and how."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from es_dedup.errors import ConfigError
from es_dedup.settings import methods
from es_dedup.settings.loading import Settings, describe, load_settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A path for a settings file; nothing is there yet."""
    return tmp_path / "settings.toml"


def problems_of(file: Path | None, environ: dict[str, str] | None = None, **overrides: Any) -> str:
    """The text of the error that loading raises."""
    with pytest.raises(ConfigError) as caught:
        load_settings(
            file, {key.replace("__", "."): value for key, value in overrides.items()}, environ or {}
        )
    return str(caught.value)


def test_nothing_given_means_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(environ={}) == Settings()


def test_arguments_beat_environment_beats_file_beats_default(file: Path) -> None:
    file.write_text("workers = 3\n[index]\nlimit = 20\nmax_df = 500\n[ccdet]\nwindow = 8\n", encoding="utf-8")
    environ = {"ES_DEDUP_INDEX__LIMIT": "30", "ES_DEDUP_INDEX__MAX_DF": "600", "HOME": "/x"}
    settings = load_settings(file, {"index.limit": 40}, environ)
    assert (settings.index.limit, settings.index.max_df, settings.ccdet.window) == (40, 600, 8)
    assert (settings.workers, settings.simhash.max_hamming_distance) == (
        3,
        Settings().simhash.max_hamming_distance,
    )


def test_overrides_may_be_nested() -> None:
    assert load_settings(overrides={"index": {"limit": 7}}, environ={}).index.limit == 7


def test_the_file_of_the_current_folder_is_read_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "es-dedup.toml").write_text("workers = 5", encoding="utf-8")
    file.write_text("workers = 6", encoding="utf-8")
    assert load_settings(environ={}).workers == 5
    assert load_settings(environ={"ES_DEDUP_CONFIG": str(file)}).workers == 6
    assert load_settings(file, environ={"ES_DEDUP_CONFIG": "elsewhere.toml"}).workers == 6


def test_all_problems_are_named_at_once_with_hints(file: Path) -> None:
    file.write_text(
        'wrokers = 2\nlimit = 3\n[index]\nlimits = 20\nmax_df = 1\n[cluster]\norder = "best"\n',
        encoding="utf-8",
    )
    message = problems_of(file, {"ES_DEDUP_INDEX__LIMT": "3", "ES_DEDUP_CCDET__WINDOW": "ten"}, workers=-1)
    assert "wrokers: unknown key; did you mean workers?" in message
    assert "limit: unknown key; did you mean index.limit?" in message
    assert "index.limits: unknown key; did you mean index.limit? Else remove it" in message
    assert "index.max_df: must be at least 10, got 1" in message
    assert "cluster.order: must be one of 'earliest'" in message
    assert (
        "environment variable ES_DEDUP_INDEX__LIMT: no such setting; did you mean ES_DEDUP_INDEX__LIMIT?"
        in message
    )
    assert "environment variable ES_DEDUP_CCDET__WINDOW: must be a whole number, got 'ten'" in message
    assert "workers (given as an argument): must be at least 0, got -1" in message
    assert "8 problem(s)" in message
    assert str(file) in message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "cannot be read"),
        (b"index = 3", "must be a section, written [index]"),
        (b"[index", "is not valid TOML"),
        (b'detectors = "ccdet"', "detectors: must be a list"),
        (b"[index]\nkeep_text = 7", "must be true or false"),
        (b"[nothing]\nlike = 1", "nothing.like: unknown key"),
        (b"# \xff\xfe\xfa", "is not UTF-8"),
        (b"#" * (2**20 + 1), "larger than 1 MB"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"[" + b".".join([b"a"] * 20_000) + b"]\nb = 1\n", "nested too deeply"),
        (b"detectors = []", "detectors: must name at least 1"),
    ],
    ids=range(11),
)
def test_files_are_refused_in_plain_words(file: Path, content: bytes | None, expected: str) -> None:
    if content is not None:
        file.write_bytes(content)
    assert expected in problems_of(file)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert "no regular file" in problems_of(tmp_path / "zero")


def test_variables_for_other_purposes_are_allowed_and_misspelt_ones_are_not(file: Path) -> None:
    file.write_text("", encoding="utf-8")
    allowed = ("DATA", "FUZZ_SEED", "ES_URL", "THREE_URLS", "SERVERS_JAVA_OPTS", "SECURED_CA")
    environ = {f"ES_DEDUP_{name}": "1" for name in allowed} | {"ES_DEDUP_CONFIG": str(file)}
    assert load_settings(environ=environ) == Settings()
    for name in ("SOURCE_URL", "DATAS", "WORKER", "INDEX_LIMIT"):
        assert f"ES_DEDUP_{name}: no such setting" in problems_of(file, {f"ES_DEDUP_{name}": "1"})


@pytest.mark.parametrize(
    ("given", "expected"), [("simhash, ccdet", ("simhash", "ccdet")), (" 新闻 ,\n", ("新闻",)), ("", ())]
)
def test_lists_in_the_environment(given: str, expected: tuple[str, ...]) -> None:
    assert (
        load_settings(environ={"ES_DEDUP_CLUSTER__PREFERRED_SITES": given}).cluster.preferred_sites
        == expected
    )


def test_a_list_in_the_environment_has_no_brackets() -> None:
    said = problems_of(None, {"ES_DEDUP_CLUSTER__PREFERRED_SITES": ' ["a.example","b.example"]'})
    assert "ES_DEDUP_CLUSTER__PREFERRED_SITES: the values of a list are separated by commas" in said


def test_thresholds_are_set_one_by_one(file: Path) -> None:
    file.write_text("[decision.thresholds]\nabout_title = 0.2\nfewest_units = 24\n", encoding="utf-8")
    variables = {"FEWEST_UNITS": "25", "NEEDED_COVER": "0.7, 0.6, 0.55", "UNTITLED_COVER": "0.8,1"}
    environ = {f"ES_DEDUP_DECISION__THRESHOLDS__{name}": value for name, value in variables.items()}
    settings = load_settings(file, {"decision.thresholds.near_copy": 0.9}, environ)
    assert settings.decision.thresholds.model_dump(exclude_none=True) == {
        "about_title": 0.2,
        "fewest_units": 25,
        "needed_cover": (0.7, 0.6, 0.55),
        "untitled_cover": (0.8, 1.0),
        "near_copy": 0.9,
    }
    origins = {line.key: line.origin for line in describe(settings)}
    assert origins["decision.thresholds.about_title"] == str(file)
    assert origins["decision.thresholds.fewest_units"] == "ES_DEDUP_DECISION__THRESHOLDS__FEWEST_UNITS"
    assert origins["decision.thresholds.same_size"] == "default"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        (".about_titel", 0.2, ": unknown key; did you mean decision.thresholds.about_title? Else remove it"),
        (".about_title", 1.2, ": must be at most 1.01, got 1.2"),
        (".same_cover", 1.01, ": must be at most 1.0, got 1.01"),
        (".about_title", -1, ": must be at least 0.0, got -1"),
        (".about_title", "much", ": must be a number, got 'much'"),
        (".about_title", float("nan"), ": must be a number, got nan"),
        (".fewest_units", float("inf"), ": must be a number, got inf"),
        (".needed_cover", [0.5, 0.6], ": must have 3 values, got [0.5, 0.6]"),
        (".untitled_cover", [0.5, 0.6, 0.7], ": must have 2 values, got [0.5, 0.6, 0.7]"),
        (".untitled_cover", [], ": must have 2 values, got []"),
        (".needed_cover", [0.5, 0.6, 7], ": must be at most 1.0, got 7"),
        (".needed_cover", 0.5, ": must be a list, got 0.5"),
        ("", 0.5, ": must be a section, written [decision.thresholds]"),
    ],
)
def test_thresholds_that_cannot_be_are_refused_in_one_line(name: str, value: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_settings(overrides={f"decision.thresholds{name}": value}, environ={})
    assert refused.value.problems == (f"decision.thresholds{name} (given as an argument){problem}",)


def test_describe_names_value_and_origin(file: Path) -> None:
    file.write_text("[index]\nlimit = 20", encoding="utf-8")
    settings = load_settings(file, {"ccdet.window": 9}, {"ES_DEDUP_WORKERS": "2"})
    lines = {line.key: line for line in describe(settings)}
    assert (lines["index.limit"].value, lines["index.limit"].default, lines["index.limit"].origin) == (
        20,
        50,
        str(file),
    )
    assert lines["workers"].origin == "ES_DEDUP_WORKERS"
    assert (lines["ccdet.window"].origin, lines["ccdet.window"].shapes) == ("argument", True)
    assert (lines["index.max_df"].origin, lines["index.max_df"].shapes) == ("default", False)
    assert all(line.description for line in lines.values())


def test_settings_made_in_code_are_described_as_arguments() -> None:
    lines = {line.key: line.origin for line in describe(Settings(workers=2))}
    assert (lines["workers"], lines["index.limit"]) == ("argument", "default")


def test_settings_survive_pickling() -> None:
    settings = load_settings(overrides={"workers": 2}, environ={})
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_names_of_methods_are_checked_with_everything_else(file: Path) -> None:
    file.write_text(
        '[elastic]\nalso_stored = ["nope", "dwdcs", "dwdcs"]\n[extraction]\nextractor = "plian"\n[index]\nlimt = 1\n',
        encoding="utf-8",
    )
    said = problems_of(file, {"ES_DEDUP_DETECTORS": "simhash,simhsah"})
    known, extractors = (", ".join(methods.known[key]()) for key in (methods.DETECTORS, methods.EXTRACTOR))
    for part in (
        str(file),
        "4 problem(s)",
        f"environment variable ES_DEDUP_DETECTORS: must be of {known}, got 'simhsah'; did you mean simhash?",
        f"elastic.also_stored: must be of {known}, got 'nope'",
        "; names 'dwdcs' 2 times",
        f"extraction.extractor: must be one of {extractors}, got 'plian'; did you mean plain?",
        "index.limt",
    ):
        assert part in said


def test_the_built_in_methods_are_those_of_the_registries() -> None:
    code = "from es_dedup.settings.methods import known; before = {key: names() for key, names in known.items()};"
    code += "from es_dedup.detectors import registry; from es_dedup.extraction import registry;"
    code += "assert before == {key: names() for key, names in known.items()}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_of_the_voters_of_a_preset_those_that_are_enabled_vote(tmp_path: Path) -> None:
    papers = {"ES_DEDUP_DECISION__PRESET": "papers"}
    file = tmp_path / "none.toml"
    file.write_text("", encoding="utf-8")
    assert load_settings(file, environ=papers).decision.voters == ("ccdet", "simhash", "dwdcs")
    fewer = load_settings(file, environ={**papers, "ES_DEDUP_DETECTORS": "simhash,ccdet,coverage"})
    assert fewer.decision.voters == ("ccdet", "simhash")
