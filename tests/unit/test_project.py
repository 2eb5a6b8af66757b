"""The project's own rules: docstrings, sizes, packaging data, and nothing that belongs to one machine."""

from __future__ import annotations

import ast
import importlib.metadata
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Final

import es_dedup
from es_dedup.settings.loading import OTHER_VARIABLES, PREFIX, Settings

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = sorted((ROOT / "es_dedup").rglob("*.py"))
TASKS: Final = sorted((ROOT / "tasks").rglob("*.py"))
CODE: Final = sorted(
    path
    for folder in ("es_dedup", "tasks", "tests", "scripts", "benchmarks", "experiments")
    for path in (ROOT / folder).rglob("*.py")
)
EXTRA_OF: Final = {
    "es_dedup/hook/": "elastic",
    "es_dedup/collapse/": "elastic",
    "es_dedup/index/elastic/": "elastic",
    "es_dedup/index/opensearch.py": "opensearch",
    "es_dedup/cli/index.py": "parquet",
    "es_dedup/maintenance/gauges.py": "celery",
    "es_dedup/readers/dump_filter.py": "parquet",
    "es_dedup/readers/locations.py": "remote",
    "es_dedup/readers/rows.py": "parquet",
    "es_dedup/readers/warc.py": "warc",
    "es_dedup/haystack.py": "haystack",
    "es_dedup/langchain.py": "langchain",
    "es_dedup/scrapy.py": "scrapy",
    "es_dedup/serve/": "serve",
    "es_dedup/spark/": "spark",
    "es_dedup/testing/": "testing",
    "tasks/": "celery",
}
"""Modules that may import what an extra brings; the first that fits holds."""
BUILT_HERE: Final = {"es-dedup-native"}
"""No extra names it: it is in ``native/``, and on no package index."""
OTHER_NAMES: Final = {"haystack": "haystack-ai", "opensearchpy": "opensearch-py"}
"""Distributions that are not named as the package they install."""
MOST_LINES: Final = 400
"""Lines of code of a module, without blank lines, comments and docstrings."""
MOST_FUNCTION_LINES: Final = 60
LONGER_MODULES: Final = {
    "tests/integration/test_elastic_faults.py": 420,
    "tests/integration/test_hook.py": 420,
}
NO_CODE: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
TEXTS: Final = {".cfg", ".css", ".html", ".json", ".jsonl", ".md", ".py", ".sh", ".toml", ".tsv", ".txt", ""}
FOREIGN: Final = re.compile(
    r"""(?<![\w.:/])/(?:work|home|root|Users|tmp/[a-z]|usr/local|opt)/\w   # paths of one machine
    |(?:files\.pythonhosted|pypi|registry\.npmjs|crates|proxy\.golang)\.(?:org|io)   # hosts of packages
    |(?:^|\s)(?:--index-url|--find-links|--extra-index-url)\b""",
    re.VERBOSE | re.MULTILINE,
)


def name_of(path: Path) -> str:
    """Path below the repository."""
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Facts:
    """What tests ask about a module; its tree is not kept, because all trees together take much memory.

    Attributes:
        documented: whether it has a docstring.
        undocumented: its public names without one.
        lines: how many lines of code it has.
        lengths: those of each function.
        imports: its import statements, also those inside functions and for type checking.
        third_party: distributions that it imports when it runs.
    """

    documented: bool
    undocumented: tuple[str, ...]
    lines: int
    lengths: dict[str, int]
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    third_party: frozenset[str]


@cache
def facts_of(path: Path) -> Facts:
    """The facts about a module, which is read and parsed once."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = [*statements(tree.body)]
    lines = code_lines([tree, *nodes], text)
    return Facts(
        documented=bool(ast.get_docstring(tree)),
        undocumented=tuple(undocumented(tree, "", contracts="es_dedup/testing/" in name_of(path))),
        lines=len(lines),
        lengths={
            f"{node.name} in line {node.lineno}": len(
                lines.intersection(range(node.lineno, (node.end_lineno or 0) + 1))
            )
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        },
        imports=tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)),
        third_party=frozenset(third_party_imports(tree, text)),
    )


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """These statements and all inside them; no expressions, which hold neither definitions nor imports."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, part, ()))


def tracked_files() -> list[Path]:
    """Files of the repository: those git knows or would add; outside a repository, those of the known folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
        return [path for name in names if (path := ROOT / name).is_file()]
    folders = ("es_dedup", "tests", "scripts", "docs", "samples", "benchmarks", "experiments", ".ci")
    inside = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [*inside, *(path for path in ROOT.iterdir() if path.is_file())]


def project() -> dict[str, Any]:
    """The file pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_module_says_what_it_is_for() -> None:
    assert not [name_of(path) for path in CODE if not facts_of(path).documented]


def undocumented(node: ast.AST, place: str, *, contracts: bool) -> list[str]:
    """Public classes, functions and methods below a node that have no docstring.

    In a contract suite a test speaks by its name, and so does a fixture.
    """
    missing = []
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if child.name.startswith("_"):
            continue
        decorators = " ".join(ast.unparse(decorator) for decorator in child.decorator_list)
        named = contracts and (child.name.startswith("test_") or "fixture" in decorators)
        if not (ast.get_docstring(child) or named or "overload" in decorators or ".setter" in decorators):
            missing.append(place + child.name)
        if isinstance(child, ast.ClassDef):
            missing += undocumented(child, f"{place}{child.name}.", contracts=contracts)
    return missing


def test_public_names_have_docstrings() -> None:
    assert not {name_of(path): found for path in PACKAGE if (found := facts_of(path).undocumented)}


