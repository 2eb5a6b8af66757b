"""One record (a JSON object, a table row) → a page, or why not."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from es_dedup.model import Page, fitted_id, id_problem
from es_dedup.readers.binary import binary_kind
from es_dedup.readers.port import Fields, InputFailure
from es_dedup.text.content import content_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_dedup.readers.port import Item, ReadOptions

USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id", "_id", "page_id", "doc_id", "docid", "url"),
    "text": ("text", "content", "body", "main_text", "article"),
    "html": ("html", "raw_html", "html_base64"),
    "url": ("url", "link", "uri", "source_url"),
    "title": ("title", "headline"),
    "time": ("published", "time", "date", "published_at", "publish_time", "pubdate", "datetime", "timestamp"),
}
"""Field names that are tried in turn when none was given; case does not count."""
NO_TEXT: Final = "no field of text or HTML (the names tried are {tried}); there are: {listed}; {advice}"
BASE64_SUFFIX: Final = "base64"
_LISTED: Final = 12
_EPOCH_SECONDS: Final = range(10**8, 10**10)
_EPOCH_MILLISECONDS: Final = range(10**11, 10**13)
_STEP: Final = re.compile(r"(?:\[(?P<place>\d{1,9})\]|(?P<name>[^.\[]+))(?:\.(?=.)|(?=\[)|$)")
_MISSING: Final = object()
_KINDS: Final = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


class _BadField(ValueError):
    """Carries the words for the failure."""


def page_from_record(record: Any, source: str, line: int, options: ReadOptions) -> Item:
    """A page out of one record.

    The text is used when it is there and not blank, else the HTML; a field whose name ends in ``base64`` is decoded to
    bytes first. A number is taken as an id and, in the range of Unix seconds or milliseconds, as a time. A record needs a
    field of text or HTML, which may be empty; another named field that it lacks is empty, and ``options.tally`` counts the
    records that have it. ``options.id_from`` says what the id is made from.

    Args:
        record: a parsed JSON value or a row as a mapping.
        source: file name, for failures.
        line: place in the file, from 1.
        options: the caller's field names.
    """
    try:
        return _page(record, source, line, options)
    except _BadField as problem:
        return InputFailure(source, line, str(problem))


def clean_text(text: str) -> str:
    """The same text with surrogate pairs joined and lone surrogates replaced, so that it can be stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def fields_in_no_record(options: ReadOptions) -> Iterator[InputFailure]:
    """A failure for each named field that none of the records had."""
    tally = options.tally
    for role in USUAL:
        name = getattr(options.fields, role)
        if name is not None and tally.records and not tally.having[role]:
            problem = f"0 of {tally.records:,} records have this field; they have: {_listed(tally.example)}"
            yield InputFailure(f"--{role}-field {name}", None, problem)


def no_text(names: Mapping[str, Any] | Iterable[str], advice: str) -> str:
    """What is said of rows with none of the usual fields of text or HTML, to all who give rows.

    Args:
        names: of the fields that there are; or a record.
        advice: how a field is named there.
    """
    tried = ", ".join((*USUAL["text"], *USUAL["html"]))
    return NO_TEXT.format(tried=tried, listed=_listed(names), advice=advice)


def usual_columns(names: Iterable[Any]) -> dict[str, str]:
    """For each role the first of its usual names that a table has a column of; case does not count."""
    found = _names(tuple(name for name in names if isinstance(name, str)), Fields())
    return {role: some[0] for role in USUAL if (some := getattr(found, role))}


def leads_to(key: str, path: str) -> bool:
    """Whether a field of this name is, or may hold, what a path names."""
    return path == key or path.startswith((f"{key}.", f"{key}["))


def _page(record: Any, source: str, line: int, options: ReadOptions) -> Page:
    fields, tally = options.fields, options.tally
    if not isinstance(record, Mapping):
        raise _BadField(f"each record must be an object with named fields, got {_kind(record)}")
    record = _with_paths(record, fields)
    names = _names(tuple(record), fields)
    tally.records += 1
    for role in names.having:
        tally.having[role] += 1
    if names.lacking and not tally.example:
        tally.example = tuple(islice(_paths(record), _LISTED + 1))
    page_id = _given_id(record, _filled(record, names.id), options)
    text_field = _filled(record, names.text)
    text, html, html_field = _text(record, text_field), None, None
    if not text or text.isspace():
        html_field = _filled(record, names.html)
        html = _html(record, html_field)
    if text is None and html is None:
        if text_field is None and html_field is None:
            raise _BadField(_nothing_to_read(record, fields))
        text = ""
    title = _text(record, _filled(record, names.title)) or None
    if page_id is None and options.id_from == "field":
        page_id = content_id(html or text or "", title)
    return Page(
        id=page_id or fitted_id(f"{source}#{line}"),
        html=html,
        text=None if html is not None else text,
        url=_text(record, _filled(record, names.url)) or None,
        title=title,
        published=_time(record, _filled(record, names.time)),
    )


def _with_paths(record: Mapping[str, Any], fields: Fields) -> Mapping[str, Any]:
    """The record, and what named paths lead to under their own names; a field with the very name comes first."""
    found = {
        path: value
        for path in _paths_in(fields)
        if path not in record and (value := _value_at(record, path)) is not _MISSING
    }
    return {**record, **found} if found else record


@lru_cache(maxsize=64)
def _paths_in(fields: Fields) -> tuple[str, ...]:
    named = (getattr(fields, role) for role in USUAL)
    return tuple(name for name in named if name and ("." in name or "[" in name))


