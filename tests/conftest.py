"""What holds for every test."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from es_dedup import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

# A runner started in the background ignores interrupts, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", params=[False, True], ids=["numpy", "compiled"])
def both_paths(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Run a module's tests twice: by the numpy code and by the kernels; for a module that asks for it by name."""
    before, compiled._State.chosen = compiled._State.chosen, request.param
    if request.param:
        pytest.importorskip("numba")
    yield request.param
    compiled._State.chosen = before
