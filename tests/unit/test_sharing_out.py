"""How tests are shared out among processes."""

from types import SimpleNamespace
from typing import Final

import pytest

from tests.conftest import ROOT, ByServers

RESTARTS: Final = "tests/integration/test_workers.py"
ON_SERVERS: Final = ("tests/integration/test_hook.py", "tests/integration/test_elastic_faults.py")
ON_QUEUES: Final = ("tests/integration/test_deferred.py", "tests/integration/test_beat.py")
HERE: Final = "tests/unit/test_project.py"


def scope(file: str, *others: str) -> str:
    """Where a test of a file runs when tests of other files run, too."""
    scheduler = SimpleNamespace(collection=[f"{each}::test_b" for each in (file, *others)])
    return ByServers._split_scope(scheduler, f"{file}::TestX::test_a[a::b]")  # type: ignore[arg-type]


@pytest.mark.parametrize("file", [*ON_SERVERS, *ON_QUEUES])
def test_files_on_real_servers_share_a_process_with_the_file_that_restarts_them(file: str) -> None:
    assert (ROOT / file).is_file()
    assert scope(file, RESTARTS, HERE) == scope(RESTARTS, file, HERE)
    assert scope(HERE, file, RESTARTS) == HERE
