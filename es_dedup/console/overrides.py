"""Decisions of people: forms to make them, and what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.console.frame import anchor, fields, framed, path, short, time_of
from es_dedup.console.words import words
from es_dedup.model.overrides import OverrideKind
from es_dedup.report.markup import element, escape, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model.overrides import Override

MAX_CHARS: Final = 1_000
"""Characters of a reason or name."""
MOST: Final = 100
"""Overrides that are listed beside pages."""
LABELS: Final = {
    OverrideKind.DIFFERENT: "Never in one cluster",
    OverrideKind.SAME: "Always in one cluster",
    OverrideKind.CANONICAL: "Make canonical",
    OverrideKind.IGNORE: "Never count a passage",
}
_HEADS: Final = ("Decision", "Page", "Reason", "Name", "Time", "Undone")


def form(language: str, pages: Iterable[str], kinds: Iterable[OverrideKind]) -> str:
    """A button for each kind, with a reason and a name; nothing without kinds."""
    buttons = [
        element("button", escape(words(language, LABELS[kind])), name_="kind", value=kind) for kind in kinds
    ]
    if not buttons:
        return ""
    named = "".join(fields({"page": page}) for page in pages)
    return element(
        "form", named, *_who(language), *buttons, action=path("overrides"), method="post", class_="bar decide"
    )


def listed(reader: IndexReader, language: str, writes: bool) -> bytes:  # noqa: FBT001 - sent to a process by position
    """All overrides, the newest first; with ``writes`` those in force can be undone."""
    found = sorted(reader.overrides(undone=True), key=lambda each: each.time, reverse=True)
    body = _table(found, language, writes=writes)
    if not found:
        body = element("p", escape(words(language, "Nothing was decided by people yet.")), class_="empty")
    if writes:
        body += _passage_form(language)
    return framed(words(language, "Overrides"), body, language)


def _passage_form(language: str) -> str:
    """A form for a passage of a site that never counts."""
    site, text = (
        element("label", escape(words(language, label)), field)
        for label, field in (
            ("Site", '<input name="site" required>'),
            ("Passage", '<textarea name="text" rows="3" required></textarea>'),
        )
    )
    kind = OverrideKind.IGNORE
    button = element("button", escape(words(language, LABELS[kind])), name_="kind", value=kind)
    note = element(
        "p", escape(words(language, "Stored pages follow with the next recluster.")), class_="note"
    )
    inside = site, text, *_who(language), button, note
    return element("form", *inside, action=path("overrides"), method="post", class_="bar decide")


def of_pages(reader: IndexReader, language: str, pages: Iterable[str]) -> str:
    """Overrides in force that name any of these pages, at most ``MOST``; nothing where there is none."""
    named = reader.overrides_of(pages).values()
    found = list({each.id: each for some in named for each in some}.values())[:MOST]
    return _table(found, language, writes=False) if found else ""


def _table(found: Iterable[Override], language: str, *, writes: bool) -> str:
    rows = [_row(each, language, writes=writes) for each in found]
    return table([words(language, head) for head in _HEADS], rows, class_="rows")


def _row(each: Override, language: str, *, writes: bool) -> tuple[str, ...]:
    pages = " · ".join(anchor(short(page), path("pages", page)) for page in each.pages)
    pages = pages or escape(short(each.about))
    if each.in_force:
        undo = element("button", escape(words(language, "Undo")))
        address = path("overrides", each.id, "undo")
        end = element("form", *_who(language), undo, action=address, method="post", class_="bar")
        end = element("details", element("summary", escape(words(language, "Undo"))), end) if writes else ""
    else:
        said = " ".join(filter(None, (each.undone_by, each.undone_reason)))
        end = f"{time_of(each.undone)} {escape(short(said))}"
    said = escape(words(language, LABELS[each.kind]))
    return said, pages, escape(short(each.reason)), escape(short(each.author)), time_of(each.time), end


def _who(language: str) -> Iterable[str]:
    for name in ("reason", "author"):
        label = escape(words(language, {"reason": "Reason", "author": "Name"}[name]))
        yield element("label", label, f'<input name="{name}" required maxlength="{MAX_CHARS}">')
