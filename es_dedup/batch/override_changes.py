"""Overrides that are made, ended or taken over: clusters of the pages that they concern follow at once, features with the next full run."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from sys import maxsize
from typing import TYPE_CHECKING, Final

from es_dedup.batch.clusters import CLUSTERS_PENDING, ClusterCache, attached
from es_dedup.batch.featurise import FeatureMaker, changed
from es_dedup.batch.overrides import JOURNAL, load_constraints, load_ignored, load_overrides, merged
from es_dedup.clustering.constraints import ClusterRules
from es_dedup.clustering.repair import update_clusters
from es_dedup.errors import InvalidOverride, UnknownOverride, reading_stored
from es_dedup.model import Page
from es_dedup.model.annotations import just_now
from es_dedup.model.overrides import Override, OverrideReport
from es_dedup.text.passages import has_passage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.batch.featurise import TextCodec
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings

DOCUMENTS_PENDING: Final = "documents_pending"
"""Note: pages whose clusters overrides have changed, and whose documents are not written yet, by the change."""


def merge_overrides(index: Index, settings: Settings, given: Iterable[Override]) -> OverrideReport:
    """Store the given overrides that change something, and cluster again the pages that they concern; the caller keeps other writers out.

    Where source indices are attached, the note ``DOCUMENTS_PENDING`` names the pages until their documents are written.

    Returns:
        Those that changed something, and the pages whose cluster has changed (other members, or another canonical document), ascending.

    Raises:
        OverrideConflict, InvalidOverride: see ``overrides.merged``; nothing was stored.
    """
    changes, constraints = merged(load_overrides(index), given)
    if not changes:
        return OverrideReport(())
    named = {page for each in changes for page in each.pages}
    touched = load_constraints(index).with_units(named) | constraints.with_units(named)
    clusters = ClusterCache(index)
    clusters.read_pages(touched)
    clusters.read_around(touched)
    change = update_clusters(clusters, touched, ClusterRules(settings.cluster, constraints), limit=maxsize)
    pages = clusters.pages_of(change)
    if attached(index) and pages:
        known = documents_pending(index)
        note = json.dumps({**known, secrets.token_hex(6): sorted(pages)}, ensure_ascii=False)
        index.set_note(DOCUMENTS_PENDING, note)
    unfinished = index.note(CLUSTERS_PENDING) is not None
    JOURNAL.record(index, changes, {} if unfinished else {CLUSTERS_PENDING: "1"})
    clusters.assign_many(clusters.still_outdated(change))
    joined = clusters.members(each.cluster_id for each in change.assignments)
    clusters.store({} if unfinished else {CLUSTERS_PENDING: None})
    index.refresh()  # who decides looks at the clusters at once, often by another process
    changed = pages.union(each.page_id for group in joined.values() for each in group)
    return OverrideReport(tuple(changes), tuple(sorted(changed)))


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
    in_force = (each for each in load_overrides(index).values() if each.in_force)
    return OverrideReport((next(each for each in in_force if each.subject == new.subject),), changed)


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


def follow_overrides(index: Index, settings: Settings) -> None:
    """Cluster the pages again that overrides in force concern, where clusters were made without them.

    Args:
        index: with all edges and clusters; the caller keeps other writers out.
        settings: canonical order.
    """
    constraints = load_constraints(index)
    touched = {*constraints.units, *constraints.apart, *constraints.canonical}
    if touched:
        index.refresh_clusters()
        change = update_clusters(index, touched, ClusterRules(settings.cluster, constraints), limit=maxsize)
        index.assign_many(change.assignments)


def documents_pending(index: Index) -> dict[str, list[str]]:
    """Pages whose documents have not followed a change of overrides yet, by the change.

    Raises:
        DamagedData: the note cannot be read.
    """
    with reading_stored("pages of changed overrides"):
        found = json.loads(index.note(DOCUMENTS_PENDING) or "{}")
        return {str(change): [str(page) for page in pages] for change, pages in found.items()}


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
    without = 0
    for records in index.scan(batch=BATCH):
        concerned = {each.page_id: each for each in records if each.site in ever}
        texts = index.texts(concerned)
        without += sum(name not in texts and each.content_hash != 0 for name, each in concerned.items())
        holding = [
            concerned[name] for name, text in texts.items() if has_passage(text, ever[concerned[name].site])
        ]
        pages = [
            Page(
                each.page_id,
                text=texts[each.page_id],
                url=each.url or None,
                title=each.title or None,
                published=each.published or None,
                site=each.site,
            )
            for each in holding
        ]
        if pages:
            chunk = FeatureMaker(settings, codec, index.keeps_named, load_ignored(index)).chunk(pages)
            languages = [concerned[name].language for name in chunk.records.ids]
            chunk = replace(chunk, records=replace(chunk.records, languages=languages))
            index.put_batch(changed(chunk, concerned)[0].records)
    return without
