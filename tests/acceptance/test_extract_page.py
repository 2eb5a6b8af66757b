"""``quality extract`` shows what is read out of a page and why, from a file, standard input or a server."""

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.commands import ran, rows

SAMPLE = Path(__file__).parents[2] / "samples" / "pages" / "zhportal" / "marathon.html"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    """Serves the folder of the sample page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SAMPLE.parent))) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_every_block_is_shown_with_what_became_of_it() -> None:
    shown = ran("quality", "extract", SAMPLE).output
    kept = [line for line in shown.splitlines() if line.startswith("+ ")]
    dropped = [line for line in shown.splitlines() if line.startswith("- ")]
    assert kept
    assert dropped
    assert all(re.match(r"[+-] (?:[01]\.\d\d .*\[.+\]|\d+ more)", line) for line in (*kept, *dropped))
    assert "kind       article" in shown


def test_file_standard_input_and_server_give_the_same(server: str) -> None:
    found = [
        rows("quality", "extract", *where, given=stdin)[0]
        for where, stdin in (
            ((str(SAMPLE), "--url", f"{server}/marathon.html"), None),
            (("-", "--url", f"{server}/marathon.html"), SAMPLE.read_bytes()),
            ((f"{server}/marathon.html",), None),
        )
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]["why"]["blocks"]


def test_another_extractor_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_DEDUP_EXTRACTION__EXTRACTOR", "plain")
    shown = ran("quality", "extract", SAMPLE, "--no-blocks").output
    assert "责任编辑" in shown


@pytest.mark.parametrize("source", ["nowhere.html", "http://127.0.0.1:1/x", "http://[/"])
def test_what_cannot_be_read_is_an_error_without_a_traceback(source: str) -> None:
    assert "Traceback" not in ran("quality", "extract", source, code=1).output
