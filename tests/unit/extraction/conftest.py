"""What the tests of extraction share."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from es_dedup import compiled


@pytest.fixture(scope="session", autouse=True)
def made_kernels() -> None:
    """Machine code is made before a test looks at the clock: the first time of an installation takes many seconds."""
    if find_spec("numba"):
        from es_dedup.extraction.reading.spans import load_kernels  # noqa: PLC0415 - needs numba
        from es_dedup.extraction.seen.view import load_kernels as load_kernels_of_views  # noqa: PLC0415

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled._State, "chosen", True)  # else views are made without them
            load_kernels()
            load_kernels_of_views()
