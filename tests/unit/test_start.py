"""What a fresh process loads: neither packages nor rooms that the call does not need."""

import compileall
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from es_dedup import Deduplicator, Page, native

ROOT: Final = Path(__file__).resolve().parents[2]
HEAVY: Final = {
    *(
        "elasticsearch",
        "elastic_transport",
        "opensearchpy",
        "pyarrow",
        "brotli",
        "fsspec",
        "celery",
        "fastapi",
    ),
    *("jieba", "opencc", "filelock", "urllib.request", "http.client"),
    *("es_dedup.index.elastic.adapter", "es_dedup.detectors.dwdcs", "es_dedup.hook"),
}
PARSER: Final = {"lxml", "es_dedup.extraction.page_to_content", "es_dedup.extraction.block_model"}
TERMINAL: Final = {"rich", "typer", "es_dedup.cli"}
SETTINGS: Final = {"pydantic", "es_dedup.settings.loading"}
PACKAGE: Final = """
from typing import TYPE_CHECKING
from es_dedup import lazy
if TYPE_CHECKING:
    from without_source.there import wanted
else:
    __getattr__ = lazy.attributes(__name__)
"""
TEXT: Final = "市政府今天宣布，新的图书馆将在明年三月开放。" * 3


def loaded(code: str, *arguments: str) -> set[str]:
    """Modules that a process has loaded after it has run this, beyond those of the interpreter."""
    program = f"import sys; before = set(sys.modules)\ntry:\n {code}\nfinally:\n print(*sys.modules.keys() - before)"
    found = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COVERAGE_PROCESS_START": ""},
    )
    assert found.returncode in (0, 4), found.stderr
    return set(found.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("code", "absent", "most"),
    [
        ("import es_dedup", {"dataclasses", "numpy"}, 40),
        ("from es_dedup import Page", HEAVY | PARSER | TERMINAL | SETTINGS | {"numpy"}, 150),
        ("from es_dedup import load_settings", HEAVY | PARSER | TERMINAL | {"numpy"}, 300),
        ("from es_dedup import Deduplicator", HEAVY | PARSER | TERMINAL | SETTINGS, 430),
        ("import es_dedup.cli.main", HEAVY | PARSER | SETTINGS | {"rich", "numpy"}, 270),
    ],
)
def test_a_name_loads_what_it_needs(code: str, absent: set[str], most: int) -> None:
    modules = loaded(code)
    assert not modules & absent
    assert len(modules) <= most


def test_a_package_without_source_has_its_names(tmp_path: Path) -> None:
    package = tmp_path / "without_source"
    package.mkdir()
    for name, text in {"__init__": PACKAGE, "there": "wanted = 1"}.items():
        (package / f"{name}.py").write_text(text)
    compileall.compile_dir(package, quiet=1, legacy=True)
    for source in package.glob("*.py"):
        source.unlink()
    code = "import without_source as p; assert p.wanted == p.there.wanted == 1 and not hasattr(p, 'other')"
    loaded(f"sys.path.append(sys.argv[1]); {code}", str(tmp_path))


@pytest.mark.skipif(native.core is None, reason="the native core is not installed, and numpy loads them")
def test_learning_from_texts_loads_no_masked_arrays() -> None:
    pages = f"Page(id=str(at), text=f'{TEXT}{{at}}') for at in range(9)"
    modules = loaded(
        f"from es_dedup import Deduplicator, Page; Deduplicator.open(':memory:').add_many([{pages}])"
    )
    assert "es_dedup.batch.learning" in modules
    assert not modules & (HEAVY | PARSER | TERMINAL | {"numpy.ma"})


def test_a_check_of_text_loads_no_parser_of_pages_and_no_other_command(tmp_path: Path) -> None:
    db, page = tmp_path / "pages.db", tmp_path / "page.jsonl"
    with Deduplicator.open(db) as dedup:
        dedup.add(Page(id="known", text=TEXT))
    page.write_text(f'{{"id": "new", "text": "{TEXT}"}}', encoding="utf-8")
    modules = loaded("from es_dedup.cli.main import run; run()", "--db", str(db), "check", str(page))
    assert {"es_dedup.cli.scanning", "numpy", "pydantic"} <= modules
    others = {"es_dedup.cli.elastic", "es_dedup.cli.evaluating", "es_dedup.cli.index"}
    assert not modules & (HEAVY | {"rich"} | others)
    assert len(modules) <= 640
