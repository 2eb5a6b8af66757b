"""Overrides that are made, ended or taken over; the clusters of the pages that they concern follow at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.batch.overrides import load_overrides, merged, same_in_force
from es_dedup.batch.recluster import change_overrides
from es_dedup.errors import InvalidOverride, UnknownOverride
from es_dedup.model.annotations import just_now
from es_dedup.model.overrides import OverrideReport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.port import Index
    from es_dedup.model.overrides import Override
    from es_dedup.settings import Settings


def merge_overrides(index: Index, settings: Settings, given: Iterable[Override]) -> OverrideReport:
    """See ``Deduplicator.import_overrides``; the caller keeps other writers out."""
    changes, constraints = merged(load_overrides(index), given)
    if not changes:
        return OverrideReport(())
    return OverrideReport(tuple(changes), change_overrides(index, changes, constraints, settings))


def add_override(index: Index, settings: Settings, new: Override) -> OverrideReport:
    """Take a new override into force; the caller keeps other writers out.

    Returns:
        The override that is in force now: the one before, if it says the same.

    Raises:
        OverrideConflict: it contradicts others in force.
        InvalidOverride: it names a page twice, or its reason or author is empty or too long.
    """
    if len(set(new.pages)) != len(new.pages):
        raise InvalidOverride(f"page {new.pages[0]!r} is named twice")
    if not new.reason.strip() or not new.author.strip():
        raise InvalidOverride("the reason or the author is empty")
    changed = merge_overrides(index, settings, [new]).changed
    stored = same_in_force(load_overrides(index).values(), new)
    return OverrideReport((stored or new,), changed)


def end_override(
    index: Index, settings: Settings, override_id: str, *, reason: str, author: str
) -> OverrideReport:
    """See ``Deduplicator.undo_override``; the caller keeps other writers out."""
    known = load_overrides(index)
    if override_id not in known:
        raise UnknownOverride(override_id)
    undone = replace(known[override_id], undone=just_now(), undone_by=author, undone_reason=reason)
    changed = merge_overrides(index, settings, [undone]).changed
    return OverrideReport((load_overrides(index)[override_id],), changed)
