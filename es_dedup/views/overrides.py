"""Decisions of people: forms to make them, and what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.model.overrides import OverrideKind
from es_dedup.model.translations import translate
from es_dedup.views.forms import button, entry, hidden, labelled, reason_and_author
from es_dedup.views.frame import anchor, framed, path, time_of
from es_dedup.views.markup import element, escape, table
from es_dedup.views.templates import short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model.overrides import Override

MOST: Final = 100
"""Overrides that are listed beside pages."""
DECISIONS: Final = {
    OverrideKind.DIFFERENT: "Never in one cluster",
    OverrideKind.SAME: "Always in one cluster",
    OverrideKind.CANONICAL: "Make canonical",
    OverrideKind.IGNORE: "Never count a passage",
}
_HEADS: Final = ("Decision", "Page", "Reason", "Name", "Time", "Undone")


def form(language: str, pages: Iterable[str], kinds: Iterable[OverrideKind]) -> str:
    """A button for each kind, with a reason and a name; nothing without kinds."""
    buttons = [_button(language, kind) for kind in kinds]
    if not buttons:
        return ""
    named = (hidden({"page": page}) for page in pages)
    return _form(*named, *reason_and_author(language), *buttons)


def listed(reader: IndexReader, language: str, writes: bool) -> bytes:  # noqa: FBT001 - sent to a process by position
    """All overrides, the newest first; with ``writes`` those in force can be undone."""
    found = sorted(reader.overrides(undone=True), key=lambda each: each.time, reverse=True)
    body = _table(found, language, writes=writes)
    if not found:
        body = element("p", escape(translate(language, "Nothing was decided by people yet.")), class_="empty")
    if writes:
        body += _passage_form(language)
    return framed(translate(language, "Overrides"), body, language)


def _passage_form(language: str) -> str:
    """A form for a passage of a site that never counts."""
    site = labelled(language, "Site", entry("site", required=True))
    text = labelled(language, "Passage", '<textarea name="text" rows="3" required></textarea>')
    note = element(
        "p", escape(translate(language, "Stored pages follow with the next recluster.")), class_="note"
    )
    return _form(site, text, *reason_and_author(language), _button(language, OverrideKind.IGNORE), note)


def _button(language: str, kind: OverrideKind) -> str:
    return button(language, DECISIONS[kind], name_="kind", value=kind)


def _form(*content: str) -> str:
    return element("form", *content, action=path("overrides"), method="post", class_="bar decide")


def of_pages(reader: IndexReader, language: str, pages: Iterable[str]) -> str:
    """Overrides in force that name any of these pages, at most ``MOST``; nothing where there is none."""
    named = reader.overrides_of(pages).values()
    found = list({each.id: each for some in named for each in some}.values())[:MOST]
    return _table(found, language, writes=False) if found else ""


def _table(found: Iterable[Override], language: str, *, writes: bool) -> str:
    rows = [_row(each, language, writes=writes) for each in found]
    return table([translate(language, head) for head in _HEADS], rows, class_="rows")


def _row(each: Override, language: str, *, writes: bool) -> tuple[str, ...]:
    pages = " · ".join(anchor(short(page), path("pages", page)) for page in each.pages)
    pages = pages or escape(short(each.about))
    if each.in_force:
        inside = *reason_and_author(language), button(language, "Undo")
        address = path("overrides", each.id, "undo")
        end = element("form", *inside, action=address, method="post", class_="bar")
        end = (
            element("details", element("summary", escape(translate(language, "Undo"))), end) if writes else ""
        )
    else:
        said = " ".join(filter(None, (each.undone_by, each.undone_reason)))
        end = f"{time_of(each.undone)} {escape(short(said))}"
    said = escape(translate(language, DECISIONS[each.kind]))
    return said, pages, escape(short(each.reason)), escape(short(each.author)), time_of(each.time), end
