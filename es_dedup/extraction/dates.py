"""Time of publication: from declared metadata, from forms in the text, from the URL as last resort."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Final

FIRST_YEAR: Final = 1990
LAST_YEAR: Final = 2100

_TIME: Final = (
    r"(?:[T\s日,]*?(\d{1,2})[:：时](\d{2})(?:[:：分](\d{2}))?(?:\.\d{1,9})?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_DAY: Final = r"((?:19|20)\d{2})\s?[-/.年]\s?(\d{1,2})\s?[-/.月]\s?(\d{1,2})(?!\d)\s?日?"
_MOMENT: Final = re.compile(_DAY + _TIME)
_COMPACT: Final = re.compile(r"^\s*((?:19|20)\d{2})(\d{2})(\d{2})(?:T?(\d{2}):?(\d{2}):?(\d{2})?)?")
LABELS: Final = ("时间", "日期", "時間", "于")
"""In every line in which ``labelled_moment`` finds one stands one of these."""

_LABELLED: Final = re.compile(
    r"(?:时间|日期|時間|(?:发布|发表|发稿|更新|刊发|刊登|上传|發佈|發布)于)\s{0,3}[:：]?\s{0,3}(?=(?:19|20)\d{2})"
    + _DAY
    + _TIME
)
_ENGLISH_DAY: Final = re.compile(
    r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?\s(\d{1,2})(?:st|nd|rd|th)?,?\s((?:19|20)\d{2})\b"
    r"|\b(\d{1,2})(?:st|nd|rd|th)?\s(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?,?\s((?:19|20)\d{2})\b"
)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_URL_DAY: Final = (
    re.compile(r"/((?:19|20)\d{2})[/_-](0?[1-9]|1[0-2])[/_-](0?[1-9]|[12]\d|3[01])(?=[/_.-])"),
    re.compile(r"/((?:19|20)\d{2})[/_-]?(0[1-9]|1[0-2])[/_-]?(0[1-9]|[12]\d|3[01])(?!\d)"),
    re.compile(r"[/_t-]((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=[/_.-])"),
)


def parse_moment(text: str) -> datetime | None:
    """The first moment named in a short text.

    Args:
        text: ISO 8601, RFC 2822, ``2026年3月4日 10:20``, ``2026/3/4``, ``20260304`` or ``March 4, 2026``.

    Returns:
        Aware when the text names a zone, else naive; None when there is no valid moment of 1990-2100.
    """
    text = text.strip()[:200]
    if found := _MOMENT.search(text):
        return _build(*found.groups())
    if found := _COMPACT.match(text):
        year, month, day, hour, minute, second = found.groups()
        return _build(year, month, day, hour, minute, second, None)
    if re.match(r"^[A-Z][a-z]{2}, \d", text):
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        return moment if FIRST_YEAR <= moment.year <= LAST_YEAR else None
    return _english(text)


def labelled_moment(text: str) -> datetime | None:
    """A moment behind a label such as ``发布时间：``, or None."""
    found = _LABELLED.search(text)
    return _build(*found.groups()) if found else None


def url_moment(url: str) -> datetime | None:
    """The day in a URL's path (``/2026/03/04/``, ``/20260304/``, ``t20260304_``), or None."""
    for pattern in _URL_DAY:
        if found := pattern.search(url[:2000]):
            return _build(found[1], found[2], found[3], None, None, None, None)
    return None


def _english(text: str) -> datetime | None:
    found = _ENGLISH_DAY.search(text)
    if not found:
        return None
    month, day, year = (found[1], found[2], found[3]) if found[1] else (found[5], found[4], found[6])
    return _build(year, str(_MONTHS.index(month) + 1), day, None, None, None, None)


def _build(
    year: str,
    month: str,
    day: str,
    hour: str | None,
    minute: str | None,
    second: str | None,
    zone: str | None,
) -> datetime | None:
    try:
        clock = (int(hour or 0), int(minute or 0), int(second or 0))
        moment = datetime(int(year), int(month), int(day), *clock, tzinfo=_zone(zone))
    except (ValueError, OverflowError):
        return None
    return moment if FIRST_YEAR <= moment.year <= LAST_YEAR else None


def _zone(zone: str | None) -> timezone | None:
    if not zone:
        return None
    if zone == "Z":
        return UTC
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if zone[0] == "-" else offset)
