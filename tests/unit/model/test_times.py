"""Times as callers give them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from es_dedup.decision.comparison import days_of
from es_dedup.extraction.metadata.date_parsing import parse_moment
from es_dedup.index.source_index import SourceFields
from es_dedup.model.times import time_given

MOMENT = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [1_700_000_000, 1_700_000_000.0, np.int64(1_700_000_000), np.float64(1_700_000_000)]
    + [1_700_000_000 * unit for unit in (10**3, 10**6, 10**9)]
    + ["1700000000", "1700000000.0", "1700000000000", "1700000000000000000"]
    + [MOMENT, np.datetime64("2023-11-14T22:13:20", "ns")],
)
def test_a_number_is_a_time_by_its_size(value: Any) -> None:
    assert time_given(value) == MOMENT
    assert SourceFields("body", published="at").page("p", {"at": value}).published == time_given(value)


@pytest.mark.parametrize("value", [20260304, 20260304.0, date(2026, 3, 4), np.datetime64("2026-03-04")])
def test_a_day_becomes_text_that_is_read(value: Any) -> None:
    assert parse_moment(time_given(value)) == datetime(2026, 3, 4)  # noqa: DTZ001 - a day names no zone


@pytest.mark.parametrize(
    "value", [0, -1, 12, 2026, 1.5, -1_700_000_000, 10**30, 10**400, math.inf, -math.inf]
)
def test_another_number_is_a_time_that_cannot_be_read(value: Any) -> None:
    assert parse_moment(time_given(value)) is None


@pytest.mark.parametrize(
    "value", [None, "2026-03-04", "2026030410", "20260304103000", "1700000000 s", True, [1_700_000_000], {}]
)
def test_other_values_stay(value: Any) -> None:
    assert time_given(value) is value


def test_days_of_documents_with_seconds_differ() -> None:
    days = [
        days_of([SourceFields("body", published="at").page("p", {"at": at}).published.isoformat()])  # type: ignore[union-attr]
        for at in (1_700_000_000, 1_700_086_400)
    ]
    assert days[1] - days[0] == 1
