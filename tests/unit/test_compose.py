"""``docker-compose.yml``: pinned, checked, kept, local, and without a default password."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.serversupport.profiles import ES_8

ROOT = Path(__file__).parents[2]
KNOWN = {"image", "environment", "ports", "volumes", "healthcheck", "restart", "command", "depends_on"}


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return loaded


def services() -> list[Any]:
    return [pytest.param(service, id=name) for name, service in compose()["services"].items()]


def test_only_what_compose_knows() -> None:
    assert set(compose()) == {"services", "volumes"}
    for service in compose()["services"].values():
        assert set(service) <= KNOWN


@pytest.mark.parametrize("service", services())
class TestEachService:
    def test_the_version_is_pinned(self, service: dict[str, Any]) -> None:
        assert re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+(-\w+)?", service["image"])

    def test_health_is_checked(self, service: dict[str, Any]) -> None:
        check = service["healthcheck"]
        assert check["test"][0] in ("CMD", "CMD-SHELL")
        assert {"interval", "timeout", "retries"} <= set(check)

    def test_data_is_kept_in_a_named_volume(self, service: dict[str, Any]) -> None:
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in compose()["volumes"]

    def test_only_this_machine_can_connect(self, service: dict[str, Any]) -> None:
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_there_is_no_default_password() -> None:
    password = compose()["services"]["elasticsearch"]["environment"]["ELASTIC_PASSWORD"]
    assert re.fullmatch(r"\$\{ELASTIC_PASSWORD:\?.+\}", password)


def test_the_tests_run_on_the_same_version() -> None:
    assert compose()["services"]["elasticsearch"]["image"].endswith(f":{ES_8.version}")


def test_redis_drops_and_forgets_nothing() -> None:
    command = compose()["services"]["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"
