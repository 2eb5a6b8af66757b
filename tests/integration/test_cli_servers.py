"""Every command of the command line while a server is missing, silent, refuses credentials or has a wrong version.

Each ends with one line that says what to do, an exit code, and in time.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

import pytest
from typer.testing import CliRunner

from es_dedup.cli.main import app
from es_dedup.index.jobs import DeadLetter
from scripts.docssupport import reference
from tests.servers import url_of
from tests.source_indices import attached, documents, settings, source_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    Fault = Callable[..., AbstractContextManager[int]]

REQUEST_SECONDS: Final = 0.5
MOST_SECONDS: Final = 15.0
"""For a command; it is a second on an idle machine, with ``REQUEST_SECONDS`` for one request."""

DECIDED: Final = ("--reason", "one event", "--author", "Li")
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "scan": ("pages",),
    "add": ("pages",),
    "check": ("pages/a.txt",),
    "explain": ("a.txt", "b.txt"),
    "clusters": (),
    "quality labels": (),
    "show": ("a.txt",),
    "search": ("words",),
    "index export": ("--what", "keep"),
    "index remove": ("a.txt",),
    "index stats": (),
    "index doctor": (),
    "elastic attach": ("{index}", "--content-field", "html", "--html"),
    "elastic detach": ("{index}",),
    "elastic backfill": (),
    "elastic reindex": (),
    "elastic recluster": ("--force",),
    "elastic audit": (),
    "elastic jobs": (),
    "elastic worker": (),
    "elastic dead list": (),
    "elastic dead replay": (),
    "elastic dead drop": (),
    "serve": ("--port", "0"),
    "quality override different": ("a.txt", "b.txt", *DECIDED),
    "quality override same": ("a.txt", "b.txt", *DECIDED),
    "quality override canonical": ("a.txt", *DECIDED),
    "quality override undo": ("none", *DECIDED),
    "quality override ignore": ("--site", "a.example", "--text", "Subscribe now", *DECIDED),
    "quality override list": (),
    "quality override export": (),
    "quality override import": ("overrides.jsonl",),
    "index copy": ("{db}", "copy.db"),
    "index changes": (),
    "elastic follow": (),
    "elastic purge": ("{index}",),
    "text": ("a.txt",),
}
"""Commands that need Elasticsearch, with arguments."""
ON_FILES: Final = ("quality eval", "quality tune", "config", "filter")
"""Commands that work on files and in memory, or tell of the settings."""
ON_SPARK: Final = ("spark run", "spark load")
"""Commands that need Spark; ``tests/spark`` has their faults."""
REDIS_COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "elastic backfill": (),
    "elastic recluster": ("--force",),
    "elastic dead replay": (),
    "elastic worker": (),
}
"""Commands that need Redis, with arguments."""


class _Answers(BaseHTTPRequestHandler):
    """Gives one answer to every request."""

    protocol_version = "HTTP/1.1"
    status, body, product = 200, b"{}", True

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.body)))
        if self.product:
            self.send_header("X-Elastic-Product", "Elasticsearch")
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else self.body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - names of HTTP

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def answering(**answer: Any) -> Iterator[int]:
    """The port of an HTTP server that gives one answer to every request."""
    handler = type("Handler", (_Answers,), answer)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_port
        server.shutdown()


@contextmanager
def closed() -> Iterator[int]:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield port


@contextmanager
def silent() -> Iterator[int]:
    """A port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        yield listening.getsockname()[1]


