"""The guide for other writers: its bulk proxy before a real server, and the configuration of Logstash's filter."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from elasticsearch import Elasticsearch, helpers

from tests.hooked import STORIES, clusters, dedup_fields, five
from tests.servers import client_of, fresh_name, url_of
from tests.serving import OTHER, TEXT, serving

GUIDE: Final = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "connect-writers.md"
SECONDS: Final = 60


def block(kind: str) -> str:
    """The guide's only block of a kind."""
    (code,) = re.findall(rf"^```{kind}\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return str(code)


@contextmanager
def proxy(folder: Path, url: str, index: str, policy: str = "mark") -> Iterator[str]:
    """The guide's proxy before a server; its address."""
    code = block("python").replace('content="body"', 'content="text"').replace('"date"', '"published"')
    (folder / "proxy.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "uvicorn", "proxy:app", "--port", "0"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "ELASTIC_URL": url, "DEDUP_INDEX": index, "DEDUP_POLICY": policy},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = next((line for line in process.stderr if "running on" in line), "")
        yield re.findall(r"http://[\d.:]+", said)[0]
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


@pytest.mark.parametrize("packed", [False, True])
def test_a_plain_client_writes_through_the_proxy(tmp_path: Path, *, packed: bool) -> None:
    url, name = url_of("es8"), fresh_name()
    with (
        client_of(url) as direct,
        proxy(tmp_path, url, name) as address,
        Elasticsearch(address, http_compress=packed) as client,
    ):
        try:
            written, errors = helpers.bulk(client, five(name), refresh=True)
            assert (written, errors) == (5, [])
            assert clusters(direct, name) == STORIES
            changed: list[dict[str, Any]] = [
                {"_op_type": "delete", "_index": name, "_id": "copy-0"},
                {"_op_type": "update", "_index": name, "_id": "copy-1", "doc": {"text": OTHER * 4}},
                {"_op_type": "create", "_index": name, "_id": "story-0", "_source": {"text": TEXT}},
            ]
            results = list(helpers.streaming_bulk(client, changed, raise_on_error=False))
            assert [ok for ok, _ in results] == [True, True, False]
            assert results[2][1]["create"]["status"] == 409
            assert clusters(direct, name) == {
                frozenset({each}) for each in ("story-0", "story-1", "story-2", "copy-1")
            }
            assert client.count(index=name)["count"] == 4  # other requests are passed on
            with pytest.raises(Exception, match="index_not_found"):
                client.search(index=f"{name}-none")
        finally:
            direct.indices.delete(index=f"{name}*", expand_wildcards="all")


def test_copies_are_skipped_and_bad_requests_write_nothing(tmp_path: Path) -> None:
    url, name = url_of("es8"), fresh_name()
    with client_of(url) as direct, proxy(tmp_path, url, name, "skip") as address:
        try:
            with Elasticsearch(address) as client:
                results = list(helpers.streaming_bulk(client, five(name)))
            assert [item["index"]["result"] for _, item in results] == ["created"] * 3 + ["skipped"] * 2
            for body in (b"{", b'{"index":{"_id":"x"}}\n'):
                assert httpx.post(f"{address}/{name}/_bulk", content=body).status_code == 500
            refused = httpx.post(f"{address}/{name}/_bulk", content=b'{"index":{"_id":"x"}}\n[1]\n').json()
            assert (refused["errors"], refused["items"][0]["index"]["status"]) == (True, 400)
            assert dedup_fields(direct, name).keys() == {"story-0", "story-1", "story-2"}
        finally:
            direct.indices.delete(index=f"{name}*", expand_wildcards="all")


def test_the_filter_of_logstash_drops_copies(tmp_path: Path) -> None:
    ((kind, given),) = parsed(block("text"))["http"]
    assert kind == "http"
    condition = re.findall(r"if ((?:\[\w+\])+) \{\s*drop", block("text"))[0]
    with serving(str(tmp_path / "pages.db"), tmp_path / "server") as api:

        def dropped(event: dict[str, Any]) -> bool:
            filled = {
                key: re.sub(r"%\{\[(\w+)\]\}", lambda match: event[match[1]], value)
                for key, value in given["body"].items()
            }
            token = given["headers"]["Authorization"].replace(
                "${ES_DEDUP_SERVE__WRITE_TOKEN}", api.tokens["write"]
            )
            path = given["url"].partition("8765")[2]
            answer = httpx.request(
                given["verb"], api.address + path, json=filled, headers={"Authorization": token}
            )
            found: Any = event | {given["target_body"].strip("[]"): answer.raise_for_status().json()}
            for step in re.findall(r"\w+", condition):
                found = found.get(step) if isinstance(found, dict) else None
            return bool(found)

        first = {"url": "https://a.example/1", "title": "Ferry", "body": TEXT}
        assert not dropped(first)
        assert dropped(first | {"url": "https://b.example/1"})
        assert not dropped({"url": "https://c.example/1", "title": "Mayor", "body": OTHER})


def parsed(config: str) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Plugins of a configuration of Logstash by name, with their options."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for name, inner in re.findall(r"^  (\w+) \{\n(.*?)^  \}", config, re.MULTILINE | re.DOTALL):
        options: dict[str, Any] = {}
        for key, value in re.findall(r'^    (\w+) => ("[^"]*"|\{.*\})$', inner, re.MULTILINE):
            pairs = re.findall(r'"([^"]*)" => "([^"]*)"', value)
            options[key] = dict(pairs) if value.startswith("{") else json.loads(value)
        found.setdefault(name, []).append((name, options))
    return found
