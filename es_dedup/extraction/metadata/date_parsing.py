"""Time of publication: from declared metadata, from forms in the text, from the URL as last resort."""

from __future__ import annotations

import re
from datetime import datetime, time
from email.utils import parsedate_to_datetime
from typing import Final

from es_dedup import lazy

FIRST_YEAR: Final = 1990
LAST_YEAR: Final = 2100

_TIME: Final = (
    r"(?:[T\s日,]*?(\d{1,2})[:：时](\d{2})(?:[:：分](\d{2}))?(?:\.\d{1,9})?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_DAY: Final = r"((?:19|20)\d{2})\s?[-/.年]\s?(\d{1,2})\s?[-/.月]\s?(\d{1,2})(?!\d)\s?日?"
_MOMENT: Final = lazy.pattern(_DAY + _TIME)
_COMPACT: Final = lazy.pattern(r"^\s*((?:19|20)\d{2})(\d{2})(\d{2})(?:T?(\d{2}):?(\d{2}):?(\d{2})?)?")
LABELS: Final = ("时间", "日期", "時間", "于")
"""In every line in which ``labelled_moment`` finds one stands one of these."""

_LABELLED: Final = lazy.pattern(
    r"(?:时间|日期|時間|(?:发布|发表|发稿|更新|刊发|刊登|上传|發佈|發布)于)\s{0,3}[:：]?\s{0,3}(?=(?:19|20)\d{2})"
    + _DAY
    + _TIME
)
_NAMED_DAY: Final = lazy.pattern(
    r"(?<![^\W\d_])([^\W\d_]{3,10})\.?\s?(\d{1,2})(?:st|nd|rd|th)?,?\s((?:19|20)\d{2})\b"
    r"|(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|º|\.)?[\s-](?:(?:of|de)\s)?([^\W\d_]{3,10})\.?,?[\s-](?:de\s)?((?:19|20)\d{2})\b"
)
_LABELLED_SHORT: Final = lazy.pattern(
    r"(?:发布|发表)时间\s?[:：]\s{0,3}(\d{2})-(\d{2})-(\d{2})(?:\s?(\d{2}):(\d{2}))?(?!\d)"
)
_MONTHS: Final = tuple(
    names.split()
    for names in (
        "jan january januar jänner janvier enero ene gennaio janeiro januari",
        "feb february februar février fév febrero febbraio fevereiro februari",
        "mar march märz mrz mars marzo março maart",
        "apr april avril avr abril abr aprile",
        "may mai mayo maggio maio mei",
        "jun june juni juin junio giugno junho",
        "jul july juli juillet juil julio luglio julho",
        "aug august août agosto augustus ago",
        "sep sept september septembre septiembre settembre setembro",
        "oct october oktober okt octobre octubre ottobre outubro",
        "nov november novembre noviembre novembro",
        "dec december dezember dez décembre déc diciembre dic dicembre dezembro",
    )
)
_MONTH_OF: Final = {name: place for place, names in enumerate(_MONTHS, 1) for name in names}
_NUMBERED_DAY: Final = lazy.pattern(
    r"(?<![\d.,/:-])(\d{1,2})([./-])\s?(\d{1,2})\2\s?((?:19|20)\d{2})(?![\d./-]|\.\d)(?:,?\s{0,3}(\d{1,2})[:.](\d{2})(?::(\d{2}))?(?!\d))?"
)
_SHORT_YEAR: Final = lazy.pattern(r"^(\d{1,2})\.(\d{1,2})\.(\d{2})(?:,?\s\d{1,2}[:.]\d{2})?(?:\sUhr|\sh)?$")
_CUE: Final = lazy.pattern(r"(?:19|20)\d{2}|^\s*(?:\d{1,2}\.\d{1,2}\.\d{2}|[A-Z][a-z]{2}, \d)")
_MONTHS_A_YEAR: Final = 12
_URL_DAY: Final = (
    lazy.pattern(r"/((?:19|20)\d{2})[/_-](0?[1-9]|1[0-2])[/_-](0?[1-9]|[12]\d|3[01])(?=[/_.-])"),
    lazy.pattern(r"/((?:19|20)\d{2})[/_-]?(0[1-9]|1[0-2])[/_-]?(0[1-9]|[12]\d|3[01])(?!\d)"),
    lazy.pattern(r"[/_t-]((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=[/_.-])"),
)


def has_cue(text: str) -> bool:
    """False where ``parse_moment`` finds none: without a year in four digits, or a form of short years at the beginning."""
    return _CUE.search(text) is not None


def parse_moment(text: str, *, month_first: bool = False) -> datetime | None:
    """The first moment named in a short text.

    Args:
        text: ISO 8601, RFC 2822, ``2026年3月4日 10:20``, ``2026/3/4``, ``20260304``, ``March 4, 2026``, ``4. März 2026`` or ``04.03.2026``.
        month_first: ``3/4/2026`` is in March, as in the United States; else in April. With dots the day is always first.

    Returns:
        Aware when the text names a zone, else naive; None when there is no valid moment of 1990-2100.
    """
    text = text.strip()[:200]
    if not has_cue(text):
        return None
    if found := _MOMENT.search(text):
        return _build(*found.groups())
    if found := _COMPACT.match(text):
        return _build(*found.groups())
    if re.match(r"^[A-Z][a-z]{2}, \d", text):
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            moment = None
        if moment:
            return moment if FIRST_YEAR <= moment.year <= LAST_YEAR else None
    return _with_a_name(text) or _in_numbers(text, month_first=month_first)


def labelled_moment(text: str) -> datetime | None:
    """A moment behind a label such as ``发布时间：``, or None."""
    if found := _LABELLED.search(text):
        return _build(*found.groups())
    if short := _LABELLED_SHORT.search(text):
        return _build(f"20{short[1]}", *short.groups()[1:])
    return None


def url_moment(url: str) -> datetime | None:
    """The day in a URL's path (``/2026/03/04/``, ``/20260304/``, ``t20260304_``), or None."""
    for pattern in _URL_DAY:
        if found := pattern.search(url[:2000]):
            return _build(*found.groups())
    return None


def _with_a_name(text: str) -> datetime | None:
    """A day whose month is a word, in one of the languages of Western Europe."""
    for found in _NAMED_DAY.finditer(text):
        name, day, year = found.group(1, 2, 3) if found[1] else found.group(5, 4, 6)
        if month := _MONTH_OF.get(name.lower()):
            return _build(year, str(month), day)
    return None


def _in_numbers(text: str, *, month_first: bool) -> datetime | None:
    found = _NUMBERED_DAY.search(text)
    if not found:
        short = _SHORT_YEAR.match(text)
        return _build(f"20{short[3]}", short[2], short[1]) if short else None
    day, separator, month, year, *clock = found.groups()
    if int(month) > _MONTHS_A_YEAR or (month_first and separator == "/" and int(day) <= _MONTHS_A_YEAR):
        day, month = month, day
    return _build(year, month, day, *clock)


def _build(year: str, month: str, day: str, *clock: str | None) -> datetime | None:
    """The moment of these parts; ``clock`` has hours, minutes, seconds and the zone, as far as a text names them."""
    hour, minute, second, zone = [*clock, None, None, None, None][:4]
    try:
        offset = time.fromisoformat(f"00:00{zone}").tzinfo if zone else None
        hours = (int(hour or 0), int(minute or 0), int(second or 0))
        moment = datetime(int(year), int(month), int(day), *hours, tzinfo=offset)
    except (ValueError, OverflowError):
        return None
    return moment if FIRST_YEAR <= moment.year <= LAST_YEAR else None
