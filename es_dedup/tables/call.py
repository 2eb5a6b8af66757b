"""``deduplicate``: rows to pages, one scan of them in memory."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from numbers import Integral
from typing import TYPE_CHECKING, Any

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.model import Page, id_problem
from es_dedup.settings.loading import settings_in_force
from es_dedup.tables.kinds import rows_of
from es_dedup.tables.result import DeduplicationResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_dedup.settings import Settings
    from es_dedup.tables.kinds import Rows


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

    Rows are read in small batches, never copied as a whole; the features of all rows are held in memory, about 2 KB a row. Ids are
    row numbers unless there is a column for them; of equal rows the first one is then the canonical document.

    Args:
        data: a list of texts or of dictionaries, a dictionary of texts by id or of columns by name, a pandas or polars DataFrame, a
            pyarrow Table or RecordBatch, or a ``datasets.Dataset``.
        text, html, title, id, url, published: names of columns, by default those that are named as the attribute of ``Page``. Needed is
            ``text`` or ``html``; a row without either is unique. Ids may be numbers.
        settings: None: those of the settings file and the environment.

    Raises:
        TypeError: ``data`` is of another kind, or a value is of a wrong type; the row is named. Nothing was compared then.
        ValueError: a column is missing, or an id is missing, empty, too long or given twice.
        ConfigError: the settings are wrong.
    """
    given = {"text": text, "html": html, "title": title, "id": id, "url": url, "published": published}
    rows = rows_of(data)
    columns = _columns(rows, given)
    ids = _ids(rows, columns)
    chosen = settings_in_force(settings)
    chosen = chosen.model_copy(update={"index": chosen.index.model_copy(update={"keep_text": False})})
    for _ in _pages(rows, columns, ids):  # wrong values are found before work begins
        pass
    dedup = Deduplicator.open(":memory:", settings=chosen, temporary=True)
    try:
        report = dedup.scan(_pages(rows, columns, ids))
    except BaseException:
        dedup.close()
        raise
    return DeduplicationResult(rows, columns, ids, dedup, report)


def _columns(rows: Rows, given: Mapping[str, str | None]) -> dict[str, str]:
    """The column of each attribute of ``Page`` that has one."""
    known = Counter(rows.columns)
    listed = ", ".join(map(repr, rows.columns[:12])) or "none"
    columns = {}
    for attribute, asked in given.items():
        name = attribute if asked is None else asked
        if known[name] > 1 or (asked is not None and not known[name]):
            problem = f"there are {known[name]} columns" if known[name] else "there is no column"
            raise ValueError(f"{attribute}={name!r}: {problem} of this name; columns are {listed}")
        if known[name]:
            columns[attribute] = name
    if not columns.keys() & {"text", "html"}:
        raise ValueError(f"name the column of the texts, as text='body'; columns are {listed}")
    return columns


def _ids(rows: Rows, columns: Mapping[str, str]) -> dict[str, Any]:
    """The id of each row as it was given, by page id, in the order of rows."""
    if "id" not in columns:
        width = len(str(rows.size))
        return {f"{row:0{width}}": row for row in range(rows.size)}  # page ids in the order of rows
    ids: dict[str, Any] = {}
    for row, (value,) in enumerate(rows.read((columns["id"],))):
        if _missing(value) or isinstance(value, bool) or not isinstance(value, str | Integral):
            raise ValueError(f"row {row}: an id must be a string or a whole number, not {value!r}")
        if problem := id_problem(page_id := str(value)):
            raise ValueError(f"row {row}: {problem}")
        if page_id in ids:
            raise ValueError(
                f"row {row}: the id {page_id!r} was given before, in row {list(ids).index(page_id)}"
            )
        ids[page_id] = value
    return ids


def _pages(rows: Rows, columns: Mapping[str, str], ids: Mapping[str, Any]) -> Iterator[Page]:
    """A page of each row, made lazily."""
    attributes = [name for name in columns if name != "id"]
    values = rows.read([columns[name] for name in attributes])
    for row, (page_id, some) in enumerate(zip(ids, values, strict=True)):
        found = {
            name: _value(value) for name, value in zip(attributes, some, strict=True) if not _missing(value)
        }
        if not found.keys() & {"text", "html"}:
            found["text"] = ""
        try:
            yield Page(page_id, **found)
        except TypeError as error:
            raise TypeError(f"row {row}: {error}") from None


def _missing(value: Any) -> bool:
    """Whether a value is None, NaN, or one of the marks of pandas."""
    return (
        value is None
        or type(value).__name__ in {"NAType", "NaTType"}
        or (isinstance(value, float) and value != value)  # noqa: PLR0124 - NaN
    )


def _value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value
