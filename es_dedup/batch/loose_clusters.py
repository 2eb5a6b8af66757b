"""Clusters that a template may hold together rather than a text."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from es_dedup.index.port import Index

LARGE: Final = 50  # pages; both numbers only choose what people are asked to look at, and decide nothing
LOOSE: Final = 0.65
NAMED: Final = 5


def loose_clusters(index: Index) -> tuple[str, ...]:
    """A note on clusters of ``LARGE`` pages or more, half of which have a score below ``LOOSE`` against the canonical document; empty if there is none."""
    loose = [
        group[0].cluster_id
        for group in index.clusters(min_size=LARGE)
        if median(each.score for each in group) < LOOSE
    ]
    if not loose:
        return ()
    count, examples = f"{len(loose):,} clusters of {LARGE} pages and more", ", ".join(loose[:NAMED])
    note = f"{count} have little text in common ({examples}): a template may hold them together; preset `strict` merges less"
    return (note,)
