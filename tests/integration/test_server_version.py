"""Servers of other versions: the oldest supported one is that of the profile ``bundled``, on which whole suites are run."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from es_dedup import Deduplicator
from es_dedup.errors import ConfigError, IndexRefused, MissingExtra, ServerTooOld

NODES = "/_nodes/os"


@contextmanager
def server_of_version(*numbers: str, status: int = 200, product: str = "") -> Iterator[tuple[str, list[str]]]:
    """The address of an index on a cluster whose nodes tell their versions, and which refuses all else, and what it was asked for.

    Args:
        numbers: versions of the nodes.
        status: with which the nodes are told.
        product: what the server says it is, in place of Elasticsearch's mark.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            about_nodes = self.path.startswith(NODES)
            nodes = {str(at): {"version": number} for at, number in enumerate(numbers)}
            about = {"version": {"distribution": product, "number": numbers[0]}} if self.path == "/" else {}
            answer = json.dumps({"nodes": nodes} if about_nodes else about).encode()
            self.send_response(status if about_nodes else 200 if product and self.path == "/" else 403)
            if not product:
                self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/pages", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("number", ["7.17.29", "8.15.5", "8.16.5"])
@pytest.mark.parametrize("read_only", [True, False])
def test_an_older_server_is_refused_before_anything_is_made(number: str, *, read_only: bool) -> None:
    with server_of_version("9.1.0", number, "10.0.0") as (address, asked):
        with pytest.raises(
            ServerTooOld, match=rf"Elasticsearch {number} is not supported: .* 8\.16\.6 or later"
        ):
            Deduplicator.open(address, read_only=read_only)
        assert len(asked) == 1


@pytest.mark.parametrize("number", ["8.16.6", "8.19.0-SNAPSHOT", "9.0.0", "10.1.2"])
def test_a_newer_server_is_not_refused_for_its_version(number: str) -> None:
    with server_of_version(number) as (address, asked):
        with pytest.raises(IndexRefused):
            Deduplicator.open(address)
        assert len(asked) > 1


def test_a_user_who_may_not_see_the_version_is_not_refused_for_that() -> None:
    with server_of_version("8.1.0", status=403) as (address, asked):
        with pytest.raises(IndexRefused):
            Deduplicator.open(address)
        assert len(asked) > 1


def test_an_older_opensearch_is_refused() -> None:
    pytest.importorskip("opensearchpy")
    with (
        server_of_version("2.18.0", product="opensearch") as (address, asked),
        pytest.raises(ServerTooOld, match=r"OpenSearch 2\.18\.0 is not supported: .* 2\.19\.0 or later"),
    ):
        Deduplicator.open(address)
    assert [path.partition("?")[0] for path in asked] == [NODES, "/", NODES]


def test_a_server_of_another_product_is_refused() -> None:
    pytest.importorskip("opensearchpy")
    with (
        server_of_version("9.9.9", product="something") as (address, _),
        pytest.raises(IndexRefused, match="not Elasticsearch"),
    ):
        Deduplicator.open(address)


def test_opensearch_without_its_client_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    with (
        server_of_version("2.19.0", product="opensearch") as (address, _),
        pytest.raises(MissingExtra, match="install the extra opensearch"),
    ):
        Deduplicator.open(address)


@pytest.mark.parametrize("read_only", [True, False])
def test_an_address_without_scheme_is_recognised(
    read_only: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("localhost:9200/pages", "10.0.0.1:9200", "search-1.example.org:443/a_b"):
        with pytest.raises(ConfigError, match=f"write http://{place}"):
            Deduplicator.open(place, read_only=read_only)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "odd:9200").mkdir()
    Deduplicator.open("odd:9200/pages.db").close()
