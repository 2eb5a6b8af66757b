"""Reference text made from code: options of the command line, settings, and the list of public names."""

from __future__ import annotations

import ast
import re
import zlib
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from es_dedup.cli.command import INPUT_PANEL
from es_dedup.cli.main import app
from es_dedup.settings.loading import SECRETS, Settings, describe, setting_fields
from scripts.docssupport.meaning import meaning_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
API: Final = "docs/reference/api"
MARKER: Final = re.compile(r"^<!-- (cli|settings|decision)(?:: ([\w -]+))? -->$", re.MULTILINE)
"""``<!-- cli: scan -->``, ``<!-- cli: elastic -->`` (all commands of the group), ``<!-- cli: global options -->``, ``<!-- cli: input options -->``,
``<!-- settings -->``, ``<!-- settings: ccdet -->`` and ``<!-- decision: balanced -->``."""
DIRECTIVE: Final = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
_SECTION_OF_OTHERS: Final = "general"
_TYPE_OF_PATHS: Final = re.compile(r" <list\[\w+\]>$")


def filled(markdown: str) -> str:
    """A page with each marker replaced by the text that it stands for.

    Raises:
        KeyError: a marker names no command, no section of the settings, or no preset.
    """
    return MARKER.sub(lambda marker: _text_of(marker[1], marker[2]), markdown)


def _text_of(kind: str, name: str | None) -> str:
    if kind == "cli":
        return cli_text(name or "")
    if kind == "decision":
        return meaning_text(name or "")
    return settings_text() if name is None else _settings()[name]


def cli_text(name: str) -> str:
    """Help and options of a command (``scan``, ``index stats``) or of all commands of a group (``elastic``), or the table of global or input options."""
    if name == "global options":
        return _table(records(root(), root().params))
    if name == "input options":
        scan = commands()["scan"]
        return _table(records(scan, [each for each in scan.params if reads_input(each)]))
    group = [each for each in commands() if each.startswith(f"{name} ")]
    if group:
        level = "#" * (1 + len(name.split()))
        return "\n\n".join(f"{level} {each}\n\n{_command_text(each)}" for each in group)
    return _command_text(name)


def _command_text(name: str) -> str:
    command = commands()[name]
    own = [each for each in command.params if not reads_input(each)]
    text = [
        command.help.strip(),
        f"```text\nes-dedup {name}{usage(command)}\n```",
        _table(records(command, own)),
    ]
    if len(own) < len(command.params):
        text.append("And the [input options](cli-input.md#options).")
    return "\n\n".join(part for part in text if part)


def commands() -> dict[str, Any]:
    """Every command by its name; those of groups as ``index stats``."""
    found: dict[str, Any] = {}
    groups = [("", root())]
    while groups:
        prefix, group = groups.pop()
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                groups.append((f"{prefix}{name} ", command))
            else:
                found[prefix + name] = command
    return found


@cache
def root() -> Any:
    """The program itself, with its global options and groups."""
    return typer.main.get_command(app)


def reads_input(param: Any) -> bool:
    """Whether an option says how input is read; such options are listed once."""
    return getattr(param, "rich_help_panel", None) == INPUT_PANEL


def usage(command: Any) -> str:
    """The arguments of a command as they are written after its name."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    shown = [f" {each.metavar or each.name.upper()}" for each in arguments]
    return "".join(shown) + (" [OPTIONS]" if len(arguments) < len(command.params) else "")


def records(command: Any, params: Iterable[Any]) -> list[tuple[str, str]]:
    """Each argument and option as it is written, and its help."""
    context = typer.Context(command)
    return [record for each in params if (record := each.get_help_record(context)) is not None]


def _table(records: list[tuple[str, str]]) -> str:
    rows = [
        f"| `{_TYPE_OF_PATHS.sub('', what)}` | {' '.join(text.split()).replace('|', '&#124;')} |"
        for what, text in records
    ]
    return "\n".join(["| argument or option | meaning |", "|---|---|", *rows]) if rows else ""


def settings_text() -> str:
    """One table for each section of the settings, with its name and what it is for."""
    sections = {key.rpartition(".")[0]: section for key, _, section in setting_fields()}
    return "\n\n".join(
        f"## {name or _SECTION_OF_OTHERS}\n\n{_summary(sections[name]) if name else ''}\n\n{table}"
        for name, table in _settings().items()
    )


@cache
def _settings() -> dict[str, str]:
    """The table of each section: key, default, range, meaning."""
    tables = {}
    for name, lines in groupby(describe(Settings()), key=lambda line: line.key.rpartition(".")[0]):
        rows = ["| setting | default | values | meaning |", "|---|---|---|---|"]
        for line in lines:
            meaning = line.description + (" **Shapes features.**" if line.shapes else "")
            default = "" if line.key in SECRETS else _value(line.default)
            values = line.bounds or ", ".join(f"`{each}`" if each else "empty" for each in line.choices)
            rows.append(f"| `{line.key}` | {default} | {values} | {meaning} |")
        tables[name] = "\n".join(rows)
    return tables


def _summary(section: type) -> str:
    return (section.__doc__ or "").strip().partition("\n\n")[0]


def _value(value: Any) -> str:
    if value is None:
        return "of the preset"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"`{shown}`" if shown else "empty"


def public_modules() -> Iterator[str]:
    """Modules whose names are public: the package, what it holds and the index adapters that list ``__all__``, errors, ports."""
    package = ROOT / "es_dedup"
    candidates = [package, *package.glob("*/"), *package.glob("index/*/")]
    for folder in sorted(candidates):
        init = folder / "__init__.py"
        if init.is_file() and listed_names(init):
            yield _module(folder)
    for path in sorted(package.glob("*.py")):
        if path.name != "__init__.py" and listed_names(path):
            yield _module(path.with_suffix(""))
    yield from ("es_dedup.errors", "es_dedup_tasks.dispatch")
    yield from sorted(_module(path.with_suffix("")) for path in package.rglob("port.py"))
    yield from sorted(_module(path.with_suffix("")) for path in package.glob("testing/*_contract.py"))


def public_names() -> list[str]:
    """All public names with their modules: those of ``__all__``, else classes and functions without an underscore."""
    names = []
    for module in public_modules():
        path = _path(module)
        names += [f"{module}.{name}" for name in listed_names(path) or defined_names(path)]
    return names


def missing_names(inventory: bytes) -> list[str]:
    """Public names, modules aside, that the inventory of a built site (``objects.inv``) does not list."""
    packed = inventory.partition(b"using zlib.\n")[2]
    shown = {line.split()[0] for line in zlib.decompress(packed).decode().splitlines() if line}
    return [name for name in public_names() if name not in shown and not _path(name).is_file()]


def listed_names(path: Path) -> list[str]:
    """The names of ``__all__`` in a module; empty where it has none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def defined_names(path: Path) -> list[str]:
    """Public classes and functions that a module defines."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    found = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [name for name in found if not name.startswith("_")]


def documented_modules() -> set[str]:
    """Modules that the pages of the API reference show."""
    pages = (ROOT / API).glob("*.md")
    return {name for page in pages for name in DIRECTIVE.findall(page.read_text(encoding="utf-8"))}


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).parts)


def _path(module: str) -> Path:
    base = ROOT / "tasks" if module.startswith("es_dedup_tasks") else ROOT
    path = base.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