def code_lines(nodes: Iterable[ast.AST], text: str) -> set[int]:
    """Numbers of the lines with code: no blank line, comment or docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        line
        for node in nodes
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return lines - docstrings


def test_no_module_and_no_function_is_too_long() -> None:
    modules = {name_of(path): facts_of(path) for path in CODE}
    too_long = {
        name: facts.lines
        for name, facts in modules.items()
        if facts.lines > LONGER_MODULES.get(name, MOST_LINES)
    }
    too_long |= {
        f"{name}: {function}": length
        for name, facts in modules.items()
        for function, length in facts.lengths.items()
        if length > MOST_FUNCTION_LINES
    }
    assert not too_long


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for type checking count, too."""
    modules = {module_name(path): path for path in (*PACKAGE, *TASKS)}
    imports: dict[str, set[str]] = {}
    for module, path in modules.items():
        named_modules = set()
        for node in facts_of(path).imports:
            if isinstance(node, ast.ImportFrom) and node.module in modules:
                named_modules |= {f"{node.module}.{each.name}" for each in node.names}
                named_modules |= {
                    node.module for each in node.names if f"{node.module}.{each.name}" not in modules
                }
            elif isinstance(node, ast.Import):
                named_modules |= {each.name for each in node.names}
        imports[module] = named_modules.intersection(modules) - {module}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


def module_name(path: Path) -> str:
    """Name by which a module is imported."""
    return (
        name_of(path).removeprefix("tasks/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    )


def test_nothing_belongs_to_one_machine() -> None:
    found = []
    for path in tracked_files():
        if path.suffix not in TEXTS or path == Path(__file__) or name_of(path).startswith("samples/pages/"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{name_of(path)}: {match.group().strip()}" for match in FOREIGN.finditer(text)]
    assert not found


def test_every_dependency_is_pinned() -> None:
    pins = {
        normal(line.partition("==")[0])
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    }
    core, extras = requirements()
    assert core.union(extras["dev"], extras["all"]) <= pins


def test_each_module_imports_what_the_core_or_its_extra_declares() -> None:
    """What another package brings along is not counted: it may stop doing so."""
    core, extras = requirements()
    used: set[str] = set()
    for path in (*PACKAGE, *TASKS):
        extra = next((each for place, each in EXTRA_OF.items() if name_of(path).startswith(place)), "")
        imported = facts_of(path).third_party
        undeclared = imported - core - extras.get(extra, set()) - BUILT_HERE
        assert not undeclared, f"{name_of(path)}: {undeclared} is not declared by {extra or 'the core'}"
        used |= imported - BUILT_HERE
    assert core.union(*(extras[extra] for extra in EXTRA_OF.values())) == used


def requirements() -> tuple[set[str], dict[str, set[str]]]:
    """Distributions that the core declares, and those of each extra with the extras it includes."""
    metadata = project()["project"]
    extras: dict[str, set[str]] = {}
    for extra, lines in metadata["optional-dependencies"].items():  # each includes only extras above it
        included = [each for line in lines if named(line) == "es-dedup" for each in extras_of(line)]
        extras[extra] = {named(line) for line in lines}.union(*(extras[each] for each in included))
        extras[extra].discard("es-dedup")
    return {named(line) for line in metadata["dependencies"]}, extras


def named(requirement: str) -> str:
    """The distribution of a requirement."""
    return normal(re.split(r"[<>=\[; ]", requirement)[0])


def extras_of(requirement: str) -> list[str]:
    """The extras in a requirement's brackets."""
    found = re.search(r"\[([\w,-]+)\]", requirement)
    return found[1].split(",") if found else []


def third_party_imports(tree: ast.Module, text: str) -> set[str]:
    """Distributions that a module imports when it runs, also by name through ``_load``; empties blocks for type checking."""
    for node in statements(tree.body):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    names: set[str] = set()
    for node in ast.walk(tree) if "_load(" in text else statements(tree.body):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module)
            case ast.Call(func=ast.Name(id="_load"), args=[ast.Constant(value=str(module)), *_]):
                names.add(module)
    roots = {name.partition(".")[0] for name in names}
    return {
        normal(OTHER_NAMES.get(root, root))
        for root in roots - sys.stdlib_module_names - {"es_dedup", "es_dedup_tasks"}
    }


def test_every_variable_that_the_project_names_is_known_to_the_settings() -> None:
    """Another one with our prefix is refused as a misspelt setting, by every command."""
    texts = [path for path in tracked_files() if path.suffix in TEXTS and "tests/unit" not in name_of(path)]
    named_ones = {
        variable
        for path in texts
        for variable in re.findall(
            r"\bES_DEDUP_[A-Z0-9]+(?:_[A-Z0-9]+)*\b", path.read_text("utf-8", "replace")
        )
    }
    assert {"ES_DEDUP_NATIVE", "ES_DEDUP_DATA"} <= named_ones
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    known |= set(filter(OTHER_VARIABLES.fullmatch, named_ones))
    assert not {variable for variable in named_ones if "__" not in variable} - known


def normal(name: str) -> str:
    """A distribution's name in its normal form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_metadata() -> None:
    assert project()["tool"]["hatch"]["version"]["path"] == "es_dedup/__init__.py"
    assert f"## [{es_dedup.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").strip().startswith("Apache License")
    assert (ROOT / "es_dedup" / "py.typed").is_file()
    scripts = {entry.name: entry.value for entry in importlib.metadata.entry_points(group="console_scripts")}
    assert scripts["es-dedup"] == "es_dedup.cli.main:run"
