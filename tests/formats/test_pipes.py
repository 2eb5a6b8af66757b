"""Pipes: read once, of the kind that their content or an option says."""

import bz2
import contextlib
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from es_dedup.model import Page
from es_dedup.readers import InputFailure, ReadOptions, read_pages

TEXTS = [f"{number}: The ferry ran aground on a sandbank shortly before six." for number in range(300)]


def lines() -> bytes:
    """JSON lines."""
    return b"".join(
        json.dumps({"id": str(number), "text": text}).encode() + b"\n" for number, text in enumerate(TEXTS)
    )


def array() -> bytes:
    """A JSON array."""
    return b"\xef\xbb\xbf\n[" + b",".join(lines().splitlines()) + b"]"


def table(delimiter: str) -> bytes:
    """A table with a header."""
    rows = io.StringIO(newline="")
    csv.writer(rows, delimiter=delimiter).writerows(
        [("id", "text"), *((str(at), text) for at, text in enumerate(TEXTS))]
    )
    return rows.getvalue().encode()


def parquet() -> bytes:
    """A Parquet file."""
    pa = pytest.importorskip("pyarrow")
    stream = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(
        pa.table({"id": [str(at) for at in range(len(TEXTS))], "text": TEXTS}), stream
    )
    return stream.getvalue()


def archive() -> bytes:
    """A WET file, packed record by record."""
    head = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:uuid:{0}>\r\nWARC-Target-URI: http://a/{0}\r\nContent-Type: text/plain\r\n"
    return b"".join(
        gzip.compress(f"{head.format(at)}Content-Length: {len(text)}\r\n\r\n{text}\r\n\r\n".encode())
        for at, text in enumerate(TEXTS)
    )


def packed_archive() -> bytes:
    """A WACZ file with that archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("archive/data.warc.gz", archive())
    return stream.getvalue()


KINDS: dict[str, tuple[Callable[[], bytes], ReadOptions]] = {
    "jsonl": (lines, ReadOptions()),
    "jsonl.gz": (lambda: gzip.compress(lines()), ReadOptions()),
    "jsonl.bz2": (lambda: bz2.compress(lines()), ReadOptions()),
    "array": (array, ReadOptions()),
    "csv": (lambda: table(","), ReadOptions(format="csv")),
    "tsv": (lambda: table("\t"), ReadOptions(format="tsv")),
    "parquet": (parquet, ReadOptions()),
    "warc": (archive, ReadOptions()),
    "wacz": (packed_archive, ReadOptions()),
}


def fifo(path: Path, data: bytes) -> Path:
    """A named pipe that gives some bytes once."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return path


@pytest.mark.parametrize("name", ["pipe", "plain", "-"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_name_is_read_by_its_content_or_an_option(
    tmp_path: Path, kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, options = KINDS[kind]
    path = tmp_path / name
    if name == "pipe":
        fifo(path, make())
    else:
        path.write_bytes(make())
    with contextlib.ExitStack() as stack:
        if name == "-":
            monkeypatch.setattr(sys, "stdin", stack.enter_context(path.open()))
        pages = list(read_pages(["-" if name == "-" else path], options))
    assert [page.text for page in pages if isinstance(page, Page)] == TEXTS, pages[:2]


def test_a_named_pipe_is_read_by_its_suffix(tmp_path: Path) -> None:
    path = fifo(tmp_path / "pages.csv", table(";"))
    assert [page.text for page in read_pages([path]) if isinstance(page, Page)] == TEXTS


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the file is empty"),
        (b"id,text\na,b\n", "not valid JSON"),
        (gzip.compress(lines())[:-9], "cut short"),
    ],
)
def test_what_a_pipe_does_not_give_is_named(tmp_path: Path, data: bytes, problem: str) -> None:
    items = list(read_pages([fifo(tmp_path / "pipe", data)]))
    assert isinstance(items[-1], InputFailure)
    assert problem in str(items[-1])


def test_a_file_of_another_suffix_is_read_as_the_option_says(tmp_path: Path) -> None:
    (tmp_path / "pages.data").write_bytes(lines())
    (tmp_path / "notes.txt").write_bytes(lines())
    (unknown,) = read_pages([tmp_path / "pages.data"])
    assert "--format" in str(unknown)
    for paths in (["pages.data"], ["notes.txt"], ["*.data"]):
        pages = list(read_pages([tmp_path / path for path in paths], ReadOptions(format="jsonl")))
        assert len(pages) == len(TEXTS)


@pytest.mark.parametrize("kind", ["jsonl.bz2", "csv", "parquet"])
def test_the_commands_read_what_the_shell_substitutes(tmp_path: Path, kind: str) -> None:
    make, options = KINDS[kind]
    (tmp_path / "file").write_bytes(make())
    command = f"{sys.executable} -m es_dedup"
    option = f"--format {options.format}" if options.format else ""
    script = f"{command} filter {option} <(cat file) --output kept && {command} --db pages.db scan {option} <(cat file)"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "stored" in done.stdout
    assert (tmp_path / "kept").stat().st_size
