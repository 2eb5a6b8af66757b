"""What the documents show works: their commands and programs are run, their links and names lead somewhere.

Blocks marked ``console`` and ``python`` are run, all of one document in order in one folder that holds ``samples``. In a
``console`` block a line ``$ command`` is run by bash and must end with code 0, or with N where a comment says
``# exit code N``. Lines below a command are its expected output; white space counts as one space, and ``…`` stands for
anything. Blocks of every other kind must be of a kind that is listed here as shown only.
"""

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
    """Blocks that are run here; programs that ask a server are run in tests/integration."""
    kinds = {"console", "python"} - NOT_RUN.get(document, set())
    return [
        block
        for block in blocks_of(document)
        if block.kind in kinds and not (block.kind == "python" and "http://localhost" in block.text)
    ]


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


def test_output_is_compared_with_gaps() -> None:
    block = Block("console", "$ one\na  b\n… c\n$ two x  # exit code 4\n", 1)
    one, two = commands_of(block)
    assert (one.text, one.exit_code, two) == ("one", 0, Command("two x", 4, ""))
    assert agrees(one.output, "x a b\nd c y")
    assert not agrees(one.output, "a b d")
    assert not agrees("a.b", "axb")


def text_of(document: str) -> str:
    """The text of a document."""
    return (ROOT / document).read_text(encoding="utf-8")


def test_every_block_is_run_or_of_a_kind_that_is_only_shown() -> None:
    known = SHOWN_ONLY | {"console", "python"}
    blocks = {document: blocks_of(document) for document in DOCUMENTS}
    unknown = [
        (document, each.line) for document in DOCUMENTS for each in blocks[document] if each.kind not in known
    ]
    assert not unknown
    assert not [each for each in DOCUMENTS if text_of(each).count("```") != 2 * len(blocks[each])]
    for document in ("README.md", "docs/tutorial.md"):
        assert {block.kind for block in runnable(document)} >= {"console", "python"}


def lists_read_differently(document: str) -> list[int]:
    """Numbers of lines where readers of Markdown disagree: a list without a blank line before, an indent below four."""
    wrong, fenced, in_list, before = [], False, False, ""
    for number, line in enumerate(text_of(document).splitlines(), 1):
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


def test_lists_look_the_same_everywhere() -> None:
    assert not {each: lines for each in DOCUMENTS if (lines := lists_read_differently(each))}


def test_documents_targets_of_make_and_settings_that_texts_name_exist() -> None:
    code = [path for folder in ("es_dedup", "scripts", "tests") for path in (ROOT / folder).rglob("*.py")]
    pages = {name for path in code for name in re.findall(r"docs/[\w/-]+\.md", path.read_text("utf-8"))}
    assert not [page for page in pages if not (ROOT / page).is_file()]
    documents = {each: text_of(each) for each in DOCUMENTS}
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    called = {
        name
        for text in documents.values()
        for name in re.findall(r"(?:`|^)make(?: [A-Z]+=\S+)* ([a-z]+)", text, re.MULTILINE)
    }
    assert {"demo", "test"} <= called <= targets
    settings = {line.key for line in describe(Settings())}
    sections = {key.partition(".")[0] for key in settings if "." in key}
    named = {
        (document, f"{section}.{name}")
        for document, text in documents.items()
        for section, name in re.findall(r"`(\w+)\.(\w+)`", text)
        if section in sections and not (ROOT / "es_dedup" / section / f"{name}.py").exists()
    }
    assert not [each for each in sorted(named) if each[1] not in settings]
