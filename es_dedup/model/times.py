"""Times as callers, records and documents give them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

_EARLIEST: Final = 10**8  # 1973; smaller numbers may be years, or days such as 20260304
_LATEST: Final = 10**10  # 2286
_UNITS: Final = (1, 10**3, 10**6, 10**9)
_DIGITS: Final = re.compile(r"1[0-8]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d*)?", re.ASCII)
"""Numbers of 2001 to 2030, as tables write them; digits of a day begin with 19 or 20."""


def time_given(value: Any) -> Any:
    """A number or a day as ``Page.published`` takes it; any other value unchanged.

    A number, of numpy or written out too, means seconds, milliseconds, microseconds or nanoseconds since 1970, by its size. One of another size becomes
    text, which may be a day such as 20260304, or else counts as a time that cannot be read: the page itself is not at fault.
    """
    value = value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value
    value = float(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    if isinstance(value, date | time | timedelta) and not isinstance(value, datetime):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    value = float(value) if isinstance(value, Decimal) else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    for unit in _UNITS:
        if _EARLIEST * unit <= value < _LATEST * unit:
            return datetime.fromtimestamp(value / unit, UTC)
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
