"""Decisions of people: what was decided, and what was decided just now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.model.overrides import Override, OverrideKind
from es_dedup.views.frame import Visitor, path
from es_dedup.views.templates import console_page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.deduplicator.index_reader import IndexReader

MOST: Final = 100
"""Overrides that are listed at a time, and beside pages."""
DECISIONS: Final = {
    OverrideKind.DIFFERENT: "Never in one cluster",
    OverrideKind.SAME: "Always in one cluster",
    OverrideKind.CANONICAL: "Made canonical",
    OverrideKind.IGNORE: "Never count a passage",
}
"""What was decided, in words."""


def listed(reader: IndexReader, visitor: Visitor, offset: int, done: str) -> bytes:
    """Overrides, the newest first, ``MOST`` at a time; who may write can undo those in force and name a passage that never counts.

    An offset beyond the end shows the last of them.
    """
    found = sorted(reader.overrides(undone=True), key=lambda each: each.time, reverse=True)
    offset = min(offset, max(0, len(found) - 1) // MOST * MOST)
    return console_page(
        "overrides",
        visitor,
        overrides=found[offset : offset + MOST],
        decisions=DECISIONS,
        following=path("overrides", offset=offset + MOST) if offset + MOST < len(found) else "",
        notice=just_decided(reader, done),
        back=path("overrides", offset=offset or None),
    )


def of_pages(reader: IndexReader, pages: Iterable[str]) -> list[Override]:
    """Overrides in force that name any of these pages, at most ``MOST``."""
    named = reader.overrides_of(pages).values()
    return list({each.id: each for some in named for each in some}.values())[:MOST]


def just_decided(reader: IndexReader, done: str) -> tuple[Override, str] | None:
    """The override of an id, and what it decided in words; None where there is none."""
    if not done:
        return None
    found = next((each for each in reader.overrides(undone=True) if each.id == done), None)
    return (found, DECISIONS[found.kind]) if found else None
