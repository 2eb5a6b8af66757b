"""Stored pages whose site has passages that people have decided to ignore: their features are made again from kept texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from es_dedup import extraction
from es_dedup.batch.chunk_rows import changed
from es_dedup.batch.featurise import make_chunk
from es_dedup.batch.overrides import load_ignored
from es_dedup.model import Page
from es_dedup.text.passages import has_passage

if TYPE_CHECKING:
    from es_dedup.batch.featurise import TextCodec
    from es_dedup.extraction.port import Extractor
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord, RecordBatch
    from es_dedup.settings import Settings

BATCH: Final = 500  # pages read and written at a time


def apply_ignored(index: Index, settings: Settings, codec: TextCodec) -> int:
    """Make features again of the stored pages that hold a passage which is, or was, ignored; edges and clusters stay as they are.

    Args:
        index: to write to; the caller keeps other writers out, and clusters everything again.
        settings: detectors.
        codec: packs texts, which are stored as they were.

    Returns:
        Number of pages of the sites in question whose text is not kept; their features stay as they were.
    """
    ever = load_ignored(index, undone=True)
    if not ever:
        return 0
    extractor = extraction.create_extractor(settings.extraction)
    without = 0
    for records in index.scan(batch=BATCH):
        concerned = {each.page_id: each for each in records if each.site in ever}
        texts = index.texts(concerned)
        without += sum(name not in texts and each.content_hash != 0 for name, each in concerned.items())
        holding = [
            concerned[name] for name, text in texts.items() if has_passage(text, ever[concerned[name].site])
        ]
        if holding:
            index.put_batch(_again(holding, texts, index, settings, extractor, codec))
    return without


def _again(
    stored: list[FeatureRecord],
    texts: dict[str, str],
    index: Index,
    settings: Settings,
    extractor: Extractor,
    codec: TextCodec,
) -> RecordBatch:
    """Features of stored pages made again, of those that change."""
    pages = [
        Page(
            each.page_id,
            text=texts[each.page_id],
            url=each.url or None,
            title=each.title or None,
            published=each.published or None,
            site=each.site,
        )
        for each in stored
    ]
    ignored = load_ignored(index)
    chunk = make_chunk(pages, settings, extractor, codec, named=index.keeps_named, ignored=ignored)
    known = {each.page_id: each for each in stored}
    records = replace(chunk.records, languages=[known[name].language for name in chunk.records.ids])
    return changed(replace(chunk, records=records), known)[0].records
