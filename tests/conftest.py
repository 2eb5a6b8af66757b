"""What holds for every test."""

from __future__ import annotations

import re
import signal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import typer.main
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from xdist.scheduler import LoadScopeScheduling

from es_dedup import native
from tests.servers import fresh_name, remove, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.remote import Producer

ROOT: Final = Path(__file__).parents[1]
OTHERS: Final = frozenset({"es9", "opensearch"})
"""Parameters that name a server which the smaller tiers do not have."""

# How long examples take, and how long it takes to draw them, depends on what else the machine does, and says nothing of the code.
hypothesis_settings.register_profile("es-dedup", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("es-dedup")

# A runner started in the background ignores interrupts, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def commands_are_built_once() -> Iterator[None]:
    """``CliRunner`` makes the command line anew for each call, which takes longer than most commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="module", params=[False, True], ids=["python", "native"])
def both_paths(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Run a module's tests twice: by the Python form and by the native core; for a module that asks for it by name."""
    before = native.core
    if request.param and before is None:
        pytest.skip("the native core is not installed")
    native.core = before if request.param else None
    yield request.param
    native.core = before


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an index may be made: a file, or a fresh name on a server; a test may name another profile (``EVERYWHERE``)."""
    if request.param == "file":
        yield str(tmp_path / "pages.db")
        return
    address = f"{url_of('es8' if request.param == 'server' else request.param)}/{fresh_name()}"
    yield address
    remove(address)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need another server, and those that no other test may run beside on the same servers.

    Of tests that run on two versions the second half is one for another server: in the smaller tiers there is one.
    """
    for item in items:
        if _is_exclusive(item.path):
            item.add_marker("exclusive")
        callspec = getattr(item, "callspec", None)
        given = callspec.params.values() if callspec is not None else ()
        if any(isinstance(value, str) and value in OTHERS for value in given):
            item.add_marker("other_servers")


class ByServers(LoadScopeScheduling):  # type: ignore[misc]  # shipped without types
    """A file runs whole in one process.

    Files with workers and queues all run in the same, because some flush Redis; where a file that is run stops a server, so do all
    on servers.
    """

    def _split_scope(self, nodeid: str) -> str:
        files = frozenset(each.partition("::")[0] for each in self.collection)
        file = nodeid.partition("::")[0]
        if _on_servers(ROOT / file) and any(map(_stops_a_server, files)):
            return "servers"
        return "queues" if _on_queues(ROOT / file) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByServers:
    """How tests are shared out among processes (``--numprocesses``)."""
    return ByServers(config, log)


@cache
def _on_servers(path: Path) -> bool:
    source = path.read_text(encoding="utf-8")
    if any(
        name in source
        for name in (
            "tests.servers",
            "tests.collapsing",
            "tests.source_indices",
            "tests.workers",
            "address: str",
        )
    ):
        return True
    return re.search(r"def test_\w+\([^)]*\bplace: str", source) is not None


@cache
def _on_queues(path: Path) -> bool:
    source = path.read_text(encoding="utf-8")
    return any(name in source for name in ("tests.workers", "flushdb"))


@cache
def _is_exclusive(path: Path) -> bool:
    source = path.read_text(encoding="utf-8")
    return re.search(r"\b(restart|kill)\(\"|cluster\.put_settings|tests\.workers|flushdb", source) is not None


@cache
def _stops_a_server(file: str) -> bool:
    return re.search(r"\b(restart|kill)\(\"", (ROOT / file).read_text(encoding="utf-8")) is not None
