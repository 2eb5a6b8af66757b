"""One record (a JSON object, a table row) → a page, or why not."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from es_dedup.model import Page, fitted_id, id_problem
from es_dedup.model.times import time_given
from es_dedup.model.values import plain_value, value_of
from es_dedup.readers.pagefiles import binary_kind
from es_dedup.readers.port import NO_PAGE, Fields, InputFailure, Problem
from es_dedup.text.content import content_id

if TYPE_CHECKING:
    from es_dedup.readers.port import Item, ReadOptions

USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("_id", "id", "page_id", "doc_id", "docid", "url"),
    "text": ("text", "content", "body", "main_text", "article", "content_text"),
    "html": ("html", "raw_html", "html_base64", "content_html", "body_html"),
    "url": ("url", "link", "uri", "source_url"),
    "title": ("title", "headline", "subject"),
    "time": (
        "published", "time", "date", "published_at", "publish_time", "pubdate", "datetime", "timestamp",
        "date_published", "created_at", "created",
    ),
}  # fmt: skip
"""Field names that are tried in turn when none was given, in any of ``usual_forms``."""
AROUND: Final = ("_source", "fields")
"""Objects whose fields stand for those of their record, as in hits of Elasticsearch."""
_LISTED: Final = 12
_BETWEEN_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|[ -]+")
_ABSENT: Final = object()
_KINDS: Final = {
    type(None): "nothing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list of values that are no texts",
    dict: "an object",
}


class _BadField(ValueError):
    """Carries the words for the failure."""


def item_of(value: Any, source: str, line: int | None, options: ReadOptions) -> Item | None:
    """The page of a record, or a failure with its place; None where it is no page.

    The text is used when it is there and not blank, else the HTML; a field whose name ends in ``base64`` is decoded to
    bytes first. A number is taken as an id and as a time (``time_given``). A record needs a
    field of text or HTML, which may be empty; another named field that it lacks is empty, and ``options.tally`` counts the
    records that have it. ``options.id_from`` says what the id is made from.

    Args:
        value: of a ``Record``.
        source: name of its file.
        line: its place there.
        options: the caller's field names.
    """
    if isinstance(value, Mapping):
        try:
            return _page(value, source, line, options)
        except _BadField as error:
            return InputFailure(source, line, str(error))
        except RecursionError:
            return InputFailure(source, line, "values nested too deeply")
    if isinstance(value, Page):
        return value
    if value is NO_PAGE:
        return None
    wrong_kind = f"each record must be an object with named fields, got {_kind(value)}"
    return InputFailure(source, line, value if isinstance(value, Problem) else wrong_kind)


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
    return f"no field of text or HTML (the names tried are {tried}); there are: {_listed(names)}; {advice}"


def usual_columns(names: Iterable[Any]) -> dict[str, str]:
    """For each role the first of its usual names that a table has a column of."""
    names_of = _fields_of(tuple(name for name in names if isinstance(name, str)), Fields()).names
    return {role: names[0] for role, names in names_of.items() if names}


def usual_forms(name: str) -> set[str]:
    """A name in small letters, and with ``_`` between its words (``publishedAt``, ``Created At``)."""
    return {name.lower(), _BETWEEN_WORDS.sub("_", name.strip()).lower()}


def leads_to(key: str, path: str) -> bool:
    """Whether a field of this name is, or may hold, what a path names."""
    return path == key or path.startswith((f"{key}.", f"{key}["))


def _page(record: Mapping[str, Any], source: str, line: int | None, options: ReadOptions) -> Page:
    named, tally, given = options.fields, options.tally, record
    for name in AROUND:
        if isinstance(given.get(name), Mapping):
            record = {**given[name], **record}
    record = _with_paths(record, named)
    fields = _fields_of(tuple(record), named)
    tally.records += 1
    for role in fields.named_and_there:
        tally.having[role] += 1
    if fields.lacking and not tally.example:
        tally.example = tuple(islice(_paths(given), _LISTED + 1))
    page_id = _id(record, *_first(record, fields.names["id"]), options)
    text_field, value = _first(record, fields.names["text"])
    text, html = _text(text_field, value), None
    if not text or text.isspace():
        html_field, value = _first(record, fields.names["html"])
        html = _html(html_field, value)
        if text_field is None and html_field is None:
            raise _BadField(_nothing_to_read(given, named))
    title_field, value = _first(record, fields.names["title"])
    title = _text(title_field, id_text(value) or value) or None
    if page_id is None and options.id_from == "field":
        page_id = content_id(html or text or "", title)
    return Page(
        id=page_id or fitted_id(f"{source}#{line}"),
        html=html,
        text=text or "" if html is None else None,
        url=_text(*_first(record, fields.names["url"])) or None,
        title=title,
        published=_time(_first(record, fields.names["time"])[1]),
    )


def _with_paths(record: Mapping[str, Any], fields: Fields) -> Mapping[str, Any]:
    """The record, and what named paths lead to under their own names; a field with the very name comes first."""
    found = {
        path: value
        for path in _paths_in(fields)
        if path not in record and (value := value_of(record, path, _ABSENT)) is not _ABSENT
    }
    return {**record, **found} if found else record


@lru_cache(maxsize=64)
def _paths_in(fields: Fields) -> tuple[str, ...]:
    named = (getattr(fields, role) for role in USUAL)
    return tuple(name for name in named if name and ("." in name or "[" in name))


def _paths(record: Mapping[str, Any], start: str = "") -> Iterator[str]:
    """Names of fields; of an object those of its own fields."""
    for name, value in record.items():
        if isinstance(value, Mapping) and value:
            yield from _paths(value, f"{start}{name}.")
        else:
            yield f"{start}{name}"


class _FieldsOf(NamedTuple):
    """Which of a record's fields may fill each role.

    Attributes:
        names: role to the names of fields that may fill it, best first.
        named_and_there: roles whose field the caller has named and the record has.
        lacking: whether it lacks a field that the caller has named.
    """

    names: Mapping[str, tuple[str, ...]]
    named_and_there: tuple[str, ...]
    lacking: bool


@lru_cache(maxsize=256)  # records of one file mostly have the same fields
def _fields_of(present: tuple[str, ...], fields: Fields) -> _FieldsOf:
    by_form = {form: name for name in reversed(present) for form in usual_forms(name)}
    names = {role: tuple(by_form[name] for name in USUAL[role] if name in by_form) for role in USUAL}
    named = {role: name for role in USUAL if (name := getattr(fields, role)) is not None}
    names |= {role: (name,) if name in present else () for role, name in named.items()}
    there = tuple(role for role, name in named.items() if name in present)
    return _FieldsOf(names, there, len(there) < len(named))


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str | None, Any]:
    """The first name with a value, and that; else the first name, and its empty text or None."""
    for name in names:
        value = plain_value(record[name])
        if not missing(value) and value != "":
            return name, value
    return (names[0], "" if record[names[0]] == "" else None) if names else (None, None)


def missing(value: Any) -> bool:
    """Whether a value is None, NaN, one of the marks of pandas, or false, as PHP and Odoo write that a text is missing."""
    return (
        value is False
        or type(value).__name__ in {"NoneType", "NAType", "NaTType"}
        or (isinstance(value, float) and math.isnan(value))
    )


def id_text(value: Any) -> str | None:
    """An id that is text or a whole number as text, a number of a column of floats or decimals too; None for anything else."""
    if isinstance(value, float | Decimal) and value % 1 == 0:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral | str):
        return None
    return str(value)


def _id(record: Mapping[str, Any], name: str | None, value: Any, options: ReadOptions) -> str | None:
    """The id of a record; None where it has none, and no field was named, or where an invalid one is not needed."""
    field, page_id, problem = options.fields.id, None, ""
    if options.id_from == "place":
        return None
    if name is None and field is not None:
        problem = f"no field {field!r} (--id-field); it has: {_listed(record)}"
    elif field is None and (value is None or value == ""):
        pass
    elif (text := id_text(_of_bytes(value))) is None:
        problem = _wrong(name, "text or a whole number", value)
    elif isinstance(given := record.get(name or ""), list) and len(given) > 1:
        problem = f"field {name!r} has several values"
    else:
        page_id = fitted_id(text)
        invalid = id_problem(page_id)
        problem = f"field {name!r}: {invalid}" if invalid else ""
    if problem and options.id_from == "field":
        raise _BadField(problem)
    return None if problem else page_id


def _text(name: str | None, value: Any) -> str | None:
    value = _of_bytes(value)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _BadField(_wrong(name, "text", value))
    return clean_text(value)


def _of_bytes(value: Any) -> Any:
    """Bytes in UTF-8 as text, as Parquet has text of programs that do not mark it; any other value unchanged."""
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def _html(name: str | None, value: Any) -> str | bytes | None:
    data: Any = value
    if not isinstance(data, bytes):
        text = _text(name, value)
        if text is None or name is None or not name.lower().endswith("base64"):
            return text
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _BadField(f"field {name!r} is not valid base64: {error}") from error
    if kind := binary_kind(data):
        raise _BadField(f"field {name!r} holds {kind}, not a page")
    return bytes(data)


def _time(value: Any) -> str | datetime | None:
    """A time; a value of another type as text, which is counted where it is no time: the page itself is not at fault."""
    given = None if value == "" else time_given(value)
    return given if given is None or isinstance(given, datetime) else clean_text(str(given))


def _nothing_to_read(record: Mapping[str, Any], fields: Fields) -> str:
    named = [f"{name!r} (--{role}-field)" for role in ("text", "html") if (name := getattr(fields, role))]
    if named:
        return f"no field {' and '.join(named)}; it has: {_listed(record)}"
    advice = "name one with --text-field or --html-field"
    for path in _paths(record):
        if isinstance(value := value_of(record, path), list) and any(
            isinstance(each, Mapping) for each in value
        ):
            advice += f"; `jq -c '.{path}[]'` makes records of that list"
    return no_text(record, advice)


def _listed(fields: Mapping[str, Any] | Iterable[str]) -> str:
    paths = _paths(fields) if isinstance(fields, Mapping) else fields
    names = [clean_text(str(name)[:40]) for name in islice(paths, _LISTED + 1)]
    return ", ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "") if names else "no fields"


def _wrong(name: str | None, wanted: str, value: object) -> str:
    inner = f"; name one of its fields: {_listed({str(name): value})}" if isinstance(value, Mapping) else ""
    return f"field {name!r} must be {wanted}, got {_kind(value)}{inner}"


def _kind(value: object) -> str:
    return _KINDS.get(type(value), f"a value of type {type(value).__name__}")
