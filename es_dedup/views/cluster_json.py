"""A cluster as JSON: its canonical document and members with their metadata, and the evidence where it is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Cluster
    from es_dedup.model.overrides import Override


def cluster_as_dict(reader: IndexReader, cluster: Cluster, *, evidence: bool) -> dict[str, Any]:
    """JSON-ready form of a cluster; ``evidence``: each member with its pair decision against the canonical document."""
    pages = (cluster.canonical, *(member.page_id for member in cluster.members))
    overrides, records = reader.overrides_of(pages), reader.records_of(pages)
    members = []
    for member in cluster.members:
        canonical, page = member.shares or (None, None)
        shown = _page(member.page_id, records, overrides) | {
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
        "canonical": _page(cluster.canonical, records, overrides),
        "members": members,
        "contained_in": list(cluster.contained_in),
    }


def _page(
    page_id: str, records: Mapping[str, FeatureRecord], overrides: Mapping[str, Iterable[Override]]
) -> dict[str, Any]:
    """Metadata of a page, empty where another process has just removed it."""
    record = records.get(page_id)
    known = {name: getattr(record, name, "") for name in ("title", "url", "published")}
    return {
        "page_id": page_id,
        **known,
        "overrides": [each.of(page_id) for each in overrides.get(page_id, ())],
    }
