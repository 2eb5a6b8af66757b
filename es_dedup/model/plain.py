"""Values of the library as JSON can hold them, for the command line and the REST API."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any


def plain(value: Any) -> Any:
    """A value as JSON can hold it: numbers to four places, what is not finite as None."""
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None
    if value is None or isinstance(value, int):
        return value
    if hasattr(value, "as_dict") or is_dataclass(value):
        return plain(value.as_dict()) if hasattr(value, "as_dict") else plain_fields(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else str(value)


def plain_fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, ``plain``, without regard to its own ``as_dict``."""
    return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
