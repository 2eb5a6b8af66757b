"""A cluster as JSON: its canonical document and members with their metadata, and the evidence where it is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import Cluster
    from es_dedup.model.overrides import Override


def cluster_as_dict(reader: IndexReader, cluster: Cluster, *, evidence: bool) -> dict[str, Any]:
    """JSON-ready form of a cluster; ``evidence``: each member with its pair decision against the canonical document."""
    overrides = reader.overrides_of((cluster.canonical, *(member.page_id for member in cluster.members)))
    members = []
    for member in cluster.members:
        canonical, page = member.shares or (None, None)
        shown = _page(reader, member.page_id, overrides) | {
            "relation": str(member.relation),
            "score": member.score,
            "shared_of_canonical": canonical,
            "shared_of_page": page,
        }
        if evidence:
            shown["evidence"] = reader.explain(cluster.canonical, member.page_id).as_dict()
        members.append(shown)
    return {
        "id": cluster.id,
        "size": cluster.size,
        "confidence": min((member.score for member in cluster.members), default=1.0),
        "canonical": _page(reader, cluster.canonical, overrides),
        "members": members,
        "contained_in": list(cluster.contained_in),
    }


def _page(reader: IndexReader, page_id: str, overrides: Mapping[str, Iterable[Override]]) -> dict[str, Any]:
    record = reader.record(page_id)
    shown = {"page_id": page_id, "title": record.title, "url": record.url, "published": record.published}
    return shown | {"overrides": [each.of(page_id) for each in overrides.get(page_id, ())]}
