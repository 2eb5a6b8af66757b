"""``quality extract`` shows what is read out of a page and why, from a file or standard input."""

import re
from pathlib import Path

import pytest

from tests.commands import ran, rows

SAMPLE = Path(__file__).parents[2] / "samples" / "pages" / "zhportal" / "marathon.html"


def test_every_block_is_shown_with_what_became_of_it() -> None:
    shown = ran("quality", "extract", SAMPLE).output
    kept = [line for line in shown.splitlines() if line.startswith("+ ")]
    dropped = [line for line in shown.splitlines() if line.startswith("- ")]
    assert kept
    assert dropped
    assert all(re.match(r"[+-] (?:[01]\.\d\d .*\[.+\]|\d+ more)", line) for line in (*kept, *dropped))
    assert "kind       article" in shown


def test_file_and_standard_input_give_the_same() -> None:
    url = ("--url", "https://zhportal.example/marathon.html")
    found = [
        rows("quality", "extract", *where, given=stdin)[0]
        for where, stdin in (
            ((str(SAMPLE), *url), None),
            (("-", *url), SAMPLE.read_bytes()),
        )
    ]
    assert found[0] == found[1]
    assert found[0]["why"]["blocks"]


def test_another_extractor_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_DEDUP_EXTRACTION__EXTRACTOR", "plain")
    shown = ran("quality", "extract", SAMPLE, "--no-blocks").output
    assert "责任编辑" in shown


def test_what_cannot_be_read_is_an_error_without_a_traceback() -> None:
    assert "nowhere.html" in ran("quality", "extract", "nowhere.html", code=1).output
    of_server = ran("quality", "extract", "https://a.example/?a=1&b", code=1).output
    assert "curl -s 'https://a.example/?a=1&b' | es-dedup quality extract - --url" in of_server
