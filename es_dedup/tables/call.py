"""``deduplicate``: rows to pages, one scan of them in memory."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from es_dedup.batch.copies import DistinctPages
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.index.closing import on_error
from es_dedup.model import Page
from es_dedup.model.times import time_given
from es_dedup.model.values import plain_value
from es_dedup.readers.records import id_text, missing, no_text, usual_columns
from es_dedup.settings.loading import settings_in_force, without_texts
from es_dedup.tables.kinds import Rows, rows_of
from es_dedup.tables.result import DeduplicationResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_dedup.settings import Settings


def deduplicate(  # noqa: PLR0913 - one for each column
    data: Any,
    *,
    text: str | None = None,
    html: str | None = None,
    title: str | None = None,
    id: str | None = None,  # noqa: A002 - the name of the attribute of Page
    url: str | None = None,
    published: str | None = None,
    settings: Settings | None = None,
) -> DeduplicationResult:
    """Near-duplicates among the rows of a list, a dictionary or a table, with the clusters that ``Deduplicator.scan`` gives.

    Rows are read in small batches, never copied as a whole; the features of distinct rows are held in memory, about 2 KB a row. Of equal
    rows the first one is the canonical document; otherwise their order and their ids do not matter. In the result rows are called by
    their ids, or by their numbers where there is no column of ids, or a value in it is missing or repeats; a warning says so.

    Args:
        data: a list of texts or of dictionaries, a dictionary of texts by id or of columns by name, a pandas or polars DataFrame, a
            pyarrow Table or RecordBatch, or a ``datasets.Dataset``.
        text, html, title, id, url, published: names of columns, by default ``id`` and the usual names of the others, as files of
            records have them. Needed is ``text`` or ``html``; a row without either is unique. Ids may be numbers.
        settings: None: those of the settings file and the environment.

    Raises:
        TypeError: ``data`` is of another kind, or a value is of a wrong type; the row is named. Nothing was compared then.
        ValueError: a column is missing, or an id is neither text nor a whole number.
        ConfigError: the settings are wrong.
    """
    asked = {"text": text, "html": html, "title": title, "id": id, "url": url, "published": published}
    rows = rows_of(data)
    columns = _columns(rows, asked)
    names, note = _names(rows, columns)
    if note:
        warnings.warn(note, stacklevel=2)
    settings = without_texts(settings_in_force(settings))
    for _ in _pages(rows, columns):  # wrong values are found before work begins
        pass
    dedup = Deduplicator.open(":memory:", settings=settings)
    page_ids: list[str] = []
    with on_error(dedup.close):
        report = dedup.scan(DistinctPages().first_pages(_pages(rows, columns), page_ids.append))
    return DeduplicationResult(rows, names, page_ids, dedup, report, note)


def _columns(rows: Rows, asked: Mapping[str, str | None]) -> dict[str, str]:
    """The column of each attribute of ``Page`` that has one."""
    count = Counter(rows.columns)
    usual = usual_columns(rows.columns)
    usual |= {"published": usual.get("time", ""), "id": "id"}  # other usual ids, as a URL, may repeat
    columns = {}
    for attribute, name in asked.items():
        column = usual.get(attribute, "") if name is None else name
        if count[column] > 1 or (name is not None and not count[column]):
            problem = f"there are {count[column]} columns" if count[column] else "there is no column"
            listed = ", ".join(map(repr, rows.columns[:12])) or "none"
            raise ValueError(f"{attribute}={column!r}: {problem} of this name; columns are {listed}")
        if count[column]:
            columns[attribute] = column
    if not columns.keys() & {"text", "html"}:
        raise ValueError(no_text(rows.columns, "name one as text='…' or html='…'"))
    return columns


def _names(rows: Rows, columns: Mapping[str, str]) -> tuple[list[Any], str]:
    """What each row is called: its id, or its number where not every row has an id of its own; then also why.

    Raises:
        ValueError: an id is neither text nor a whole number.
    """
    numbers = list(range(rows.size))
    if "id" not in columns:
        return numbers, ""
    column, ids, first_rows = columns["id"], [], dict[str, int]()
    problem = ""
    for row, (value,) in enumerate(rows.read((column,))):
        name = id_text(value := plain_value(value))
        if name is None and not missing(value):
            raise ValueError(f"row {row}: an id must be a string or a whole number, not {value!r}")
        if not name:
            problem = problem or f"row {row} has no value"
        elif (first_row := first_rows.setdefault(name, row)) != row:
            problem = problem or f"row {row} has the value {name!r} of row {first_row}"
        ids.append(int(value) if isinstance(value, float) and not missing(value) else value)
    if problem:
        return numbers, f"rows are called by their numbers: of column {column!r}, {problem}"
    return ids, ""


def _pages(rows: Rows, columns: Mapping[str, str]) -> Iterator[Page]:
    """A page of each row, made lazily, with the number of the row as its id."""
    attributes = [name for name in columns if name != "id"]
    for row, values in enumerate(rows.read([columns[name] for name in attributes])):
        named = {
            name: time_given(value) if name == "published" else value
            for name, value in zip(attributes, map(plain_value, values), strict=True)
            if not missing(value)
        }
        named |= {"title": text} if (text := id_text(named.get("title"))) else {}
        if not named.keys() & {"text", "html"}:
            named["text"] = ""
        try:
            yield Page(str(row), **named)
        except TypeError as error:
            raise TypeError(f"row {row}: {error}") from None