def _value_at(value: Any, path: str) -> Any:
    """What a path such as ``_source.body`` or ``title[0]`` leads to; at each step a field with the whole rest as its name comes first."""
    while path:
        if isinstance(value, Mapping) and path in value:
            return value[path]
        step = _STEP.match(path)
        if step is None:
            return _MISSING
        name, place = step["name"], step["place"]
        if name is not None and isinstance(value, Mapping) and name in value:
            value = value[name]
        elif place is not None and isinstance(value, list) and int(place) < len(value):
            value = value[int(place)]
        else:
            return _MISSING
        path = path[step.end() :]
    return value


def _paths(record: Mapping[str, Any], start: str = "") -> Iterator[str]:
    """Names of fields; of an object those of its own fields."""
    for name, value in record.items():
        if isinstance(value, Mapping) and value:
            yield from _paths(value, f"{start}{name}.")
        else:
            yield f"{start}{name}"


class _Names(NamedTuple):
    """For each role the names of a record's fields that may fill it, best first."""

    id: tuple[str, ...]
    text: tuple[str, ...]
    html: tuple[str, ...]
    url: tuple[str, ...]
    title: tuple[str, ...]
    time: tuple[str, ...]
    having: tuple[str, ...]
    """Roles whose field the caller has named and the record has."""
    lacking: bool
    """Whether it lacks a field that the caller has named."""


@lru_cache(maxsize=256)  # records of one file mostly have the same fields
def _names(present: tuple[str, ...], fields: Fields) -> _Names:
    by_lower = {name.lower(): name for name in reversed(present)}
    named = {role: name for role in USUAL if (name := getattr(fields, role)) is not None}
    having = tuple(role for role, name in named.items() if name in present)
    usual = {role: tuple(by_lower[name] for name in USUAL[role] if name in by_lower) for role in USUAL}
    chosen = {role: (name,) if name in present else () for role, name in named.items()}
    return _Names(**(usual | chosen), having=having, lacking=len(having) < len(named))


def _filled(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first name with a value, else the first name."""
    for name in names:
        if not missing(record[name]) and record[name] != "":
            return name
    return names[0] if names else None


def missing(value: Any) -> bool:
    """Whether a value of a table is None, NaN, or one of the marks of pandas."""
    return (
        value is None
        or type(value).__name__ in {"NAType", "NaTType"}
        or (isinstance(value, float) and math.isnan(value))
    )


def id_text(value: Any) -> str | None:
    """An id that is text or a whole number as text, a number of a column of floats too; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral | str):
        return None
    return str(value)


def _given_id(record: Mapping[str, Any], name: str | None, options: ReadOptions) -> str | None:
    """The id of a record where one is asked for; an invalid one is a failure only where it is needed."""
    if options.id_from == "place":
        return None
    try:
        return _id(record, name, options.fields)
    except _BadField:
        if options.id_from == "field":
            raise
        return None


def _id(record: Mapping[str, Any], name: str | None, fields: Fields) -> str | None:
    """The id of a record; None where it has none, and no field was named."""
    if name is None and fields.id is not None:
        raise _BadField(f"no field {fields.id!r} (--id-field); it has: {_listed(record)}")
    given = record[name] if name is not None else None
    if fields.id is None and (missing(given) or given == ""):
        return None
    value = id_text(given)
    if value is None:
        raise _BadField(f"field {name!r} must be text or a whole number, got {_kind(given)}")
    if problem := id_problem(value := fitted_id(value)):
        raise _BadField(f"field {name!r}: {problem}")
    return value


def _text(record: Mapping[str, Any], name: str | None) -> str | None:
    value = record[name] if name is not None else None
    if missing(value):
        return None
    if not isinstance(value, str):
        first = f"; name one of its values: {name}[0]" if isinstance(value, list) else ""
        raise _BadField(f"field {name!r} must be text, got {_kind(value)}{first}")
    return clean_text(value)


def _html(record: Mapping[str, Any], name: str | None) -> str | bytes | None:
    value = record[name] if name is not None else None
    if not isinstance(value, bytes):
        text = _text(record, name)
        if text is None or name is None or not name.lower().endswith(BASE64_SUFFIX):
            return text
        try:
            value = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _BadField(f"field {name!r} is not valid base64: {error}") from error
    if kind := binary_kind(value):
        raise _BadField(f"field {name!r} holds {kind}, not a page")
    return value


def _time(record: Mapping[str, Any], name: str | None) -> str | datetime | None:
    value = record[name] if name is not None else None
    if missing(value) or value == "":
        return None
    if isinstance(value, (str, datetime)):
        return clean_text(value) if isinstance(value, str) else value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        seconds = int(value) // 1000 if int(value) in _EPOCH_MILLISECONDS else int(value)
        if seconds in _EPOCH_SECONDS:
            return datetime.fromtimestamp(seconds, UTC)
    raise _BadField(f"field {name!r} must be a time as text or Unix seconds, got {_kind(value)}")


def _nothing_to_read(record: Mapping[str, Any], fields: Fields) -> str:
    named = [
        f"{name!r} (--{role}-field)"
        for role, name in (("text", fields.text), ("html", fields.html))
        if name is not None
    ]
    if named:
        return f"no field {' and '.join(named)}; it has: {_listed(record)}"
    return no_text(record, "name one with --text-field or --html-field")


def _listed(fields: Mapping[str, Any] | Iterable[str]) -> str:
    paths = _paths(fields) if isinstance(fields, Mapping) else fields
    names = [clean_text(str(name)[:40]) for name in islice(paths, _LISTED + 1)]
    return ", ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "") if names else "no fields"


def _kind(value: object) -> str:
    if missing(value):
        return "nothing"
    return _KINDS.get(type(value), f"a value of type {type(value).__name__}")
