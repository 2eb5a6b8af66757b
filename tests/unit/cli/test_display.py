"""Progress and tables: drawn on a terminal, plain elsewhere, silent when asked."""

import io
import re
import sys

import pytest
from typer.testing import CliRunner

from es_dedup.cli.main import app
from es_dedup.cli.output import Output
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.model import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, *, quiet: bool = False, monkeypatch: pytest.MonkeyPatch) -> str:
    """What two stages of progress leave on standard error."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with ProgressDisplay(quiet=quiet) as display:
        for done in range(1, 4):
            display(Progress("read", done))
        display.count("verify", 50, 100)
        display.count("verify", 60, 100)
    return stream.getvalue()


def test_a_terminal_gets_a_bar_with_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown(Terminal(), monkeypatch=monkeypatch))
    assert "comparing pairs" in text
    assert "60 of 100" in text


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(0, 1000, 10))
    monkeypatch.setattr("es_dedup.cli.progress.time.monotonic", lambda: float(next(ticks)))
    lines = shown(io.StringIO(), monkeypatch=monkeypatch).splitlines()
    assert lines == ["reading: 3 (0/s)"]


def test_a_log_tells_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(0, 1000, 20))
    monkeypatch.setattr("es_dedup.cli.progress.time.monotonic", lambda: float(next(ticks)))
    lines = shown(io.StringIO(), monkeypatch=monkeypatch).splitlines()
    assert lines[-1] == "comparing pairs: 60 of 100 (3/s, 13 s left)"


def test_quiet_means_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(Terminal(), quiet=True, monkeypatch=monkeypatch) == ""


def test_tables_are_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    Output(as_json=False, quiet=False).table(("one", "two"), [("[bold]x", 2)])
    assert "[bold]x" in stream.getvalue()


@pytest.mark.parametrize(("length", "whole"), [(40, True), (76, True), (300, False)])
def test_ids_are_never_cut(monkeypatch: pytest.MonkeyPatch, length: int, whole: bool) -> None:
    """Other columns are folded first; then a row has lines of its own; an id longer than a line is folded."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "80")
    page_id = "-".join(map(str, range(100, 100 + length // 4)))
    row = ("0.5", page_id, "大桥" * 40, 3)
    Output(as_json=False, quiet=False).table(("score", "page", "title", "similar pages"), [row])
    drawn = re.sub("\x1b\\[[0-9;]*m", "", stream.getvalue())
    assert max(map(len, drawn.splitlines())) <= 80
    assert (page_id in drawn) == whole
    assert "similar" in drawn, "all columns are there"
    assert "".join(re.findall(r"[\d-]{5,}", drawn)) == page_id


def test_relations_have_colours_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    output = Output(as_json=False, quiet=False)
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        output.line("a: duplicate of b", "duplicate")
        output.table(("page", "relation"), [("a", "contained")])
        plain = re.sub("\x1b\\[[0-9;]*m", "", stream.getvalue())
        assert plain.startswith("a: duplicate of b\n")
        coloured = [f"\x1b[{colour}m{word}\x1b[0m" for colour, word in ((32, "duplicate"), (36, "contained"))]
        assert [each in stream.getvalue() for each in coloured] == [stream.isatty()] * 2


def test_json_draws_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True, quiet=False).table(("one",), [("x",)])
    assert capsys.readouterr().out == ""


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("es-dedup")
