"""One record (a JSON object, a table row) → a page, or why not."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from es_dedup.model import Page
from es_dedup.readers.port import Fields, Found, InputFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.readers.port import Item

USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id", "_id", "page_id", "doc_id", "docid", "url"),
    "text": ("text", "content", "body", "main_text", "article"),
    "html": ("html", "raw_html", "html_base64"),
    "url": ("url", "link", "uri", "source_url"),
    "title": ("title", "headline"),
    "time": ("published", "time", "date", "published_at", "publish_time", "pubdate", "datetime", "timestamp"),
}
"""Field names that are tried in turn when none was given; case does not count."""
BASE64_SUFFIX: Final = "base64"
MAX_ID_CHARS: Final = 512
_LISTED: Final = 12
_EPOCH_SECONDS: Final = range(10**8, 10**10)
_EPOCH_MILLISECONDS: Final = range(10**11, 10**13)
_KINDS: Final = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


class _BadField(ValueError):
    """Carries the words for the failure."""


def page_from_record(record: Any, source: str, line: int, fields: Fields) -> Item:
    """A page out of one record.

    The text is used when it is there and not blank, else the HTML; a field whose name ends in ``base64`` is decoded to
    bytes first. A number is taken as an id and, in the range of Unix seconds or milliseconds, as a time.

    Args:
        record: a parsed JSON value or a row as a mapping.
        source: file name, for failures.
        line: place in the file, from 1.
        fields: the caller's field names.
    """
    try:
        return Found(_page(record, fields), source, line)
    except _BadField as problem:
        return InputFailure(source, line, str(problem))


def clean_text(text: str) -> str:
    """The same text with surrogate pairs joined and lone surrogates replaced, so that it can be stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def problem_of_id(page_id: str) -> str | None:
    """Why a page id cannot be used, or None."""
    if not page_id:
        return "the page id is empty"
    if len(page_id) > MAX_ID_CHARS:
        return f"the page id has {len(page_id)} characters, at most {MAX_ID_CHARS} are possible"
    if any("\ud800" <= char <= "\udfff" or char == "\0" for char in page_id):
        return "the page id holds bytes that are no text"
    return None


def _page(record: Any, fields: Fields) -> Page:
    if not isinstance(record, Mapping):
        raise _BadField(f"each record must be an object with named fields, got {_kind(record)}")
    names = _names(tuple(record), fields)
    page_id = _id(record, _filled(record, names.id))
    text_field = _filled(record, names.text)
    text, html, html_field = _text(record, text_field), None, None
    if not text or text.isspace():
        html_field = _filled(record, names.html)
        html = _html(record, html_field)
    if text is None and html is None:
        raise _BadField(_nothing_to_read(record, text_field, html_field))
    return Page(
        id=page_id,
        html=html,
        text=None if html is not None else text,
        url=_text(record, _filled(record, names.url)) or None,
        title=_text(record, _filled(record, names.title)) or None,
        published=_time(record, _filled(record, names.time)),
    )


class _Names(NamedTuple):
    """For each role the names of a record's fields that may fill it, best first."""

    id: tuple[str, ...]
    text: tuple[str, ...]
    html: tuple[str, ...]
    url: tuple[str, ...]
    title: tuple[str, ...]
    time: tuple[str, ...]


@lru_cache(maxsize=256)  # records of one file mostly have the same fields
def _names(present: tuple[str, ...], fields: Fields) -> _Names:
    by_lower = {name.lower(): name for name in reversed(present)}
    return _Names(*(_names_of(role, getattr(fields, role), present, by_lower) for role in _Names._fields))


def _names_of(
    role: str, given: str | None, present: tuple[str, ...], by_lower: Mapping[str, str]
) -> tuple[str, ...]:
    if given is None:
        return tuple(by_lower[name] for name in USUAL[role] if name in by_lower)
    if given not in present:
        raise _BadField(f"no field {given!r} (--{role}-field); it has: {_listed(present)}")
    return (given,)


def _filled(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first name with a value, else the first name."""
    for name in names:
        if record[name] not in (None, ""):
            return name
    return names[0] if names else None


def _id(record: Mapping[str, Any], name: str | None) -> str:
    if name is None:
        raise _BadField(f"no id field; it has: {_listed(record)}; name one with --id-field")
    value = record[name]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _BadField(f"field {name!r} must be text or a whole number, got {_kind(value)}")
    if problem := problem_of_id(value):
        raise _BadField(f"field {name!r}: {problem}")
    return value


def _text(record: Mapping[str, Any], name: str | None) -> str | None:
    value = record[name] if name is not None else None
    if value is None:
        return None
    if not isinstance(value, str):
        raise _BadField(f"field {name!r} must be text, got {_kind(value)}")
    return clean_text(value)


def _html(record: Mapping[str, Any], name: str | None) -> str | bytes | None:
    value = record[name] if name is not None else None
    if isinstance(value, bytes):
        return value
    text = _text(record, name)
    if text is None or name is None or not name.lower().endswith(BASE64_SUFFIX):
        return text
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _BadField(f"field {name!r} is not valid base64: {error}") from error


def _time(record: Mapping[str, Any], name: str | None) -> str | datetime | None:
    value = record[name] if name is not None else None
    if value is None or value == "" or isinstance(value, (str, datetime)):
        return clean_text(value) if isinstance(value, str) and value else value or None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        seconds = int(value) // 1000 if int(value) in _EPOCH_MILLISECONDS else int(value)
        if seconds in _EPOCH_SECONDS:
            return datetime.fromtimestamp(seconds, UTC)
    raise _BadField(f"field {name!r} must be a time as text or Unix seconds, got {_kind(value)}")


def _nothing_to_read(record: Mapping[str, Any], text_field: str | None, html_field: str | None) -> str:
    empty = [repr(name) for name in (text_field, html_field) if name is not None]
    if empty:
        return f"no text: {' and '.join(empty)} hold nothing"
    return f"no text or HTML field; it has: {_listed(record)}; name one with --text-field or --html-field"


def _listed(fields: Iterable[str]) -> str:
    names = [clean_text(str(name)[:40]) for name in fields]
    return ", ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "") if names else "no fields"


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    return _KINDS.get(type(value), f"a value of type {type(value).__name__}")
