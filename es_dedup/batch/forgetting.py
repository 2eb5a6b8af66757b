"""Erasing pages: what is left of a page in an index after it was removed, and taking it away."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from es_dedup.batch.annotations import JOURNAL, load_annotations
from es_dedup.batch.overrides import load_overrides

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.port import Index


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """Result of forgetting pages.

    Attributes:
        removed: pages that were stored.
        repaired_clusters: clusters that were repaired.
        annotations: labels of readers that were removed.
        overrides: ids of overrides that name one of the pages. They stay, with the page's id: a page that is stored again is decided so.
        problem: why deleted data may still be readable in the storage; empty when it is not.
    """

    removed: int
    repaired_clusters: int
    annotations: int
    overrides: tuple[str, ...]
    problem: str


def erase(index: Index, page_ids: Iterable[str]) -> tuple[int, tuple[str, ...], str]:
    """Take away what removing pages leaves: labels of readers, names of clusters, and deleted data in the storage.

    Returns:
        Labels that were removed, ids of overrides that name a page, and the problem of ``Index.erase``.
    """
    ids = set(page_ids)
    known = load_annotations(index, removed=True)
    kept = [each for each in known if not ids & set(each.pair)]
    JOURNAL.erase(index, kept)
    for group in index.members(ids).values():  # a cluster bears the id of the page that it was made with
        name = f"forgotten-{secrets.token_hex(8)}"
        index.assign_many(replace(each, cluster_id=name) for each in group)
    naming = tuple(sorted(name for name, each in load_overrides(index).items() if ids & set(each.pages)))
    return len(known) - len(kept), naming, index.erase(ids)


def traces(index: Index, page_id: str) -> list[str]:
    """Where an index still has something of a page, in words; overrides that name it do not count."""
    assigned = index.assignments([page_id])
    found = {
        "features": bool(index.get_many([page_id])),
        "text": bool(index.texts([page_id])),
        "cluster": bool(assigned or index.members([page_id])),
        "edges": bool(index.edges_of([page_id])),
        "labels of readers": any(page_id in each.pair for each in load_annotations(index, removed=True)),
        "name in the storage": index.names_page(page_id),
    }
    return [name for name, there in found.items() if there]
