"""Commands that texts name exist: messages, help, docs, alerts and container files."""

import re
from pathlib import Path
from typing import Final

import pytest

from scripts.docssupport import reference

ROOT: Final = Path(__file__).resolve().parents[3]
COMMANDS: Final = frozenset(reference.commands())
BY_LENGTH: Final = sorted(COMMANDS, key=len, reverse=True)
OPTIONS: Final = {
    name: {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    for name, command in {"": reference.root(), **reference.commands()}.items()
}
FIRST: Final = frozenset(name.split()[0] for name in COMMANDS)
INNER: Final = frozenset(word for name in COMMANDS for word in name.split()[1:]) - FIRST
PLACES: Final = (
    *("*.md", "docs/**/*.md", "samples/*.md", ".github/**/*.yml", "Makefile", "Dockerfile", "*.yml", "monitoring/*"),
    *("es_dedup/**/*.py", "es_dedup/**/*.json", "tasks/**/*.py", "scripts/**/*.py", "benchmarks/*.py"),
)  # fmt: skip
NOT_READ: Final = {"CHANGELOG.md"}
OPTION: Final = (
    r"(?:\s+(?:--(?:db|config|preset|keep)(?:=|\s+)(?:\"[^\"\n]*\"|\{[^}\n]*\}|[^\s`]+)|--json|--quiet|-q))*"
)
CALL: Final = re.compile(rf"\bes-dedup({OPTION})((?:\s+[a-z][a-z-]*){{1,4}})")
BARE: Final = re.compile(r"(?<![`\w])`([a-z][a-z-]*)((?: [^`\n]*)?)`(?!`)")
AMBIGUOUS: Final = frozenset(
    "canonical changes copy different drop eval export extract follow ignore import jobs label labels list load override recluster remove "
    "replay run same stats status undo".split()
)
"""Last words of commands that are also fields, methods, modules, or names of jobs."""


def texts() -> list[tuple[str, str]]:
    paths = sorted({path for pattern in PLACES for path in ROOT.glob(pattern) if path.is_file()})
    names = [(path.relative_to(ROOT).as_posix(), path) for path in paths]
    return [(name, path.read_text(encoding="utf-8")) for name, path in names if name not in NOT_READ]


def stale(text: str) -> list[str]:
    """Calls of commands that do not exist; ordinary words after the program's name are none."""
    found = []
    for call in CALL.finditer(text):
        words = call[2].split()
        before = text[max(call.start() - 2, 0) : call.start()]
        called = call[1] or before.endswith(("`", "$ ", "/"))
        names = [" ".join(words[:count]) for count in (1, 2, 3)]
        exists = COMMANDS.intersection(names) or (len(words) == 1 and words[0] in FIRST)
        if not exists and (called or words[0] in INNER):  # else it is prose
            found.append(call[0])
    return found


def test_every_command_that_a_text_calls_exists() -> None:
    wrong = {name: calls for name, text in texts() if (calls := stale(text))}
    assert not wrong


def unknown_options(text: str) -> list[tuple[str, str]]:
    """Options that calls of commands give and the commands do not have."""
    found = []
    for line in re.findall(r"(?:es-dedup |`)([^`\n|;#]*--[^`\n|;#]*)", text):
        name = next((each for each in BY_LENGTH if re.search(rf"(?:^| ){each}(?: |$)", line)), None)
        if name:
            known = {"--help"} | OPTIONS[""] | OPTIONS[name]
            found += [
                (name, each) for each in re.findall(r"(?<![\w-])--[a-z-]+\b", line) if each not in known
            ]
    return found


def test_every_option_that_a_text_gives_a_command_exists() -> None:
    wrong = {name: options for name, text in texts() if (options := unknown_options(text))}
    assert not wrong
    assert unknown_options("`elastic jobs ID --rate 5`, `es-dedup --db x scan --root .`") == [
        ("elastic jobs", "--rate")
    ]


def test_the_last_word_of_a_command_alone_is_not_named_in_documents_and_help() -> None:
    last = {name.split()[-1] for name in COMMANDS if " " in name} - AMBIGUOUS
    shown = [
        each for each in texts() if each[0].startswith(("docs/", "README")) and "/benchmarks/" not in each[0]
    ]
    shown += [(f"--help of {name}", reference.cli_text(name)) for name in COMMANDS]
    wrong = {
        name: calls
        for name, text in shown
        if (calls := [each[0] for each in BARE.finditer(text) if each[1] in last])
    }
    assert not wrong


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("run `es-dedup backfill` again", ["es-dedup backfill"]),
        ("$ es-dedup --db x.db nothing here", ["es-dedup --db x.db nothing here"]),
        ("Run es-dedup audit daily", ["es-dedup audit daily"]),
        ("An es-dedup index finds copies; `es-dedup elastic dead list --json`, `es-dedup elastic`", []),
    ],
)
def test_a_name_that_does_not_exist_is_found(text: str, calls: list[str]) -> None:
    assert stale(text) == calls
