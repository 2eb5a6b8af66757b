"""What a command may not write over or read, and what it leaves alone."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from es_dedup.cli.main import app
from es_dedup.cli.output import readable
from tests.texts import article


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


@pytest.fixture
def scanned() -> None:
    """Two equal pages are in the default index."""
    rows = [json.dumps({"id": page, "text": article(1)}) + "\n" for page in "ab"]
    Path("pages.jsonl").write_text("".join(rows), encoding="utf-8")
    assert run("scan", "pages.jsonl").exit_code == 0


def test_a_report_replaces_no_input() -> None:
    Path("pages").mkdir()
    Path("pages/a.html").write_text("<p>text", encoding="utf-8")
    assert run("scan", "pages", "--report", "pages/a.html").exit_code == 2
    assert Path("pages/a.html").read_text(encoding="utf-8") == "<p>text"
    Path("pages/b.jsonl").write_text('{"id": "b", "text": "t"}\n', encoding="utf-8")
    assert run("scan", "pages", "--report", "pages/b.jsonl").exit_code == 2
    assert Path("pages/b.jsonl").read_text(encoding="utf-8").startswith("{")


def test_a_report_in_a_scanned_folder_is_no_page() -> None:
    Path("pages").mkdir()
    Path("pages/a.html").write_text("<p>text", encoding="utf-8")
    for _ in range(2):
        result = run("--json", "scan", "pages", "--report", "pages/report.html")
        assert (result.exit_code, json.loads(result.stdout)["read"]) == (0, 1)


def test_labels_in_the_corpus_are_no_pages() -> None:
    Path("pages").mkdir()
    for page in "ab":
        Path(f"pages/{page}.txt").write_text("同一篇文章。", encoding="utf-8")
    labels = '{"id_a": "a.txt", "id_b": "b.txt", "label": "dup"}\n'
    Path("pages/labels.jsonl").write_text(labels, encoding="utf-8")
    result = run("quality", "eval", "pages/labels.jsonl", "-c", "pages")
    assert "left out" not in result.stderr
    assert result.exit_code != 3


def test_an_address_is_written_to(scanned: None) -> None:
    storage = pytest.importorskip("fsspec").filesystem("memory")
    assert run("index", "export", "--what", "keep", "--output", "memory://lists/keep.jsonl").exit_code == 0
    assert storage.cat("/lists/keep.jsonl").decode() == run("index", "export", "--what", "keep").stdout
    refused = run("index", "export", "--output", "nowhere://lists/keep.jsonl")
    assert refused.exit_code == 2
    assert "nowhere" in refused.output


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_pipe_is_written_into(scanned: None, form: str) -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) as reader:
        assert run("index", "export", "--format", form, "-o", "pipe").exit_code == 0
        assert reader.communicate()[0]
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


def test_no_index_is_made_of_nothing() -> None:
    missing = run("scan", "nope")
    assert (missing.exit_code, "there is no nope" in missing.stderr) == (2, True)
    Path("empty.jsonl").touch()
    result = run("scan", "empty.jsonl", "--report", "report.html")
    assert (result.exit_code, "no index was made" in result.stderr) == (3, True)
    assert "empty.jsonl: the file is empty" in result.stderr
    assert [path.name for path in Path().iterdir()] == ["empty.jsonl"]


def test_standard_input_that_is_no_jsonl_is_explained_once() -> None:
    result = run("scan", "-", stdin="<html>\n<body>\n")
    assert result.stderr.count("standard input and pipes are read as JSON lines") == 1


def test_devices_are_no_record_files() -> None:
    Path("zero.jsonl").symlink_to("/dev/zero")
    result = run("scan", "zero.jsonl")
    assert (result.exit_code, "no regular file" in result.stderr) == (3, True)


def test_an_unknown_method_is_refused_with_the_known_ones(scanned: None) -> None:
    Path("labels.tsv").write_text("id_a\tid_b\tlabel\na\tb\tdup\n", encoding="utf-8")
    result = run("quality", "eval", "labels.tsv", "-c", "pages.jsonl", "--method", "nope")
    assert (result.exit_code, "simhash" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", ["eval", "tune"])
def test_labels_of_another_corpus_are_refused(scanned: None, command: str) -> None:
    Path("labels.tsv").write_text("id_a\tid_b\tlabel\nx\ty\tdup\n", encoding="utf-8")
    result = run("quality", command, "labels.tsv", "-c", "pages.jsonl")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "none of its 2 labelled pages" in result.stderr


def test_labels_come_from_a_regular_file(scanned: None) -> None:
    result = run("quality", "eval", "/dev/zero", "-c", "pages.jsonl")
    assert (result.exit_code, "no regular file" in result.stderr) == (1, True)


def test_closed_standard_output_is_no_traceback() -> None:
    code = "from es_dedup.cli.main import run; run()"
    command = ["/bin/sh", "-c", '"$0" "$@" >&-', sys.executable, "-c", code, "config"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_values_are_shown_readably() -> None:
    assert readable({"total": 1200, "on": True, "names": ["a", "b"]}) == "total 1,200, on true, names a, b"
