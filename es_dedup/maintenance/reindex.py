"""New features for everything: after a change of settings that shape them, or of the schema.

The new generation is made beside the one in use, from the host indices. What is written to them meanwhile is caught up by sequence
numbers: the host's own order of writes takes the place of writing everything twice. The last catching up and the swap happen while
the writer lock of the old generation is held, so that no decision falls in between. The old generation is kept for ``roll_back``.
"""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup import wiring
from es_dedup.batch.featurise import make_chunk
from es_dedup.errors import DedupError
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.attachment import load_attachments, save_attachments
from es_dedup.maintenance.runner import Runner
from es_dedup.maintenance.site import open_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.config import Settings
    from es_dedup.index.port import Index
    from es_dedup.maintenance.site import Site

NOTE: Final = "reindex"
SAMPLES: Final = 200
PREVIOUS: Final = ".previous"


class NotVerified(DedupError):
    """The new generation is not what the host indices say; the old one is still in use."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.problem}; nothing was swapped: call reindex again, or reindex --abandon"


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What ``reindex`` did.

    Attributes:
        generation: name of the new one.
        documents, pages: of the host indices; in the new generation.
        dead: documents that cannot be pages.
        sampled: pages whose features were made again and found equal.
        marked: documents whose object ``dedup`` changed.
    """

    generation: str
    documents: int
    pages: int
    dead: int
    sampled: int
    marked: int


def reindex(place: str, settings: Settings, *, tell: Callable[[str], None] = lambda _: None) -> Reindexed:
    """Make a new generation with the settings in force, verify it, put it in use, and mark what has changed.

    When it was interrupted, the same call goes on. Workers of the generation's own address (``tell`` names it) help.

    Raises:
        NotVerified: counts or samples do not agree.
        IndexLocked: another writer holds the old generation.
    """
    with wiring.open_stored(place, settings) as old:
        attachments = load_attachments(old)
        ending = old.note(NOTE) or f".g{secrets.token_hex(3)}"
        old.set_note(NOTE, ending)
        address, generation = wiring.beside(place, ending)
        tell(f"the new generation is {address}")
        with open_site(address, settings) as new:
            save_attachments(new.index, attachments)
            _run(new, "refill")
            _without_lost(new)
            with old.writing():  # no decision falls between the last catching up and the swap
                _run(new, "refill")
                documents, pages, dead, sampled = verify(new)
                wiring.swap_generation(place, generation, settings)
    with open_site(place, settings) as site:
        counts = _run(site, "mark")
    return Reindexed(generation, documents, pages, dead, sampled, counts.get("marked", 0))


def abandon(place: str, settings: Settings) -> bool:
    """Remove a generation that was not finished; whether there was one."""
    with wiring.open_stored(place, settings) as old:
        ending = old.note(NOTE)
        if ending is None:
            return False
        wiring.drop_generation(place, wiring.beside(place, ending)[1], settings)
        old.set_note(NOTE, None)
        return True


def roll_back(place: str, settings: Settings) -> int:
    """Put the previous generation in use again, with the settings it was filled with in force; bring it up to date.

    Returns:
        Documents whose object ``dedup`` changed.

    Raises:
        NotAnIndex: there is no previous generation.
        SettingsMismatch: other settings are in force.
    """
    address, generation = wiring.beside(place, PREVIOUS)
    wiring.open_index(address, settings, read_only=True).close()
    wiring.swap_generation(place, generation, settings)
    with open_site(place, settings) as site:
        site.index.set_note(NOTE, None)
        return _run(site, "backfill").get("marked", 0)


def verify(site: Site) -> tuple[int, int, int, int]:
    """Compare a filled index with its host indices: as many pages as documents, and features of a sample made again.

    Returns:
        Documents, pages, dead letters, pages sampled.

    Raises:
        NotVerified: they do not agree.
    """
    documents = sum(shard.documents for index in site.indices() for shard in site.host.shards(index))
    pages, dead = site.index.count(), site.jobs.count_dead()
    if pages + dead < documents:
        raise NotVerified(f"{documents:,} documents gave {pages:,} pages and {dead:,} dead letters")
    return documents, pages, dead, _sampled(site)


def _sampled(site: Site) -> int:
    chosen = random.Random(0)  # noqa: S311 - which pages are looked at
    compared = 0
    for index, fields in site.indices().items():
        for shard in site.host.shards(index):
            start = chosen.randrange(max(1, shard.last + 1))
            found = next(site.host.scan(shard, fields.names, above=start - 1, batch=SAMPLES), [])
            pages = [fields.page(each.key.page_id, each.source) for each in found if not each.key.problem]
            chunk = make_chunk(pages, site.settings, site.extractor, None)
            stored = site.index.payloads(chunk.records.ids)
            for name, payload in zip(chunk.records.ids, chunk.records.payloads, strict=True):
                if name in stored and stored[name][0] != payload:
                    raise NotVerified(f"features of {name} are not those of its document")
            compared += len(chunk.records.ids)
    return compared


def _run(site: Site, what: str) -> dict[str, int]:
    """A job from begin to end in this process; one that was interrupted goes on."""
    runner = Runner(site)
    under_way = [each for each in site.jobs.jobs(unfinished=True) if each.what == what]
    job = under_way[0] if under_way else runner.start(what, {"target": None})
    if job.state is JobState.PAUSED:
        runner.set_state(job.id, JobState.RUNNING)
    return dict(runner.run(job.id).counts)


def _without_lost(site: Site) -> None:
    """Take out pages whose document was deleted while the generation was filled."""
    index: Index = site.index
    for records in index.scan(batch=500):
        names = [record.page_id for record in records]
        found = site.host.read(names, ())
        index.delete_many([name for name in names if name not in found])
