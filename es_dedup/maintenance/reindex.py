"""New features for everything: after a change of settings that shape them.

The new generation is made beside the one in use, from the source indices or, where none is attached, from the texts that the index keeps
(``texts``). What hook, tasks and others write to them meanwhile is followed
by sequence numbers (``following``): the source index's own order of writes takes the place of writing everything twice. When little is left,
the rest is followed and the aliases are swapped while the writer lock of the old generation is held, so that no decision falls in
between. Who still has the old settings is refused from then on (``index.elastic.generation_watch``), and its documents wait for a decision. The
old generation is kept for ``roll_back``.
"""

from __future__ import annotations

import random
import secrets
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.batch.featurise import make_chunk
from es_dedup.batch.overrides import load_ignored
from es_dedup.errors import DedupError
from es_dedup.index import factory
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.attachment import load_attachments, save_attachments
from es_dedup.maintenance.change_capture import follow, note_positions
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.dedup_field_writes import gone
from es_dedup.maintenance.runner import Runner
from es_dedup.maintenance.texts import carry_over, refill

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_dedup.index.port import Index
    from es_dedup.index.source_index import SourceDocument
    from es_dedup.maintenance.attachment import Attachment
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.settings import Settings

NOTE: Final = "reindex"
SAMPLES: Final = 200
PREVIOUS: Final = "previous"
FEW: Final = 200  # documents that may be left for the time in which writers wait
ROUNDS: Final = 20  # of following, while others write
TRIES: Final = 5  # to find as many pages as documents, while others write documents


