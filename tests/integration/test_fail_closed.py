"""``hook.on_failure``: documents while the feature index does not answer, whose own cluster does."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch

from es_dedup.errors import NotDecided
from es_dedup.hook import DedupHook, async_dedup_bulk, dedup_bulk, dedup_parallel_bulk, dedup_streaming_bulk
from es_dedup.settings import load_settings
from tests.hooked import FIELDS, STORIES, clusters, dedup_fields, five
from tests.proxy import Proxy
from tests.servers import client_of, fresh_name, remove, url_of


@pytest.fixture(scope="module")
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture
def name(client: Elasticsearch) -> Iterator[str]:
    name = fresh_name()
    client.indices.create(index=name)
    yield name
    remove(f"{url_of('es8')}/{name}")
    client.indices.delete(index=name, ignore_unavailable=True)


@pytest.fixture
def line() -> Iterator[Proxy]:
    """The way to the features alone."""
    server = urlsplit(url_of("es8"))
    with Proxy(str(server.hostname), int(server.port or 9200)) as proxy:
        yield proxy


def hook_of(line: Proxy, name: str, on_failure: str) -> DedupHook:
    given = {"hook.on_failure": on_failure, "source.url": url_of("es8"), "elastic.retry_seconds": 0.2}
    return DedupHook.open(f"{line.url}/{name}", FIELDS, settings=load_settings(overrides=given))


class _Door(BaseHTTPRequestHandler):
    """Hands requests on to the server while it knows the caller."""

    protocol_version = "HTTP/1.1"
    known = True

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        with closing(HTTPConnection(urlsplit(url_of("es8")).netloc)) as server:
            server.request(self.command, self.path, body, headers)
            answer = server.getresponse()
            status, said = answer.status, answer.read()
        if not _Door.known:
            status, said = 401, b'{"error": {"type": "security_exception", "reason": "no"}, "status": 401}'
        self.send_response(status)
        for name, value in answer.getheaders():
            if name.lower() in ("content-type", "x-elastic-product"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(answer.length or 0 if self.command == "HEAD" else len(said)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else said)

    do_POST = do_PUT = do_HEAD = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("on_failure", ["fail_open", "fail_closed"])
def test_credentials_that_are_refused_are_no_other_failure(
    client: Elasticsearch, name: str, on_failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features and documents are on one cluster, which has forgotten the hook's user but not that of the bulk client."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Door) as door:
        threading.Thread(target=door.serve_forever, daemon=True).start()
        given = {"hook.on_failure": on_failure, "elastic.retry_seconds": 0.2}
        place = f"http://127.0.0.1:{door.server_port}/{name}"
        with DedupHook.open(place, FIELDS, settings=load_settings(overrides=given)) as hook:
            monkeypatch.setattr(_Door, "known", False)
            if on_failure == "fail_closed":
                with pytest.raises(NotDecided, match="section elastic is wrong"):
                    dedup_bulk(client, five(name), hook=hook)
                assert not dedup_fields(client, name)
            else:
                done = dedup_bulk(client, five(name), hook=hook)
                assert (tuple(done), len(done.report.inconclusive)) == ((5, []), 5)
            monkeypatch.setattr(_Door, "known", True)
        door.shutdown()


def test_fail_open_writes_and_decides_later(client: Elasticsearch, name: str, line: Proxy) -> None:
    with hook_of(line, name, "fail_open") as hook:
        line.refusing = True
        done = dedup_bulk(client, five(name), hook=hook)
        assert (tuple(done), len(done.report.inconclusive)) == ((5, []), 5)
        assert {each["relation"] for each in dedup_fields(client, name).values()} == {"inconclusive"}
        line.refusing = False
        hook.recheck(name)
        assert clusters(client, name) == STORIES


def test_fail_closed_writes_nothing(client: Elasticsearch, name: str, line: Proxy) -> None:
    async def write() -> None:
        async with AsyncElasticsearch(url_of("es8")) as other:
            await async_dedup_bulk(other, five(name), hook=hook)

    with hook_of(line, name, "fail_closed") as hook:
        line.refusing = True
        with pytest.raises(NotDecided, match="5 documents were not written") as refused:
            dedup_bulk(client, five(name), hook=hook)
        assert refused.value.retryable
        with pytest.raises(NotDecided):
            list(dedup_streaming_bulk(client, five(name), hook=hook))
        with pytest.raises(NotDecided):
            asyncio.run(write())
        with pytest.raises(NotDecided):
            list(dedup_parallel_bulk(client, five(name), 1, hook=hook))
        with pytest.raises(NotDecided):
            hook.process(five(name))
        assert not dedup_fields(client, name)
        line.refusing = False
        assert tuple(dedup_bulk(client, five(name), hook=hook)) == (5, [])
        assert clusters(client, name) == STORIES


def test_fail_closed_keeps_what_was_written_before(client: Elasticsearch, name: str, line: Proxy) -> None:
    def actions() -> Iterator[dict[str, object]]:
        for number, action in enumerate(five(name)):
            if number == 4:  # the batches before it are written, or decided on
                line.refusing = True
            yield action

    with hook_of(line, name, "fail_closed") as hook:
        with pytest.raises(NotDecided):
            for _ in dedup_streaming_bulk(client, actions(), 1, hook=hook):
                pass
        assert len(dedup_fields(client, name)) == 4
        line.refusing = False
        assert tuple(dedup_bulk(client, five(name), hook=hook)) == (5, [])
        assert clusters(client, name) == STORIES
