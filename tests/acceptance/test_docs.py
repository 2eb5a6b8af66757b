"""What the documents show works: their commands and programs are run, their links and names lead somewhere.

Blocks marked ``console`` and ``python`` are run, all of one document in order in one folder that holds ``samples``. In a
``console`` block a line ``$ command`` is run by bash and must end with code 0, or with N where a comment says
``# exit code N``. Lines below a command are its expected output; white space counts as one space, and ``…`` stands for
anything. Blocks of every other kind must be of a kind that is listed here as shown only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from es_dedup.settings.loading import Settings, describe

ROOT: Final = Path(__file__).resolve().parents[2]
LONG: Final = (
    "docs/how-to/choose-thresholds.md",
    "docs/reference/cli-daily.md",
    "docs/reference/cli-quality.md",
    "docs/tutorial.md",
)
INTEGRATIONS: Final = {
    "docs/how-to/deduplicate-for-retrieval.md": ("langchain_core", "haystack"),
    "docs/how-to/deduplicate-in-a-pipeline.md": ("datatrove",),
    "docs/how-to/deduplicate-in-scrapy.md": ("scrapy",),
    "docs/how-to/deduplicate-tables.md": ("pandas",),
}
MARKS: Final = dict.fromkeys(LONG, pytest.mark.slow) | dict.fromkeys(INTEGRATIONS, pytest.mark.integrations)
DOCUMENTS: Final = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "samples" / "README.md")
)
SHOWN_ONLY: Final = {"", "js", "json", "jsonl", "sh", "text", "toml", "xml"}
NOT_RUN: Final = {
    "CONTRIBUTING.md": {"python"},  # a test class to copy, run by pytest in tests/contract
    # run in tests/integration, on a server
    "docs/how-to/connect-writers.md": {"python"},
    "docs/how-to/follow-writers.md": {"python"},
    "docs/operations/README.md": {"python"},
    "docs/how-to/collapse-search-results.md": {"python"},
    "docs/how-to/put-the-hook-before-the-bulk-writer.md": {"python"},
    "docs/how-to/use-opensearch.md": {"python"},
    "docs/how-to/run-on-spark.md": {"python"},  # run in tests/spark
}
NEEDS: Final = {**INTEGRATIONS, "docs/how-to/train-the-extractor.md": ("catboost",)}
"""Packages without which the commands of a document are not run."""
SECONDS: Final = 240

_FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_EXIT_CODE: Final = re.compile(r"\s+# exit code (\d+)$")
_LINK: Final = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#{1,6} (.+?)(?: #+)?$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, its text without indent, its first line in the document."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One command of a console block."""

    text: str
    exit_code: int
    output: str


def blocks_of(document: str) -> list[Block]:
    """All fenced blocks."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        indent = match["indent"]
        lines = [line.removeprefix(indent) for line in match["body"].splitlines()]
        found.append(Block(match["kind"], "\n".join(lines) + "\n", text.count("\n", 0, match.start()) + 1))
    return found


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block with what they must print."""
    commands: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            code = _EXIT_CODE.search(line)
            commands.append(Command(_EXIT_CODE.sub("", line[2:]), int(code[1]) if code else 0, ""))
        else:
            last = commands.pop()
            commands.append(Command(last.text, last.exit_code, f"{last.output}{line}\n"))
    return commands


def runnable(document: str) -> list[Block]:
    """Blocks that are run."""
    left_out = NOT_RUN.get(document, set())
    return [block for block in blocks_of(document) if block.kind in {"console", "python"} - left_out]


def agrees(expected: str, printed: str) -> bool:
    """Whether the expected lines stand in what was printed, white space aside, ``…`` for anything."""
    parts = [re.escape(" ".join(part.split())) for part in expected.split("…")]
    return re.search(".*?".join(parts), " ".join(printed.split())) is not None


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with the scripts of this environment first in the search path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ES_DEDUP_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    environment |= {"COLUMNS": "160", "PYTHONUTF8": "1"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(document, marks=MARKS[document]) if document in MARKS else document
        for document in DOCUMENTS
        if runnable(document)
    ],
)
def test_what_a_document_shows_works(document: str, tmp_path: Path) -> None:
    for package in NEEDS.get(document, ()):
        if find_spec(package) is None:
            pytest.skip(f"needs {package}")
    for name in ("experiments", "samples"):
        (tmp_path / name).symlink_to(ROOT / name, target_is_directory=True)
    for block in runnable(document):
        if block.kind == "python":
            warnings = (
                [] if document in INTEGRATIONS else ["-W", "error"]
            )  # other packages warn of their own code
            done = run([sys.executable, *warnings, "-c", block.text], tmp_path)
            assert done.returncode == 0, f"{document}:{block.line}\n{done.stdout}"
            continue
        for command in commands_of(block):
            done = run(["bash", "-c", command.text], tmp_path)
            place = f"{document}:{block.line}: {command.text}\nexit code {done.returncode}\n{done.stdout}"
            assert done.returncode == command.exit_code, place
            assert agrees(command.output, done.stdout), f"{place}\nexpected\n{command.output}"


