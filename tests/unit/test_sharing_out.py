"""How tests are shared out among processes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

import pytest

from tests.conftest import ROOT, ByServers

RESTARTS: Final = "tests/integration/test_workers.py"


def scope(nodeid: str) -> str:
    return ByServers._split_scope(SimpleNamespace(), nodeid)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "file", ["tests/integration/test_hook.py", "tests/integration/test_elastic_faults.py"]
)
def test_files_on_real_servers_share_a_process_with_the_file_that_restarts_them(file: str) -> None:
    assert (ROOT / file).is_file()
    assert scope(f"{file}::test_a[es8]") == scope(f"{RESTARTS}::test_b")


def test_other_files_have_a_process_each() -> None:
    here = "tests/unit/test_project.py"
    assert scope(f"{here}::TestX::test_a[a::b]") == here