class NotVerified(DedupError):
    """The new generation is not what the source indices say; the old one is still in use."""

    problem: str
    message = "{problem}; nothing was swapped: call reindex again, or reindex --abandon"


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What ``reindex`` did.

    Attributes:
        generation: name of the new one.
        documents, pages: of the source indices; in the new generation.
        dead: documents that cannot be pages.
        sampled: pages whose features were made again and found equal.
        updated: documents whose ``dedup`` field changed.
    """

    generation: str
    documents: int
    pages: int
    dead: int
    sampled: int
    updated: int


def reindex(
    place: str, settings: Settings, *, report_progress: Callable[[str], None] = lambda _: None
) -> Reindexed:
    """Build a new generation with the settings in force, verify it, switch over, and write the ``dedup`` fields that have changed.

    When it was interrupted, the same call goes on. Workers of the generation's own address help.

    Args:
        place: address of the index.
        settings: for the new generation.
        report_progress: called with the address of the new generation, then with the name of each stage after its first batch.

    Raises:
        NotVerified: counts or samples do not agree.
        IndexLocked: another writer holds the old generation.
    """
    with factory.open_stored(place, settings) as old:
        attachments = load_attachments(old)
        if not attachments:
            return _from_texts(old, place, settings, report_progress)
        _check_sources(place, settings, attachments)
        address, generation = _beside(old, place, report_progress)
        with open_context(address, settings) as new:
            save_attachments(new.index, attachments)
            note_positions(new)
            carry_over(old, new.index, new.dedup)
            _run(new, "refill", report_progress)
            report_progress("taking in later writes")
            _remove_orphans(new)
            for _ in range(ROUNDS):
                if follow(new) <= FEW:
                    break
            report_progress("switching")
            with old.writing():  # no decision falls between the last following and the swap
                documents, pages, dead, sampled = _verified(new)
                _keep_dead(new, place)
                carry_over(old, new.index, new.dedup)  # those made meanwhile
                factory.swap_generation(place, generation, settings)
    with open_context(place, settings) as context:
        _cancel_jobs(context)
        follow(context)  # decided on with the old settings, written after the swap
        counts = _run(context, "update", report_progress)
        follow(context)
    return Reindexed(generation, documents, pages, dead, sampled, counts.get("updated", 0))


def _beside(old: Index, place: str, report_progress: Callable[[str], None]) -> tuple[str, str]:
    """Address and name of the generation that is being made, or of one to be made."""
    ending = old.note(NOTE) or f"g{secrets.token_hex(3)}"
    old.set_note(NOTE, ending)
    address, generation = factory.beside(place, ending)
    report_progress(f"the new generation is {address}")
    return address, generation


def _from_texts(
    old: Index, place: str, settings: Settings, report_progress: Callable[[str], None]
) -> Reindexed:
    """The same for an index without attached indices, from the texts it keeps; no ``dedup`` field is written."""
    address, generation = _beside(old, place, report_progress)
    with factory.open_index(address, settings, exact=True) as index:
        report_progress("reading stored texts")
        refill(old, index, settings)
        report_progress("switching")
        with old.writing():
            pages = _refilled(old, index, settings)  # what was written meanwhile
            factory.swap_generation(place, generation, settings)
    return Reindexed(generation, pages, pages, 0, 0, 0)


def _refilled(old: Index, new: Index, settings: Settings) -> int:
    """Bring a generation up to what another one stores, and verify it; the number of pages."""
    found = refill(old, new, settings)
    if found.without_text:
        raise NotVerified(
            f"the texts of {found.without_text:,} of {found.pages:,} pages are not kept, "
            f"so scan the pages again into a new index"
        )
    if (pages := new.count()) != found.pages:
        raise NotVerified(f"{found.pages:,} pages gave {pages:,}")
    return pages


def abandon(place: str, settings: Settings) -> bool:
    """Remove a generation that was not finished; whether there was one."""
    with factory.open_stored(place, settings) as old:
        ending = old.note(NOTE)
        if ending is None:
            return False
        factory.drop_generation(place, factory.beside(place, ending)[1], settings)
        old.set_note(NOTE, None)
        return True


def roll_back(
    place: str, settings: Settings, *, report_progress: Callable[[str], None] = lambda _: None
) -> int:
    """Put the previous generation in use again, with the settings it was filled with in force; bring it up to date.

    Returns:
        Documents whose ``dedup`` field changed.

    Raises:
        NotAnIndex: there is no previous generation.
        SchemaMismatch: another release made it.
        SettingsMismatch: other settings are in force.
        NotVerified: no index is attached, and not all texts are kept.
    """
    address, generation = factory.beside(place, PREVIOUS)
    factory.must_fit(address, settings)
    with factory.open_stored(place, settings) as present, present.writing():
        attachments = load_attachments(present)
        _check_sources(place, settings, attachments)
        with open_context(address, settings) as previous:
            if attachments:
                carry_over(present, previous.index, previous.dedup)
            else:
                _refilled(present, previous.index, settings)
        factory.swap_generation(place, generation, settings)
    with open_context(place, settings) as context:
        context.index.set_note(NOTE, None)
        _cancel_jobs(context)
        return _run(context, "backfill", report_progress).get("updated", 0) if attachments else 0


def _check_sources(place: str, settings: Settings, attachments: Sequence[Attachment]) -> None:
    """Raise ``SourceIncomplete`` where documents cannot be updated without losing data, before a generation is changed."""
    with closing(factory.open_source_index(place, settings)) as source_index:
        source_index.check(name for each in attachments for name in source_index.indices(each.target))


def verify(context: MaintenanceContext) -> tuple[int, int, int, int]:
    """Compare a filled index with its source indices: as many pages as documents, and features of a sample made again.

    Returns:
        Documents, pages, dead letters, pages sampled.

    Raises:
        NotVerified: they do not agree.
    """
    pages, dead = context.index.count(), context.jobs.count_dead()
    documents = sum(
        shard.documents for index in context.indices() for shard in context.source_index.shards(index)
    )
    if pages + dead < documents:
        raise NotVerified(f"{documents:,} documents gave {pages:,} pages and {dead:,} dead letters")
    return documents, pages, dead, _sampled(context)


def _verified(context: MaintenanceContext) -> tuple[int, int, int, int]:
    """As ``verify``, after what was written meanwhile was followed; again while others go on writing."""
    for left in reversed(range(TRIES)):
        follow(context)
        try:
            return verify(context)
        except NotVerified:
            if not left:
                raise
    raise AssertionError  # the last try returns or raises


def _sampled(context: MaintenanceContext) -> int:
    chosen = random.Random(0)  # noqa: S311 - which pages are looked at
    compared = 0
    for index, fields in context.indices().items():
        for shard in context.source_index.shards(index):
            start = chosen.randrange(max(1, shard.last + 1))
            found = next(context.source_index.scan(shard, fields.names, above=start - 1, batch=SAMPLES), [])
            pages = [fields.page(each.key.page_id, each.source) for each in found if not each.key.problem]
            ignored = load_ignored(context.index)
            chunk = make_chunk(pages, context.settings, context.extractor, None, ignored=ignored)
            stored = context.index.payloads(chunk.records.ids)
            for name, payload in zip(chunk.records.ids, chunk.records.payloads, strict=True):
                if name in stored and stored[name][0] != payload and not _changed(context, name, found):
                    raise NotVerified(f"features of {name} are not those of its document")
            compared += len(chunk.records.ids)
    return compared


def _changed(context: MaintenanceContext, page_id: str, read: Sequence[SourceDocument]) -> bool:
    """Whether a document has been written again since it was read."""
    now = context.source_index.read([page_id], ()).get(page_id)
    return now is None or any(each.key.page_id == page_id and each.seq_no != now.seq_no for each in read)


def _run(context: MaintenanceContext, what: str, report_progress: Callable[[str], None]) -> dict[str, int]:
    """Run a job to its end in this process and return its counts; one that was interrupted goes on."""
    reported: set[str] = set()

    def observe(stage: str, _counts: object, _seconds: float) -> None:
        if stage not in reported:
            reported.add(stage)
            report_progress(f"stage {stage}")

    runner = Runner(context, observe)
    under_way = [each for each in context.jobs.jobs(unfinished=True) if each.what == what]
    job = under_way[0] if under_way else runner.start(what, {"target": None, "force": True})
    if job.state is JobState.PAUSED:
        runner.set_state(job.id, JobState.RUNNING)
    return dict(runner.run(job.id).counts)


def _cancel_jobs(context: MaintenanceContext) -> None:
    """Cancel the unfinished jobs of an index after a swap: what they have done, they did in the other generation."""
    for job in context.jobs.jobs(unfinished=True):
        Runner(context).set_state(job.id, JobState.CANCELLED, "another generation is in use")


def _keep_dead(new: MaintenanceContext, place: str) -> None:
    """Copy the dead letters of a generation to the index that it is going to replace: its own are removed by the swap."""
    with closing(factory.open_jobs(place, new.settings)) as jobs:
        jobs.put_dead_letters(new.jobs.dead())


def _remove_orphans(context: MaintenanceContext) -> None:
    """Remove pages whose document was deleted while the generation was filled, and repair their clusters."""
    for records in context.index.scan(batch=500):
        if removed := gone(context, [record.page_id for record in records]):
            context.dedup.remove(removed)
