"""Clusters into the documents of the host."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from es_dedup.batch.settle import write_session
from es_dedup.maintenance.letters import bury_failed
from es_dedup.marks import marks_of, marks_of_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.index.host import Mark, MarkReport
    from es_dedup.index.port import Assignment
    from es_dedup.maintenance.site import Site


def mark_groups(site: Site, groups: Sequence[Sequence[Assignment]]) -> Mapping[str, int]:
    """Mark all pages of whole clusters; pages whose document has gone are removed from the index.

    Returns:
        Counts: ``marked``, ``unmarked`` (already right), ``gone``, ``refused``.
    """
    edges = site.index.edges_of(each.page_id for group in groups for each in group)
    return _write(site, marks_of_groups(groups, edges))


def mark_pages(site: Site, page_ids: Iterable[str]) -> Mapping[str, int]:
    """The same for the clusters that some pages are in."""
    return _write(site, marks_of(site.index, page_ids))


def forget_gone(site: Site, page_ids: Sequence[str]) -> Mapping[str, int]:
    """``forget`` for pages whose documents were not there a moment ago, without those that are there again."""
    with write_session(site.index):
        there = site.host.read(page_ids, ())
        gone = [name for name in page_ids if name not in there]
        return forget(site, gone) if gone else {}


def forget(site: Site, page_ids: Sequence[str]) -> Mapping[str, int]:
    """Take pages out of the index whose documents have gone, and mark anew who was in a cluster with them."""
    clusters = {each.cluster_id for each in site.index.assignments(page_ids).values()}
    beside = {each.page_id for group in site.index.members(clusters).values() for each in group}
    inside = {edge.left for edge in site.index.edges_of(page_ids)} | {
        edge.right for edge in site.index.edges_of(page_ids)
    }
    removed = site.dedup.remove(page_ids).removed
    counts = Counter(mark_pages(site, (beside | inside) - set(page_ids)))
    counts["gone"] += removed
    return counts


def _write(site: Site, marks: Mapping[str, Mark]) -> Mapping[str, int]:
    report = site.host.mark(marks)
    bury_failed(site, _lasting(report), "mark")
    counts = Counter(marked=report.changed, right=report.unchanged, refused=len(report.failed))
    if report.gone:
        counts.update(forget_gone(site, report.gone))
    return counts


def _lasting(report: MarkReport) -> Mapping[str, str]:
    """Failures that a repetition does not heal; a conflict is healed by the next audit."""
    return {name: reason for name, reason in report.failed.items() if not reason.startswith("conflict")}
