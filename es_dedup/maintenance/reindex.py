"""New features for everything: after a change of settings that shape them.

The new generation is made beside the one in use, from the source indices.
What hook, jobs and others write to the source indices meanwhile is followed by sequence numbers (``changes``): the source index's own order
of writes takes the place of writing everything twice. When little is left, the rest is followed and the aliases are swapped while the
writer lock of the old generation is held, so that no decision falls in between. Who still has the old settings is refused from then on
(``index.elastic.schema``), and its documents wait for a decision. The old generation is kept for ``roll_back``.
"""

from __future__ import annotations

import secrets
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.batch.annotations import load_annotations
from es_dedup.batch.overrides import load_overrides
from es_dedup.errors import ConfigError, DedupError
from es_dedup.index import factory
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.attach import sample
from es_dedup.maintenance.backfill import KINDS, outdated_after_pause
from es_dedup.maintenance.context import load_attachments, open_context, save_attachments
from es_dedup.maintenance.follow import follow, note_positions
from es_dedup.maintenance.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.index.port import Index
    from es_dedup.maintenance.context import Attachment, MaintenanceContext
    from es_dedup.settings import Settings

NOTE: Final = "reindex"
SAMPLES: Final = 200
PREVIOUS: Final = "previous"
FEW: Final = 200  # documents that may be left for the time in which writers wait
ROUNDS: Final = 20  # of following, while others write
TRIES: Final = 5  # to find as many pages as documents, while others write documents
BATCH: Final = 500


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
        sampled: documents that were read again; where they are pages, their features were made again and found equal.
        updated: documents whose ``dedup`` field changed.
    """

    generation: str
    documents: int
    pages: int
    dead: int = 0
    sampled: int = 0
    updated: int = 0


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
        ConfigError: no index is attached.
        NotVerified: counts or samples do not agree.
        IndexLocked: another writer holds the old generation.
    """
    with factory.open_stored(place, settings) as old:
        attachments = _attached_to(old, place, settings)
        ending = old.note(NOTE) or f"g{secrets.token_hex(3)}"
        old.set_note(NOTE, ending)
        address, generation = factory.beside(place, ending)
        report_progress(f"the new generation is {address}")
        with open_context(address, settings) as new:
            save_attachments(new.index, attachments)
            note_positions(new)
            _carry_over(old, new.dedup)
            _run(new, "refill", report_progress)
            report_progress("taking in later writes")
            for records in new.index.scan(batch=BATCH):  # whose document was deleted meanwhile
                if removed := new.gone([record.page_id for record in records]):
                    new.dedup.remove(removed)
            for _ in range(ROUNDS):
                if follow(new) <= FEW:
                    break
            report_progress("switching")
            with old.writing():  # no decision falls between the last following and the swap
                verified = _verified(new)
                with closing(factory.open_jobs(place, settings)) as jobs:  # its own are removed by the swap
                    jobs.put_dead_letters(new.jobs.dead())
                _carry_over(old, new.dedup)  # what was made meanwhile
                factory.swap_generation(place, generation, settings)
    with open_context(place, settings) as context:
        _cancel_jobs(context)
        follow(context)  # decided on with the old settings, written after the swap
        counts = _run(context, "update", report_progress)
        follow(context)
    return Reindexed(generation, *verified, counts.get("updated", 0))


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
        ConfigError: no index is attached.
    """
    address, generation = factory.beside(place, PREVIOUS)
    factory.must_fit(address, settings)
    with factory.open_stored(place, settings) as present, present.writing():
        _attached_to(present, place, settings)
        with open_context(address, settings) as previous:
            _carry_over(present, previous.dedup)
        factory.swap_generation(place, generation, settings)
    with open_context(place, settings) as context:
        context.index.set_note(NOTE, None)
        _cancel_jobs(context)
        return _run(context, "backfill", report_progress).get("updated", 0)


def _attached_to(index: Index, place: str, settings: Settings) -> list[Attachment]:
    """The attachments of an index, before a generation is changed.

    Raises:
        ConfigError: there are none.
        SourceIncomplete: documents cannot be updated without losing data.
    """
    attachments = load_attachments(index)
    if not attachments:
        raise ConfigError(("no source index is attached: scan the pages into a new index",), "reindex")
    with closing(factory.open_source_index(place, settings)) as source_index:
        source_index.check(name for each in attachments for name in source_index.indices(each.target))
    return attachments


def _run(context: MaintenanceContext, what: str, report_progress: Callable[[str], None]) -> dict[str, int]:
    """Run a job to its end in this process and return its counts; one that was interrupted goes on."""
    reported: set[str] = set()

    def observe(stage: str, _counts: object, _seconds: float) -> None:
        if stage not in reported:
            reported.add(stage)
            report_progress(f"stage {stage}")

    runner = Runner(context, observe)
    job, _ = runner.begin(what, {"force": True})
    return dict(runner.run(job.id).counts)


def _cancel_jobs(context: MaintenanceContext) -> None:
    """Cancel the unfinished jobs of an index after a swap: what they have done, they did in the other generation."""
    for job in context.jobs.jobs(unfinished=True):
        if not KINDS[job.what].brief:  # these name documents, wherever their features are stored
            Runner(context).set_state(job.id, JobState.CANCELLED, "another generation is in use")


# What is compared before the swap


def verify(context: MaintenanceContext) -> tuple[int, int, int, int]:
    """Compare a filled index with its source indices: as many pages as documents, and features of a sample made again.

    Returns:
        Documents, pages, dead letters, documents sampled.

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
    for _ in range(TRIES - 1):
        follow(context)
        with suppress(NotVerified):
            return verify(context)
    follow(context)
    return verify(context)


def _sampled(context: MaintenanceContext) -> int:
    """Make the features of some documents of each index again, and return how many there were."""
    compared = 0
    for index, fields in context.indices().items():
        found = list(sample(context, index, fields.names, SAMPLES))
        for other in outdated_after_pause(context, fields, context.outdated(fields, found)):
            raise NotVerified(f"features of {other.key.page_id} are not those of its document")
        compared += len(found)
    return compared


# From one generation to the other


def _carry_over(old: Index, dedup: Deduplicator) -> None:
    """Copy overrides and annotations of the generation in use to the new one, which ``dedup`` has open."""
    dedup.import_overrides(load_overrides(old).values())
    dedup.import_annotations(load_annotations(old, removed=True))
