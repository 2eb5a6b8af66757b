"""Files for public hosting: they parse, and name stages, versions and extras that exist."""

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from scripts.extras import USES
from scripts.lowest import lowest

ROOT: Final = Path(__file__).resolve().parents[2]


def loaded(name: str) -> dict[str, Any]:
    """A YAML file, parsed."""
    content: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return content


def project() -> dict[str, Any]:
    """The section ``project`` of pyproject.toml."""
    section: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return section


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", ".github/workflows/release.yml"])
def test_jobs_have_a_limit_of_time_and_few_permissions(name: str) -> None:
    workflow = loaded(name)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job.get("timeout-minutes") or job["permissions"] == {"id-token": "write"}
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)


def test_ci_runs_every_supported_python_and_every_stage() -> None:
    jobs = loaded(".github/workflows/ci.yml")["jobs"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    assert jobs["checks"]["strategy"]["matrix"]["python"] == supported
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    stages = set(re.findall(r"^stage_(\w+)\(\)", script, re.MULTILINE))
    (always,) = re.findall(r"^ALL=\(([a-z ]+)\)", script, re.MULTILINE)
    assert set(always.split()) < stages
    assert set(jobs["more"]["strategy"]["matrix"]["stages"]) == stages - set(always.split())
    for job in jobs.values():
        assert job["steps"][-1]["run"].startswith(".ci/run ")


def test_only_the_job_that_publishes_may_ask_for_an_identity() -> None:
    jobs = loaded(".github/workflows/release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert jobs["publish"]["needs"] == "build"


def test_every_requirement_has_a_lowest_version() -> None:
    pins = lowest()
    assert {"lxml", "elasticsearch", "celery"} <= set(pins)


def test_every_extra_is_tried() -> None:
    others = {
        "all",
        "browser",
        "dev",
        "docs",
        "integrations",
    }  # a stage of .ci/run installs each of the others
    assert set(USES) == set(project()["optional-dependencies"]) - others
