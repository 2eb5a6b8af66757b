"""The experiments of the source documents and the tables of methods run and write their figures, on small made-up sets."""

import importlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.papers import ccdet
from experiments.papers.__main__ import EXPERIMENTS
from experiments.papers.__main__ import main as run_experiment
from experiments.papers.runs import read
from tests.small_sets import write_sets


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the one that ``ES_DEDUP_DATA`` names."""
    return write_sets(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize(
    ("name", "options"),
    [("alone", ["--sets", "portal-zh", "edits-zh"]), ("costs", ["--pages", "40", "--rounds", "1"])],
)
def test_a_table_of_methods_is_printed_and_its_figures_written(
    name: str, options: Sequence[str], data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    given = [*options, "--data", str(data), "--json", str(out)]
    assert importlib.import_module(f"experiments.{name}").main(given) == 0
    printed = capfd.readouterr().out
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert rows
    assert all(column in printed for row in rows for column in row)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_of_a_source_is_repeated_next_to_its_figures(
    experiment: str, data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    given = ["--data", str(data), "--sets", "portal-zh", "--rounds", "1", "--json", str(out)]
    given += ["--pages", "30"] if experiment.startswith("ccdet") else []
    assert run_experiment([experiment, *given]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["rows"]
    assert found["notes"]["published"] in capfd.readouterr().out
    assert found["benchmark"].startswith(f"{experiment}: ")


def test_the_jobs_of_the_parallel_algorithm_find_what_the_detector_finds(data: Path) -> None:
    pairs = read(data, "portal-zh")
    alone, _ = ccdet._map_reduce([each.text for each in pairs.contents], 1)
    assert alone == 25
    assert ccdet._makespan([[3.0, 2.0, 2.0], [1.0]], 2) == 5.0
