"""The command line as people run it: real processes on the real pipeline."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.processes import ended, without_settings

CODE: Final = "from es_dedup.cli.main import run; run()"
ZH: Final = (
    "市交通局昨日宣布，跨江大桥将于十月一日正式通车。大桥全长四千二百米，双向六车道，设计时速八十公里。"
    "工程师介绍，施工期间共使用钢材三万吨。通车首月免收通行费，公交线路将同步调整。附近居民表示，过江时间可缩短四十分钟。"
)
OTHER: Final = (
    "本周末全市图书馆延长开放时间。读者可以凭身份证免费办理借书证，每次最多借阅十本。"
    "馆方还准备了六场讲座，主题包括古籍修复和儿童阅读。讲座需要提前三天在网站上预约。停车场在周日不收费。"
)
EN: Final = (
    "The ferry ran aground on a sandbank shortly before six on Tuesday morning, the coast guard said. "
    "None of the ninety passengers was hurt, and all of them reached the shore in two lifeboats. "
    "The captain told reporters that a buoy had drifted during the storm. Divers will inspect the hull on Wednesday. "
    "Until then the island is served by a smaller boat that takes no cars."
)


def command(*arguments: str) -> list[str]:
    """The words of a process that runs es-dedup."""
    return [sys.executable, "-c", CODE, *arguments]


def environment() -> dict[str, str]:
    """The environment of such a process."""
    return without_settings() | {"COLUMNS": "200"}


def run(
    *arguments: str, folder: Path, code: int = 0, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run es-dedup in a folder and check its exit code."""
    done = ended(*command(*arguments), cwd=folder, env=environment(), input=stdin)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def begun(*arguments: str, folder: Path, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Es-dedup at work in a folder."""
    return subprocess.Popen(
        command(*arguments), cwd=folder, env=environment(), stdout=stdout, stderr=subprocess.PIPE, text=True
    )


def lines(done: subprocess.CompletedProcess[str]) -> list[Any]:
    """Standard output, parsed line by line."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def write_corpus(path: Path, pages: int, start: int = 0) -> Path:
    """Pages of which each third repeats the one before it."""
    with path.open("w", encoding="utf-8") as stream:
        for number in range(start, start + pages):
            story = number - 1 if number % 3 == 2 else number
            text = "".join(
                f"第{story}号报道的第{part}句话谈到了编号为{story * 31 + part}的事情。" for part in range(12)
            )
            stream.write(json.dumps({"id": f"p{number:06}", "text": text}, ensure_ascii=False) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with page files: two copies in Chinese, two in English, one other page, in ``pages``."""
    pages = tmp_path / "pages"
    for name, text in {
        "zh/a": ZH,
        "zh/b": ZH + "记者现场报道。",
        "zh/c": OTHER,
        "en/a": EN,
        "en/b": EN + " More follows.",
    }.items():
        path = pages / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"<html><head><title>{name}</title></head><body><p>{text}</p></body></html>", encoding="utf-8"
        )
    return tmp_path


def test_one_command_finds_the_duplicates_and_writes_the_report(folder: Path) -> None:
    done = run("scan", "pages", "--report", "out.html", folder=folder)
    assert re.search(r"stored +5", done.stdout)
    found = lines(run("clusters", "--json", folder=folder))
    grouped = sorted(
        sorted([c["canonical"]["page_id"], *(m["page_id"] for m in c["members"])]) for c in found
    )
    assert grouped == [["en/a.html", "en/b.html"], ["zh/a.html", "zh/b.html"]]
    report = (folder / "out.html").read_text(encoding="utf-8")
    assert "跨江大桥" in report
    assert "<mark" in report
    assert "lifeboats" in report


@pytest.mark.slow
def test_the_commands_work_together(folder: Path) -> None:
    run("scan", "pages", folder=folder)
    assert "unchanged" in run("scan", "pages", folder=folder).stdout
    assert "more than 1 clusters; --limit 0" in run("clusters", "--limit", "1", folder=folder).stderr
    assert not run("clusters", folder=folder).stderr
    assert lines(run("explain", "zh/a.html", "zh/b.html", "--json", folder=folder))[0]["relation"] in (
        "duplicate",
        "exact",
    )
    assert "not merged" in run("explain", "zh/a.html", "zh/c.html", folder=folder).stdout
    assert lines(run("search", "跨江大桥", "--json", folder=folder))[0]["total_documents"] == 2
    keep = {row["page_id"] for row in lines(run("index", "export", "--what", "keep", folder=folder))}
    drop = {row["page_id"] for row in lines(run("index", "export", "--what", "drop", folder=folder))}
    assert (len(keep), len(drop), keep & drop) == (3, 2, set())
    (folder / "new.txt").write_text(ZH, encoding="utf-8")
    decision = lines(run("check", "new.txt", "--json", folder=folder, code=4))[0]
    assert decision["outcome"] == "duplicate"
    run("index", "remove", "zh/a.html", folder=folder)
    assert lines(run("index", "stats", "--json", folder=folder))[0]["pages"] == 4
    run("index", "doctor", folder=folder)
    shown = lines(run("config", "--json", folder=folder))[0]
    assert shown["differences"] == []


@pytest.mark.slow
def test_with_other_feature_settings_an_index_is_read_and_not_written(folder: Path) -> None:
    run("scan", "pages", folder=folder)
    before = run("clusters", "--json", folder=folder).stdout
    (folder / "es-dedup.toml").write_text("[ccdet]\nwindow = 7\n", encoding="utf-8")
    named = "ccdet.window is 10 in the index and 7 now"
    for command in ("clusters", "index stats", "index export", "index doctor"):
        assert named in (shown := run(*command.split(), "--json", folder=folder)).stdout + shown.stderr
    assert run("clusters", "--json", folder=folder).stdout == before
    assert "duplicate" in run("explain", "zh/a.html", "zh/b.html", folder=folder).stdout
    for command in ("scan", "add"):
        refused = run(command, "pages", folder=folder, code=1)
        assert named in refused.stderr
        assert "scan the pages again into a new index" in refused.stderr
    shown = lines(run("config", "--json", folder=folder))[0]
    assert [each["name"] for each in shown["differences"]] == ["ccdet.window"]


def test_what_is_no_index_is_refused(folder: Path) -> None:
    (folder / "es-dedup.db").write_text("no index at all" * 100, encoding="utf-8")
    assert "is not a readable es-dedup index" in run("index", "stats", folder=folder, code=1).stderr


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    write_corpus(folder / "corpus.jsonl", 600)
    run("scan", "corpus.jsonl", folder=folder)
    shell = begun("clusters", "--json", folder=folder, stdout=subprocess.PIPE)
    assert shell.stdout is not None
    assert shell.stderr is not None
    shell.stdout.readline()
    shell.stdout.close()
    complaint = shell.stderr.read()
    shell.stderr.close()
    assert "Traceback" not in complaint
    assert shell.wait(timeout=60) in (0, 141)


@dataclass(frozen=True)
class Stopped:
    """How a command ended that was stopped in its work."""

    code: int
    complaint: str
    workers_left: bool


def _stop_while_reading(folder: Path, stop: signal.Signals, verb: str) -> Stopped:
    """Feed pages through a pipe that stays open, so that the command is surely at work, then stop it."""
    complaint = folder / "stderr.txt"
    with complaint.open("wb") as stderr:
        process = subprocess.Popen(
            command(verb, "-"),
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,  # worker processes share its group, and no other process does
        )
    assert process.stdin is not None
    process.stdin.write((folder / "corpus.jsonl").read_bytes())
    process.stdin.flush()
    _wait((folder / "es-dedup.db").exists, 60)
    time.sleep(2.0)
    process.send_signal(stop)
    code = process.wait(timeout=60)
    process.stdin.close()
    left = not _wait(lambda: not _group_lives(process.pid), 10)
    if left:
        os.killpg(process.pid, signal.SIGKILL)
    return Stopped(code, complaint.read_text(encoding="utf-8"), left)


def _wait(ready: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("verb", "stop", "code"), [("scan", signal.SIGINT, 130), ("add", signal.SIGTERM, 143)]
)
@pytest.mark.slow
def test_an_interruption_keeps_what_is_done_and_says_how_to_go_on(
    folder: Path, verb: str, stop: signal.Signals, code: int
) -> None:
    write_corpus(folder / "corpus.jsonl", 3000)
    stopped = _stop_while_reading(folder, stop, verb)
    assert stopped.code == code, stopped.complaint
    assert "To go on, run the same command again" in stopped.complaint
    assert ("stopping; Ctrl-C again ends at once" in stopped.complaint) == (stop is signal.SIGINT)
    assert "Traceback" not in stopped.complaint
    assert not stopped.workers_left
    assert lines(run("scan", "corpus.jsonl", "--json", folder=folder))[0]["pages"] == 3000
    assert len(lines(run("clusters", "--json", folder=folder))) == 1000


@pytest.mark.parametrize("verb", ["scan", "add"])
@pytest.mark.slow
def test_after_a_kill_the_index_opens_and_the_scan_goes_on(folder: Path, verb: str) -> None:
    write_corpus(folder / "corpus.jsonl", 3000)
    stopped = _stop_while_reading(folder, signal.SIGKILL, verb)
    assert (stopped.code, stopped.workers_left) == (-signal.SIGKILL, False)
    run("index", "doctor", folder=folder)
    assert lines(run("scan", "corpus.jsonl", "--json", folder=folder))[0]["pages"] == 3000
    assert len(lines(run("clusters", "--json", folder=folder))) == 1000


@pytest.mark.slow
def test_two_writers_do_not_harm_each_other(folder: Path) -> None:
    write_corpus(folder / "one.jsonl", 900)
    write_corpus(folder / "two.jsonl", 900, start=900)
    both = [begun("-q", "scan", name, folder=folder) for name in ("one.jsonl", "two.jsonl")]
    for process in both:
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 0 or "is being written by another process" in complaint
        assert "Traceback" not in complaint
    run("scan", "one.jsonl", "two.jsonl", folder=folder)
    assert lines(run("index", "stats", "--json", folder=folder))[0]["pages"] == 1800
    run("index", "doctor", folder=folder)
