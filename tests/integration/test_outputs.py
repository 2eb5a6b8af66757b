"""Outputs of commands: each replaces what is in its place when it is whole, but no index and no input."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from es_dedup import cli
from es_dedup.cli import targets
from es_dedup.cli.main import app
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.model.annotations import Label
from scripts.docssupport import reference
from tests.commands import ran
from tests.samples import story
from tests.servers import fresh_name, url_of

DUMPS = {
    "jsonl": b"".join(
        json.dumps({"id": f"p{number}", "text": story(number // 2, f"p{number}").text}).encode() + b"\n"
        for number in range(4)
    ),
    "csv": b"id,text\n" + b"".join(b'p%d,"The ferry ran aground on a sandbank %d"\n' % (number, number) for number in range(4)),
}  # fmt: skip


@dataclass(frozen=True)
class Output:
    """A command with an output.

    Attributes:
        arguments: ``OUT`` stands for the output.
        name: of the output.
        option: that gives it, by its name in the command.
        inputs: files that the command reads, by name.
        reached: whether the command can be run to its end here.
    """

    arguments: tuple[str, ...]
    name: str
    option: str
    inputs: tuple[str, ...] = ()
    reached: bool = True


OUTPUTS = {
    "export jsonl": Output(("index", "export", "-o", "OUT"), "clusters.jsonl", "--output"),
    "export csv": Output(("index", "export", "--what", "keep", "-o", "OUT"), "keep.csv", "--output"),
    "export parquet": Output(("index", "export", "--what", "drop", "-o", "OUT"), "drop.parquet", "--output"),
    "labels": Output(("quality", "labels", "-o", "OUT"), "agreed.jsonl", "--output"),
    "labels by reader": Output(
        ("quality", "labels", "--by-reader", "--import", "readers.jsonl", "-o", "OUT"), "by-reader.jsonl", "--output", ("readers.jsonl",)
    ),
    "override export": Output(("quality", "override", "export", "-o", "OUT"), "overrides.jsonl", "--output"),
    "report": Output(("scan", "pages.jsonl", "--report", "OUT"), "report.html", "--report", ("pages.jsonl",)),
    "filter": Output(("filter", "pages.jsonl", "-o", "OUT"), "kept.jsonl", "--output", ("pages.jsonl",)),
    "filter packed": Output(
        ("filter", "pages.jsonl.gz", "-o", "OUT"), "kept.jsonl.gz", "--output", ("pages.jsonl.gz",)
    ),
    "filter csv": Output(("filter", "pages.csv", "-o", "OUT"), "kept.csv", "--output", ("pages.csv",)),
    "filter dropped": Output(
        ("filter", "pages.jsonl", "-o", "kept.jsonl", "--dropped", "OUT"), "left.jsonl", "--dropped", ("pages.jsonl",)
    ),
    "filter reasons": Output(
        ("filter", "pages.jsonl", "-o", "kept.jsonl", "--reasons", "OUT"), "why.jsonl", "--reasons", ("pages.jsonl",)
    ),
    "filter folder": Output(
        ("filter", "pages.jsonl", "--output-dir", "out"), "out/pages.jsonl", "--output-dir"
    ),
    "purge": Output(("--db", "SERVER", "elastic", "purge", "news", "--apply", "--backup", "OUT"), "gone.jsonl", "--backup", reached=False),
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an index and the inputs of all commands."""
    import gzip  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    for ending, dump in DUMPS.items():
        Path(f"pages.{ending}").write_bytes(dump)
    Path("pages.jsonl.gz").write_bytes(gzip.compress(DUMPS["jsonl"]))
    Path("labels.jsonl").write_text('{"id_a": "p0", "id_b": "p1", "label": "dup"}\n', encoding="utf-8")
    Path("readers.jsonl").write_text(
        '{"id_a": "p0", "id_b": "p2", "label": "diff", "reader": "Li", "time": "2026-01-01T00:00:00.000000Z"}\n',
        encoding="utf-8",
    )
    for name in ("one.html", "two.html"):
        Path(name).write_text(f"<p>{story(1, name).text}</p>", encoding="utf-8")
    with Deduplicator.open("es-dedup.db") as dedup:
        dedup.scan([story(number // 2, f"p{number}") for number in range(4)])
        dedup.override_different("p0", "p2", reason="two events", author="Li")
        dedup.annotate("p0", "p1", Label.DUP, reader="Li")
    return tmp_path


def run(output: Output, out: str | Path = "") -> Result:
    """Run a command, its output being ``out`` or of its own name."""
    server = f"{url_of('es8')}/{fresh_name()}" if "SERVER" in output.arguments else ""
    given = {"OUT": str(out or output.name), "SERVER": server}
    return CliRunner().invoke(app, [given.get(each, each) for each in output.arguments], input="q\n")


def contents() -> dict[str, bytes]:
    """All files but the locks and logs of the command's own index."""
    return {
        str(path): path.read_bytes()
        for path in Path().rglob("*")
        if path.is_file() and not str(path).startswith("es-dedup.db")
    }


def refused(output: Output, out: str | Path) -> Result:
    """Run a command that must fail and change nothing."""
    link = Path(output.name)
    if output.option == "--output-dir":  # the name is that of the input
        Path("out").mkdir(exist_ok=True)
        link.symlink_to(Path(out).absolute())
    before = contents()
    done = run(output, out)
    assert done.exit_code not in (0, 3), (out, done.output)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert contents() == before, out
    if output.option == "--output-dir":
        link.unlink()
    return done


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_is_there(place: Path, name: str) -> None:
    output = OUTPUTS[name]
    index = place / "prod.db"
    with Deduplicator.open(str(index)) as dedup:
        dedup.scan([story(3, "only")])
    for part in ("", ".lock", "-wal", "-shm", "-journal"):
        assert "index" in refused(output, f"prod.db{part}").output
    assert "index" in refused(output, "es-dedup.db.lock").output
    with Deduplicator.open(str(index)) as dedup:
        dedup.add_many([story(4, "another")])
        assert Path("prod.db-wal").stat().st_size
        for part in ("", ".lock", "-wal", "-shm"):
            refused(output, f"prod.db{part}")
        assert dedup.count() == 2
        dedup.add_many([story(5, "a third")])
    Path("link").symlink_to("prod.db")
    refused(output, "link")
    if output.option != "--output-dir":
        Path("folder").mkdir()
        assert "folder" in refused(output, "folder").output.lower()
        assert "no folder" in refused(output, "gone/out").output
    for source in output.inputs:
        assert "input" in refused(output, source).output, source
        Path("hard link").hardlink_to(source)
        refused(output, "hard link")
        Path("hard link").unlink()
    with Deduplicator.open(str(index), read_only=True) as dedup:
        assert dedup.count() == 3


@pytest.mark.parametrize("name", [name for name, output in OUTPUTS.items() if output.reached])
def test_an_earlier_output_is_replaced_when_the_new_one_is_whole(place: Path, name: str) -> None:
    output = OUTPUTS[name]
    if output.option == "--output-dir":
        Path("out").mkdir()
    Path(output.name).touch(0o640)
    assert run(output).exit_code == 0  # an empty file
    first = Path(output.name).read_bytes()
    assert first
    assert Path(output.name).stat().st_mode & 0o777 == 0o640
    assert run(output).exit_code == 0
    real = place / "elsewhere"
    Path(output.name).rename(real)
    Path(output.name).symlink_to(real)
    assert run(output).exit_code == 0
    assert Path(output.name).is_symlink()
    part = Path(f"{real}.{os.getpid()}.part")
    part.symlink_to("/dev/full")
    before = real.read_bytes()
    done = run(output)
    assert done.exit_code == 1, done.output
    assert "no space left" in done.output
    assert real.read_bytes() == before
    assert not part.is_symlink()
    assert not list(place.rglob("*.part"))


def test_an_address_is_replaced(place: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe("/outputs/mine.jsonl", b"before")
    for _ in range(2):
        ran("index", "export", "-o", "memory://outputs/mine.jsonl")
    assert memory.cat("/outputs/mine.jsonl").startswith(b'{"cluster_id"')
    memory.rm("/outputs/mine.jsonl")


def test_every_option_that_names_an_output_is_here() -> None:
    """An option that is written to says so in its help; only ``open_target`` opens files to write."""
    says = re.compile(
        r"\b(outputs?|write|gets|added to|copy, which is made|file for the)\b|^folder of the tables\.$",
        re.IGNORECASE,
    )
    known = {
        (name, output.option)
        for output in OUTPUTS.values()
        for name in reference.commands()
        if " ".join(output.arguments).removeprefix("--db SERVER ").startswith(f"{name} ")
    }
    elsewhere = {("spark run", "--output"), ("index copy", "target")}
    found = set()

    for name, command in reference.commands().items():
        for each in command.params:
            if not getattr(each, "is_flag", False) and says.search(getattr(each, "help", "") or ""):
                found.add((name, max(each.opts, key=len)))
    no_output = {("index export", "--format")}
    assert found - no_output == known | elsewhere
    opens = re.compile(r"""\.open\("[wax]|write_text|write_bytes""")
    for path in {*Path(cli.__file__).parent.glob("*.py")} - {Path(targets.__file__)}:
        assert not opens.search(path.read_text(encoding="utf-8")), path
