"""Input that is easily lost without a word: each file and record is read, or named with its place and counted."""

import json
import os
import re
import socket
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from es_dedup.cli.main import app
from es_dedup.model import Page
from es_dedup.readers import Fields, ReadOptions, read_pages
from tests.reading import LINE, PACKERS, lines_of, read

ROOT = Path(__file__).parents[2]


def scan_stdin(data: bytes, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """``es-dedup scan -`` with these bytes in a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "es_dedup", "--json", "scan", "-"],
        input=data,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=120,
        check=False,
    )


class TestFolders:
    def test_other_kinds_and_links_to_folders_are_counted(self, tmp_path: Path) -> None:
        for name in ("b.PNG", "c.png", "d.json", "Makefile", "f.css.gz", "g.css?v=1"):
            (tmp_path / name).write_bytes(b"<p>x")
        pages = [
            "a.html",
            "e.html?page=2.1",
            "g.html@v",
            "h.shtml",
            "i.php?id=7",
            "j.php?id=7.html",
            "j.php?load=a.gz",
            "k.aspx",
            "l.x@y.html",
        ]
        for name in pages:
            (tmp_path / name).write_bytes(b"<p>x")
        (tmp_path / "loop").symlink_to(tmp_path)
        source = read_pages([tmp_path])
        assert [item.id for item in source if isinstance(item, Page)] == pages
        assert source.ignored == {
            ".png": 2, ".json": 1, "without a suffix": 1, ".css?v=1": 1, ".gz": 1, "links to folders": 1,
        }  # fmt: skip

    def test_what_is_no_regular_file_is_named_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.jsonl")
        (tmp_path / "b.html").symlink_to("b.html")
        (tmp_path / "c.html").symlink_to("/proc/self/mem")  # opens, but cannot be read
        (tmp_path / "d.html").mkdir()
        (tmp_path / "d.html/e.html").write_bytes(b"<p>in a folder with the name of a page")
        (tmp_path / "g.html").symlink_to(tmp_path / "gone.html")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.relpath(tmp_path / "f.html"))
            ids, failures = read(tmp_path)
        assert ids == ["d.html/e.html"]
        assert [failure.partition(": ")[0] for failure in failures] == [
            str(tmp_path / name) for name in ("a.jsonl", "b.html", "c.html", "f.html", "g.html")
        ]

    def test_a_file_without_permission_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").write_bytes(b"<p>x")
        (tmp_path / "b.html").write_bytes(b"<p>y")
        (tmp_path / "c").mkdir()
        (tmp_path / "b.html").chmod(0)
        (tmp_path / "c").chmod(0)
        code = f"""
import os
if os.getuid() == 0:
    os.chmod({str(tmp_path)!r}, 0o755)
from es_dedup.readers import read_pages
list(read_pages([]))
if os.getuid() == 0:
    os.seteuid(65534)
os.chdir({str(tmp_path)!r})
for item in read_pages(["."]):
    print(getattr(item, "id", item))
"""
        above = [folder for folder in tmp_path.parents if not folder.stat().st_mode & 0o001]
        for folder in above:
            folder.chmod(0o711)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        (tmp_path / "c").chmod(0o700)
        assert done.stdout.splitlines() == [
            "a.html", "b.html: cannot be read: Permission denied", "./c: cannot be read: Permission denied",
        ], done.stderr  # fmt: skip

    def test_bytes_of_a_name_that_are_no_text_become_escapes(self, tmp_path: Path) -> None:
        for name in (b"\xff.html", "新闻.html".encode("gbk"), "新闻.html".encode()):
            (tmp_path / os.fsdecode(name)).write_text("x", encoding="utf-8")
        escaped = r"\udcd0\udcc2\udcce\udcc5.html"
        assert read(tmp_path) == (["新闻.html", escaped, r"\udcff.html"], [])

    def test_very_deep_folders_are_walked(self, tmp_path: Path) -> None:
        here = os.open(tmp_path, os.O_RDONLY)
        for _ in range(200):
            os.mkdir("d", dir_fd=here)
            here = os.open("d", os.O_RDONLY, dir_fd=here)
        with os.fdopen(os.open("a.html", os.O_WRONLY | os.O_CREAT, dir_fd=here), "w") as stream:
            stream.write("x")
        assert len(read(tmp_path)[0]) == 1


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.json", "a.csv", "a.html", "a.warc", "a.txt", "no-suffix", "-"]
)
def test_what_is_compressed_twice_is_named(tmp_path: Path, name: str) -> None:
    for outer, inner in product(PACKERS, PACKERS):
        data = PACKERS[outer](PACKERS[inner](LINE))
        path = tmp_path / (name if name == "no-suffix" else f"{name}.{outer}")
        path.write_bytes(data)
        problem = f"{path}: cannot be read: it is compressed twice: unpack it once, then read that"
        if name != "-":
            assert read(path) == ([], [problem])
    if name == "-":
        done = scan_stdin(data, tmp_path)
        assert (done.returncode, b"compressed twice" in done.stderr) == (3, True), done.stderr
    elif name.endswith(("jsonl", "json", "csv", "warc")):
        filtered = CliRunner().invoke(app, ["filter", str(path)])
        assert filtered.exit_code, filtered.output
        assert "compressed twice" in filtered.output


def test_standard_input_may_be_packed_or_empty(tmp_path: Path) -> None:
    done = scan_stdin(PACKERS["bz2"](LINE), tmp_path)
    assert (done.returncode, json.loads(done.stdout)["stored"]) == (0, 1), done.stderr
    done = scan_stdin(b"", tmp_path)
    assert (done.returncode, b"standard input is empty" in done.stderr) == (3, True)


def test_a_pipe_of_lines_is_read_as_they_come() -> None:
    code = (
        "from es_dedup.readers import read_pages\nfor page in read_pages(['-']): print(page.id, flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(json.dumps({"id": f"p{number}", "text": "t"}).encode() + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"p{number}\n".encode()


def test_arguments_of_a_wrong_type_raise_at_once() -> None:
    wrong_paths: Any
    for wrong_paths in ("folder", b"folder", Path("folder"), 5, None):
        with pytest.raises(TypeError, match=r"paths must be a list of paths.*write \[path\]"):
            read_pages(wrong_paths)
    wrong_path: Any
    for wrong_path in (5, None, b"a", Page(id="1")):
        with pytest.raises(TypeError, match="must be a string or a Path"):
            read_pages([wrong_path])
    wrong_options: Any
    for wrong_options in ({"encoding": "utf-8"}, Fields(), "utf-8"):
        with pytest.raises(TypeError, match="ReadOptions"):
            read_pages([], wrong_options)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"fields": {"id": "a"}}, "fields\n.*instance of Fields"),
        ({"encoding": "nope"}, "unknown encoding"),
        ({"encoding": None}, "encoding\n.*string"),
        ({"warc_id": "urls"}, "'url' or 'record'"),
        ({"id_from": "row"}, "id_from\n.*'field', 'place' or 'either'"),
        ({"max_page_bytes": 0}, "max_page_bytes\n.*greater than or equal to 1"),
    ]
    for options, words in wrong:
        with pytest.raises(ValueError, match=words):
            ReadOptions(**options)
    with pytest.raises(ValueError, match=r"text\n.*string"):
        Fields(text=5)  # type: ignore[arg-type]  # what is tested


def test_rows_without_an_id_have_a_digest_of_their_content_wherever_they_stand(tmp_path: Path) -> None:
    rows = [
        {"text": "Caf\u00e9"},
        {"body": " Cafe\u0301\r\n", "id": None},
        {"text": "Caf\u00e9", "title": "T"},
        {"text": "-5"},
    ]
    (tmp_path / "a.jsonl").write_bytes(lines_of(*rows))
    (tmp_path / "b.jsonl").write_bytes(lines_of({"text": "5"}, *rows))
    ids, later = read(tmp_path / "a.jsonl")[0], read(tmp_path / "b.jsonl")[0]
    assert ids == later[1:]
    assert [ids.index(each) for each in [*ids, later[0]] if each in ids] == [0, 0, 2, 3]
    assert all(re.fullmatch("content-[0-9a-f]{32}", each) for each in ids)


def test_a_path_with_a_nul_is_a_failure(tmp_path: Path) -> None:
    assert len(read(tmp_path / "a\0b")[1]) == 1


def test_a_single_file_is_named_below_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.html").write_text("x", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert read("./sub/a.html") == (["a.html"], [])
    assert read("./sub/a.html", root=".") == (["sub/a.html"], [])


def test_damaged_wide_text_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes((LINE * 20_000).decode().encode("utf-16") + b"\x00\xd8\x00")
    ids, (failure,) = read(path)
    assert failure.endswith(": not utf-16 text; the rest of the file was left out")
    assert len(ids) + 1 == int(failure.split(":")[1]) > 10_000
    for kind in ("jsonl", "json"):
        (tmp_path / f"b.{kind}").write_bytes(LINE)
        (failure,) = read(tmp_path / f"b.{kind}", encoding="utf-16")[1]
        assert failure.partition("not ")[2] == "utf-16 text; the rest of the file was left out"


def test_names_of_fields_are_read_in_the_forms_of_other_programs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"Doc ID;Subject;Body;Created At\n1;T;x;2026-03-04\n")
    columns = {"docId": ["2"], "Main-Text": ["y"], "publishedAt": ["2026-03-04"]}
    pq.write_table(pa.table(columns), tmp_path / "b.parquet")
    (tmp_path / "c.jsonl").write_text('{"id": "3", "content_html": "<p>z", "date_published": "2026-03-04"}')
    assert list(read_pages([tmp_path])) == [
        Page("1", text="x", title="T", published="2026-03-04"),
        Page("2", text="y", published="2026-03-04"),
        Page("3", html="<p>z", published="2026-03-04"),
    ]


@pytest.mark.parametrize(
    ("record", "page"),
    [
        ({"text": "t", "title": False, "url": False, "date": False}, Page("1", text="t")),
        ({"text": False, "html": "<p>x"}, Page("1", html="<p>x")),
        ({"text": "t", "time": [12, 13]}, Page("1", text="t", published="[12, 13]")),
        ({"text": "t", "time": {"y": 1}}, Page("1", text="t", published="{'y': 1}")),
        ({"text": "t", "time": True}, Page("1", text="t", published="True")),
    ],
)
def test_false_is_a_missing_value_and_no_time_costs_a_page(
    tmp_path: Path, record: dict[str, Any], page: Page
) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "1", **record}))
    assert list(read_pages([tmp_path / "a.jsonl"])) == [page]