@contextmanager
def saying(line: bytes) -> Iterator[int]:
    """A port of a server that answers every piece of a request with the same line, as Redis may."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def talk(client: socket.socket) -> None:
            with client:
                while client.recv(4096):
                    client.sendall(line)

        def listen() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=talk, args=(client,), daemon=True).start()

        threading.Thread(target=listen, daemon=True).start()
        yield listening.getsockname()[1]


def refusal(status: int, kind: str) -> bytes:
    """An answer of Elasticsearch to a request it does not allow."""
    return f'{{"error":{{"type":"{kind}","reason":"not allowed"}},"status":{status}}}'.encode()


ELASTICSEARCH: Final[dict[str, tuple[Fault, dict[str, Any], str]]] = {
    "missing": (closed, {}, "refused"),
    "silent": (silent, {}, "answer"),
    "wrong-password": (
        answering,
        {"status": 401, "body": refusal(401, "security_exception")},
        "password or API key",
    ),
    "no-privilege": (
        answering,
        {"status": 403, "body": refusal(403, "security_exception")},
        "a role that allows it",
    ),
    "too-old": (answering, {"body": b'{"nodes":{"a":{"version":"8.10.4"}}}'}, "8.16.6"),
    "another-product": (answering, {"product": False}, "Elasticsearch"),
}
FAULTS_OF_ALL: Final = ("missing", "no-privilege")
"""Faults that every command is tried with: no answer, and an error as the answer."""
COMMANDS_OF_ALL: Final = (
    "scan",
    "check",
    "show",
    "index stats",
    "index doctor",
    "index remove",
    "quality override same",
    "index copy",
    "elastic attach",
    "elastic backfill",
    "elastic jobs",
    "elastic worker",
    "elastic follow",
    "serve",
)
"""Commands that are tried with every fault: those of each kind that open the index in a way of their own, or ask another index."""
REDIS: Final[dict[str, tuple[Fault, dict[str, Any], str]]] = {
    "missing": (closed, {}, "refused"),
    "silent": (silent, {}, "answer"),
    "wrong-password": (
        saying,
        {"line": b"-WRONGPASS invalid username-password pair\r\n"},
        "maintenance.broker",
    ),
    "no-password": (saying, {"line": b"-NOAUTH Authentication required.\r\n"}, "maintenance.broker"),
    "another-program": (saying, {"line": b"HTTP/1.1 400 Bad Request\r\n\r\n"}, "maintenance.broker"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with pages, and short times."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.txt").write_text("The ferry runs again, the council said on Monday.")
    (tmp_path / "overrides.jsonl").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ES_DEDUP_ELASTIC__REQUEST_SECONDS", str(REQUEST_SECONDS))
    monkeypatch.setenv("ES_DEDUP_ELASTIC__RETRY_SECONDS", str(REQUEST_SECONDS))
    return tmp_path


def check(command: str, words: tuple[str, ...], db: str, said: str) -> None:
    """Run a command; it must end in time with one line and code 1."""
    started = time.monotonic()
    done = CliRunner().invoke(
        app, ["--db", db, *command.split(), *(word.replace("{db}", db) for word in words)]
    )
    assert isinstance(done.exception, SystemExit), done.exception
    assert time.monotonic() - started < MOST_SECONDS
    assert done.exit_code == 1, done.output
    told = done.stdout if command == "index doctor" else done.stderr
    assert said in told
    if command != "index doctor":
        errors = [line for line in done.stderr.splitlines() if not line.startswith(NOTES)]
        assert len(errors) == 1
        assert errors[0].startswith("error: ")


NOTES: Final = ("waiting for", "job ")
"""How lines on standard error begin that are no error."""


def test_every_command_is_in_a_table() -> None:
    assert sorted(reference.commands()) == sorted((*COMMANDS, *ON_FILES, *ON_SPARK))


@pytest.mark.parametrize(
    ("fault", "command"),
    [
        (fault, command)
        for fault in ELASTICSEARCH
        for command in (COMMANDS if fault in FAULTS_OF_ALL else COMMANDS_OF_ALL)
    ],
)
def test_elasticsearch_cannot_be_used(folder: Path, fault: str, command: str) -> None:
    server, options, said = ELASTICSEARCH[fault]
    with server(**options) as port:
        check(command, COMMANDS[command], f"http://127.0.0.1:{port}/pages", said)


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    """An attached index with documents that wait to be looked at, and a dead letter."""
    with source_index(documents()) as (_, name), attached(name, settings()) as site:
        site.jobs.put_dead_letters([DeadLetter(f"{name}/none", "ingest", "an error", 5, 0)])
        yield f"{url_of('es8')}/{name}"


@pytest.mark.parametrize("command", REDIS_COMMANDS)
@pytest.mark.parametrize("fault", REDIS)
@pytest.mark.slow
def test_redis_cannot_be_used(
    folder: Path, place: str, monkeypatch: pytest.MonkeyPatch, fault: str, command: str
) -> None:
    monkeypatch.setenv("ES_DEDUP_ELASTIC__REQUEST_SECONDS", "30")
    server, options, said = REDIS[fault]
    with server(**options) as port:
        monkeypatch.setenv("ES_DEDUP_MAINTENANCE__BROKER", f"redis://127.0.0.1:{port}/0")
        check(command, REDIS_COMMANDS[command], place, said)
