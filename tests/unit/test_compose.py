"""``docker-compose.yml``: pinned, checked, kept, local, and without a default password."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import es_dedup
from es_dedup.cli.main import app
from scripts.serversupport.profiles import ES_8

ROOT = Path(__file__).parents[2]


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return loaded


def services() -> list[Any]:
    return [pytest.param(service, id=name) for name, service in compose()["services"].items()]


@pytest.mark.parametrize("service", services())
class TestEachService:
    def test_the_version_is_pinned(self, service: dict[str, Any]) -> None:
        assert re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+(-\w+)?", service["image"])

    def test_health_is_checked(self, service: dict[str, Any]) -> None:
        check = service["healthcheck"]
        assert check["test"][0] in ("CMD", "CMD-SHELL")
        assert {"interval", "timeout", "retries"} <= set(check)

    def test_data_is_kept_in_a_named_volume(self, service: dict[str, Any]) -> None:
        assert bool(service.get("volumes")) == ("build" not in service)  # workers keep nothing
        for volume in service.get("volumes", ()):
            assert volume.partition(":")[0] in compose()["volumes"]

    def test_only_this_machine_can_connect(self, service: dict[str, Any]) -> None:
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_workers_wait_for_their_servers_and_one_sends_the_periodic_tasks() -> None:
    services = compose()["services"]
    workers = {name: each for name, each in services.items() if "build" in each}
    for worker in workers.values():
        assert {name: on["condition"] for name, on in worker["depends_on"].items()} == {
            "elasticsearch": "service_healthy",
            "redis": "service_healthy",
        }
        assert set(worker["depends_on"]) <= set(services)
        assert worker["command"][:2] == ["--db", "http://elasticsearch:9200/${ES_DEDUP_NAME:-pages}"]
        parsed = CliRunner().invoke(app, [*worker["command"], "--help"])
        assert parsed.exit_code == 0
    assert [name for name, worker in workers.items() if "--beat" in worker["command"]] == ["beat"]


def test_the_image_has_what_is_installed_and_is_named_after_the_version() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [
        name
        for line in lines
        if line.startswith("COPY") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    assert all((ROOT / name).exists() for name in copied)
    shown = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert sorted(shown[1:]) == sorted(["native/target", *(f"!{name}" for name in copied)])
    assert re.fullmatch(
        r"FROM python:\d+\.\d+\.\d+-slim", [line for line in lines if line.startswith("FROM")][-1]
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert compose()["x-worker"]["image"] == f"es-dedup:{es_dedup.__version__}"
    assert set(re.findall(r"\.\[([\w,]+)\]", "".join(lines))[0].split(",")) <= set(
        project["optional-dependencies"]
    )


def test_the_tests_run_on_the_same_version() -> None:
    assert compose()["services"]["elasticsearch"]["image"].endswith(f":{ES_8.version}")
