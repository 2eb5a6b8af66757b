"""What the tests of extraction share."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session", autouse=True)
def made_kernels() -> None:
    """Machine code is made before a test looks at the clock: the first time of an installation takes many seconds."""
    if find_spec("numba"):
        from es_dedup.extraction.reading.spans import load_kernels  # noqa: PLC0415 - needs numba

        load_kernels()
