"""A real server of the REST API for tests."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.processes import PROGRAM

SECONDS: Final = 120
TEXT: Final = (
    "The ferry ran aground at noon on Monday. All 214 passengers were taken off safely by three tugs."
)
OTHER: Final = "Nobody has seen the mayor of the upper town since the flood of last March broke the old dam."
NDJSON: Final = {"Content-Type": "application/x-ndjson"}

EVERYWHERE: Final = pytest.mark.parametrize("place", ["file", "server", "es9", "opensearch"], indirect=True)
"""For the few tests of server and console that also run on the other servers."""


class Api(httpx.Client):
    """A client with a token, and the process that it speaks to.

    Attributes:
        process: the server.
        tokens: by scope.
        folder: where the server runs, with its standard error in ``err``.
    """

    def __init__(self, process: subprocess.Popen[str], folder: Path, scope: str = "write") -> None:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "err").read_text()
        path = folder / "es-dedup.tokens"
        self.tokens = dict(each.split() for each in path.read_text().splitlines()) if path.exists() else {}
        self.process, self.folder, self.address = process, folder, json.loads(line)["address"]
        headers = {"Authorization": f"Bearer {self.tokens[scope]}"} if scope in self.tokens else {}
        super().__init__(base_url=self.address, headers=headers, timeout=SECONDS, trust_env=False)

    def lines(self, path: str, *pages: Any, **options: Any) -> httpx.Response:
        """Send pages, or lines as they are, as NDJSON."""
        parts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in pages]
        return self.post(path, content=b"\n".join(parts), headers=NDJSON, **options)

    def stop(self) -> int:
        """End the server by SIGTERM; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


def problem(answer: httpx.Response, status: int, name: str) -> Any:
    """The problem of an answer, which must be of a kind."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert (found["status"], found["type"]) == (status, f"urn:es-dedup:problem:{name}")
    assert found["title"]
    assert found["detail"]
    return found


@contextmanager
def serving(
    place: str,
    folder: Path,
    *options: str,
    variables: Mapping[str, str] | None = None,
    ready: bool = True,
    **settings: Any,
) -> Iterator[Api]:
    """A server on a free port, ended with the block.

    Args:
        place: of the index.
        folder: where it runs and keeps its tokens.
        options: of the command.
        variables: of the environment.
        ready: wait until a process has read the index.
        settings: of section ``serve``.
    """
    folder.mkdir(exist_ok=True)
    given = {f"ES_DEDUP_SERVE__{name.upper()}": str(value) for name, value in settings.items()}
    with (folder / "err").open("w") as err:
        process = subprocess.Popen(
            [PROGRAM, "--json", "--db", place, "serve", "--port", "0", *options],
            cwd=folder,
            env={**os.environ, "ES_DEDUP_SERVE__PROCESSES": "1", **given, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
        )
    try:
        with Api(process, folder) as api:
            while ready and api.get("/readyz").json().get("type", "").endswith(":opening"):
                time.sleep(0.05)
            yield api
    finally:
        process.terminate()
        process.wait(SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def bare(view: str) -> str:
    """A view whose cells have no attributes."""
    return re.sub(r"<td [^>]*>", "<td>", view)


@contextmanager
def browsing(api: Api, scope: str = "write") -> Iterator[httpx.Client]:
    """A browser's requests to the console, signed in."""
    with httpx.Client(base_url=api.address, timeout=SECONDS, trust_env=False) as client:
        given = {"token": api.tokens[scope], "to": "/console"}
        assert client.post("/console/sign-in", data=given).status_code == 303
        yield client