def test_readme_and_tutorial_are_run() -> None:
    for document in ("README.md", "docs/tutorial.md"):
        assert {block.kind for block in runnable(document)} >= {"console", "python"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_block_is_of_an_unknown_kind(document: str) -> None:
    unknown = {
        f"{document}:{block.line}: {block.kind}"
        for block in blocks_of(document)
        if block.kind not in SHOWN_ONLY | {"console", "python"}
    }
    assert not unknown
    assert (ROOT / document).read_text(encoding="utf-8").count("```") == 2 * len(blocks_of(document))


def prose_of(document: Path) -> str:
    """The text of a document without its fenced blocks."""
    return _FENCE.sub("", document.read_text(encoding="utf-8"))


def anchors_of(document: Path) -> set[str]:
    """The anchors that the usual viewers of Markdown give to headings: repeated ones are numbered."""
    found: dict[str, int] = {}
    anchors = set()
    for heading in _HEADING.findall(prose_of(document)):
        shown = _LINK.sub(lambda match: match[0][1 : match[0].index("]")], heading)
        slug = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        times = found[slug] = found.get(slug, -1) + 1
        anchors.add(f"{slug}-{times}" if times else slug)
    return anchors


def broken(document: Path) -> list[str]:
    """Links of a document that lead to no file, or to no heading of a document."""
    wrong = []
    for link in _LINK.findall(prose_of(document)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    assert not broken(ROOT / document)


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        "# What `it` is: a, b_c\n## Twice\n## Twice\n```text\n# No heading\n```\n"
        "[a](#what-it-is-a-b_c) [b](#twice-1) [c](https://example.org/#x)\n"
        "[d](#no-heading) [e](#twice-2) [f](missing.md)\n",
        encoding="utf-8",
    )
    assert broken(document) == ["#no-heading", "#twice-2", "missing.md"]


def lists_read_differently(document: Path) -> list[int]:
    """Numbers of lines where readers of Markdown disagree: a list without a blank line before, an indent below four."""
    wrong, fenced, in_list, before = [], False, False, ""
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        indent = len(line) - len(line.lstrip())
        item = re.match(r" *(?:[-*]|\d+\.) ", line) is not None
        fence = line.lstrip().startswith("```")
        if (item and not fenced and before and not in_list) or (
            in_list and 0 < indent < 4 and not fenced and (item or fence or not before)
        ):
            wrong.append(number)
        fenced ^= fence
        in_list = item or (in_list and (fenced or fence or indent > 0 or not line or bool(before)))
        before = line.strip()
    return wrong


@pytest.mark.parametrize("document", DOCUMENTS)
def test_lists_look_the_same_everywhere(document: str) -> None:
    assert not lists_read_differently(ROOT / document)


def test_lists_that_readers_disagree_on_are_found(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        "Text\n- no blank line\n\n- item\n  goes on\n  - indent\n\n1. item\n\n   paragraph\n\n```text\nx\n- y\n```\n"
    )
    assert lists_read_differently(document) == [2, 6, 10]


def test_documents_that_the_code_names_exist() -> None:
    files = [path for folder in ("es_dedup", "scripts", "tests") for path in (ROOT / folder).rglob("*.py")]
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in files
        for name in re.findall(r"docs/[\w/-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert not [each for each in named if not (ROOT / each[1]).is_file()]


def test_the_readme_is_short_and_begins_with_the_two_commands() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 136
    first = blocks_of("README.md")[0]
    commands = [line.partition("#")[0].strip() for line in first.text.splitlines()]
    assert commands == ["make demo", "make test"]


def test_the_targets_of_make_that_documents_name_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        name
        for document in DOCUMENTS
        for name in re.findall(
            r"(?:`|^)make(?: [A-Z]+=\S+)* ([a-z]+)",
            (ROOT / document).read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert {"demo", "test"} <= named <= targets


def test_settings_that_documents_name_exist() -> None:
    known = {line.key for line in describe(Settings())}
    sections = {key.partition(".")[0] for key in known if "." in key}
    named = {
        (document, f"{section}.{name}")
        for document in DOCUMENTS
        for section, name in re.findall(r"`(\w+)\.(\w+)`", (ROOT / document).read_text(encoding="utf-8"))
        if section in sections and not (ROOT / "es_dedup" / section / f"{name}.py").exists()
    }
    assert {key for _, key in named} <= known, sorted(each for each in named if each[1] not in known)


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("", "anything", True),
        ("a  b\nc", "x a b c y", True),
        ("a … c", "a b\nb c", True),
        ("a … d", "a b c", False),
        ("a.b", "axb", False),
    ],
)
def test_output_is_compared_with_gaps(expected: str, printed: str, same: bool) -> None:
    assert agrees(expected, printed) is same


def test_commands_are_read_with_their_exit_codes_and_output() -> None:
    block = Block("console", "$ one\nout\nmore\n$ two x  # exit code 4\n", 1)
    assert commands_of(block) == [Command("one", 0, "out\nmore\n"), Command("two x", 4, "")]
