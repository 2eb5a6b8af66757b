"""What the server refuses: the advice fits the cause, and ``--json`` has it in one object."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from es_dedup.cli.main import app
from tests.commands import ran
from tests.servers import client_of, fresh_name, url_of

FIELDS = {f"field-{number}": {"type": "keyword"} for number in range(10)}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "field limit": (
        {"settings": {"index.mapping.total_fields.limit": 12}, "mappings": {"properties": FIELDS}},
        "total_fields.limit",
    ),
    "no subobjects": ({"mappings": {"subobjects": False}}, "subobjects"),
    **{
        f"a field dedup of type {kind}": (
            {"mappings": {"properties": {"dedup": {"type": kind}}}},
            "rename it",
        )
        for kind in ("boolean", "nested")
    },
}


@pytest.mark.parametrize("case", CASES)
def test_the_advice_fits(case: str) -> None:
    body, words = CASES[case]
    name = fresh_name()
    with client_of(url_of("es8")) as client:
        client.indices.create(index=name, **body)
        try:
            command = ("elastic", "attach", name, "--content-field", "body", "--force", "--json")
            done = ran("--db", f"{url_of('es8')}/{name}", *command, code=1)
        finally:
            client.indices.delete(index=f"{name}*", expand_wildcards="all")
    said = json.loads(done.stderr.splitlines()[-1])
    assert said["code"] == 1
    assert words in said["error"]
    assert "role" not in said["error"]
    assert "section" not in said["error"]


def test_https_at_an_http_port() -> None:
    place = url_of("es8").replace("http://", "https://") + "/pages"
    done = ran("--db", place, "index", "stats", code=1)
    assert "write http://" in done.output
    assert "ca_certs" not in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["index", "stats"],
        ["nope"],
        ["clusters", "--nope"],
        ["filter", "gone.jsonl"],
        ["show"],
        ["--preset", "no", "scan", "x"],
    ],
)
def test_an_error_is_one_object(arguments: list[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["--json", *arguments])
    (line,) = done.stderr.splitlines()
    assert json.loads(line).keys() == {"error", "code", "retryable"}
    assert json.loads(line)["code"] == done.exit_code
