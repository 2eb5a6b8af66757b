"""Which indices a write creates."""

from __future__ import annotations

import pytest

from es_dedup.index.elastic.targets import auto_creates


@pytest.mark.parametrize(
    ("setting", "name", "creates"),
    [
        ("true", "pages", True),
        ("false", "pages", False),
        ("+pages*,-*", "pages-1", True),
        ("+pages*, -*", "other", False),
        ("-pages*,*", "pages", False),
        ("-pages*,*", "other", True),
        ("pages", "other", False),
    ],
)
def test_the_first_pattern_that_fits_decides(setting: str, name: str, creates: bool) -> None:
    assert auto_creates(setting, name) is creates
