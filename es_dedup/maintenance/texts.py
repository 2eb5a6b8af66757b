"""New features from the texts that an index keeps itself: for an index without attached indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.batch.annotations import load_annotations
from es_dedup.batch.overrides import load_overrides
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.deduplicator.stored_reader import KEPT, ROOTS
from es_dedup.model import Page
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings import Settings

BATCH: Final = 500
KEPT_AT_A_TIME: Final = 50  # an answer that a server keeps has at most 1 MB


@dataclass(frozen=True, slots=True)
class Refilled:
    """What ``refill`` did.

    Attributes:
        pages: pages of the old index.
        without_text: pages with features whose text is not kept; they are not in the new one.
    """

    pages: int
    without_text: int


def refill(old: Index, new: Index, settings: Settings) -> Refilled:
    """Bring an index up to what another one stores, by the texts of that one; to repeat it is safe, and reads what has changed since.

    Args:
        old: the index whose texts are read.
        new: the new index.
        settings: it was opened with these.
    """
    counted = {"pages": 0, "without": 0}

    def pages() -> Iterator[Page]:
        for records in old.scan(batch=BATCH):
            there = new.get_many(record.page_id for record in records)
            changed = [each for each in records if _facts(each) != _facts(there.get(each.page_id))]
            texts = old.texts(each.page_id for each in changed)
            counted["pages"] += len(records)
            without = [each.page_id for each in changed if each.content_hash and each.page_id not in texts]
            counted["without"] += len(without)
            for each in changed:
                if each.page_id in texts or not each.content_hash:
                    yield _page(each, texts.get(each.page_id, ""))

    old.refresh()  # else pages that were removed a moment ago are still found, without their texts
    new.set_note(ROOTS, old.note(ROOTS))
    dedup = Deduplicator(new, settings)
    carry_over(old, new, dedup)
    dedup.scan(pages())
    if gone := [name for records in new.scan(batch=BATCH) for name in _gone(old, records)]:
        dedup.remove(gone)
        new.refresh()  # whoever opens the index after the swap sees no removed page
    return Refilled(counted["pages"], counted["without"])


def carry_over(old: Index, new: Index, dedup: Deduplicator) -> None:
    """Give a new generation, which ``dedup`` works on, what the old one has beside pages: overrides, annotations, and what programs keep there."""
    dedup.import_overrides(load_overrides(old).values())
    dedup.import_annotations(load_annotations(old, removed=True))
    kept = sorted(
        {name for index in (old, new) for name in index.note_names() if name.startswith(KEPT.format(""))}
    )
    for names in chunked(kept, KEPT_AT_A_TIME):
        there = new.notes(names)
        for name, text in old.notes(names).items():
            if text != there[name]:
                new.set_note(name, text)


def _page(record: FeatureRecord, text: str) -> Page:
    return Page(
        record.page_id,
        text=text,
        url=record.url or None,
        title=record.title or None,
        published=record.published or None,
        site=record.site or None,
    )


def _facts(record: FeatureRecord | None) -> tuple[object, ...]:
    """What shows that a page was stored again."""
    if record is None:
        return ()
    return (record.content_hash, record.length, record.title, record.url, record.site, record.published)


def _gone(old: Index, records: list[FeatureRecord]) -> list[str]:
    there = old.get_many(record.page_id for record in records)
    return [record.page_id for record in records if record.page_id not in there]
