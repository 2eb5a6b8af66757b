"""Erasing pages: in the index, among dead letters and jobs and, where wanted, in the source index."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_dedup.batch.stored_pages import ForgetReport, erase
from es_dedup.batch.stored_pages import traces as stored_traces
from es_dedup.errors import NotAnIndex
from es_dedup.index import factory
from es_dedup.maintenance.reindex import PREVIOUS
from es_dedup.maintenance.runner import parts_by_stage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from es_dedup.index.jobs import Job, Partition, Version
    from es_dedup.index.port import Index
    from es_dedup.maintenance.context import MaintenanceContext


@dataclass(frozen=True, slots=True)
class SiteForgetReport:
    """Result of forgetting pages of a site.

    Attributes:
        index: of the index.
        documents: documents that were deleted where that was wanted; else those that are still there.
        dead_letters: that were removed.
    """

    index: ForgetReport
    documents: tuple[str, ...]
    dead_letters: int


def forget_pages(
    context: MaintenanceContext, page_ids: Sequence[str], *, document: bool = False
) -> SiteForgetReport:
    """Erase pages; the other members of their clusters get new ``dedup`` fields.

    Args:
        context: with its attachments.
        page_ids: stored or not.
        document: also delete their documents. A document that stays is stored again by the next backfill or audit.
    """
    there = tuple(context.source_index.read(context.documents_of(page_ids), ()))
    if document and there:
        context.source_index.delete(there)
    # pages of clusters that have the id of a page
    named = {each.page_id for group in context.index.members(page_ids).values() for each in group}
    erased = (dedup := context.dedup).forget(page_ids)
    context.update_dedup_fields((named | dedup.changed).difference(page_ids))
    with _previous(context) as previous:
        if previous is not None:
            with previous.writing():
                previous.delete_many(page_ids)
                *_, problem = erase(previous, page_ids)
            erased = replace(erased, problem=erased.problem or problem)
    wanted = set(page_ids)
    for job, version, parts in _jobs_that_name(context, wanted):
        if "page_ids" in job.options:
            # the place of a page in the list says to which part it belongs
            rest = ["" if page_id in wanted else page_id for page_id in job.options["page_ids"]]
            context.jobs.change(replace(job, options={**job.options, "page_ids": rest}), version)
        for part, part_version in parts:
            if not part.owner:
                checkpoint = _without(part.checkpoint, wanted)
                context.jobs.change_partition(replace(part, checkpoint=checkpoint), part_version)
    letters = [each for each in context.jobs.dead() if each.page_id in wanted]
    context.jobs.drop_dead(letters)
    return SiteForgetReport(erased, there, len(letters))


def traces(context: MaintenanceContext, page_id: str) -> list[str]:
    """Where a site still has something of a page that was to be forgotten, in words."""
    found = context.dedup.traces(page_id)
    if context.source_index.read(context.documents_of([page_id]), ()):
        found.append("document in the source index")
    if any(each.page_id == page_id for each in context.jobs.dead()):
        found.append("dead letter")
    found += [f"position of job {job.id}" for job, _, _ in _jobs_that_name(context, {page_id})]
    with _previous(context) as previous:
        if previous is not None:
            found += [f"{each} of the previous generation" for each in stored_traces(previous, page_id)]
    return found


def _previous(context: MaintenanceContext) -> AbstractContextManager[Index | None]:
    """The generation that ``reindex`` has kept for a roll-back, if there is one; closed at the end of the block."""
    address, _ = factory.beside(context.place, PREVIOUS)
    try:
        return closing(factory.open_stored(address, context.settings))
    except NotAnIndex:
        return nullcontext()


def _jobs_that_name(
    context: MaintenanceContext, page_ids: AbstractSet[str]
) -> Iterator[tuple[Job, Version, list[tuple[Partition, Version]]]]:
    """Jobs that are to decide on one of the pages, or with parts that are, or ended, at one; with these parts."""
    for listed in context.jobs.jobs():
        if (found := context.jobs.job(listed.id)) is None:
            continue
        job, version = found
        parts = [
            (part, part_version)
            for _, stored in parts_by_stage(context, job)
            for part, part_version in stored
            if _without(part.checkpoint, page_ids) != part.checkpoint
        ]
        if parts or not page_ids.isdisjoint(job.options.get("page_ids", ())):
            yield job, version, parts


def _without(stored: Any, page_ids: Collection[str]) -> Any:
    """A checkpoint with the empty id, before which there is no page, in place of some: what was done is then done again."""
    if isinstance(stored, dict):
        return {name: _without(value, page_ids) for name, value in stored.items()}
    return "" if isinstance(stored, str) and stored in page_ids else stored
