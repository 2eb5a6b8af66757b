"""Indices whose owner gives the versions of documents: writes of ``dedup`` leave them as they are, and the owner's next write is no conflict."""

from typing import Any

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk, scan

from es_dedup.errors import IndexRefused, PreflightFailed
from es_dedup.hook import DedupHook, SourceFields, dedup_bulk
from es_dedup.index.source_index import DedupField
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from tests.servers import url_of
from tests.source_indices import canonical_counts, count_with_dedup_field, settings, source_index
from tests.texts import article
from tests.traffic import run

FIELDS = SourceFields("body")
COUNT = 100


def actions(index: str, version: int, *, more: str = "") -> list[dict[str, Any]]:
    """Every third document is a copy of the one before; each has the version that its owner has counted."""
    return [
        {
            "_index": index,
            "_id": str(at),
            "version": version,
            "version_type": "external",
            "_source": {"body": article(at - (at % 3 == 2)) + more, "title": "A page"},
        }
        for at in range(COUNT)
    ]


def versions(client: Elasticsearch, index: str) -> set[int]:
    client.indices.refresh(index=index)
    return {hit["_version"] for hit in scan(client, index=index, version=True)}


def conflicts(client: Elasticsearch, index: str, version: int) -> int:
    """How many of its owner's writes the server refuses."""
    done, _ = bulk(client, actions(index, version), raise_on_error=False, refresh=True, stats_only=True)
    return COUNT - done


def test_without_the_option_every_following_write_conflicts() -> None:
    """Versions counted from 1 cannot be told from the server's own: the documents say nothing against them."""
    with source_index({}) as (client, name), open_context(f"{url_of('es8')}/{name}", settings()) as site:
        bulk(client, actions(name, 1), refresh=True)
        attach(site, name, FIELDS)
        run(site, "backfill")
        assert conflicts(client, name, 2) == COUNT


def test_marks_keep_external_versions() -> None:
    with source_index({}) as (client, name), open_context(f"{url_of('es8')}/{name}", settings()) as site:
        bulk(client, actions(name, 1), refresh=True)
        attach(site, name, FIELDS, external_versions=True)
        run(site, "backfill")
        assert versions(client, name) == {1}
        assert count_with_dedup_field(client, name) == COUNT
        assert audit(site).clean
        assert (
            conflicts(client, name, 2) == 0
        )  # and takes the ``dedup`` fields away, as each write past the hook does
        audit(site, repair=True, force=True)
        assert versions(client, name) == {2}
        assert set(canonical_counts(client, name).values()) == {1}
        run(site, "recluster")
        assert audit(site).clean
        detach(site, name, force=True)
        assert versions(client, name) == {2}
        assert all("dedup" not in hit["_source"] for hit in scan(client, index=name))


def test_the_hook_sees_them_in_its_actions() -> None:
    with source_index({}) as (client, name):
        with DedupHook.open(f"{url_of('es8')}/{name}", FIELDS) as hook:
            for version, more in ((1, ""), (2, ""), (3, " One more sentence at the end of each page.")):
                result = dedup_bulk(client, actions(name, version, more=more), hook=hook, chunk_size=10)
                assert tuple(result) == (COUNT, [])
                assert not result.report.not_repaired
        assert versions(client, name) == {3}
        assert set(canonical_counts(client, name).values()) == {1}
        assert count_with_dedup_field(client, name) == COUNT


def test_versions_that_are_certainly_external_are_found_by_the_preflight() -> None:
    with source_index({}) as (client, name), open_context(f"{url_of('es8')}/{name}", settings()) as site:
        bulk(client, actions(name, 1_700_000_000), refresh=True)
        with pytest.raises(PreflightFailed, match=r"has version 1700000000.*--external-versions"):
            attach(site, name, FIELDS)
        attach(site, name, FIELDS, force=True)
        with pytest.raises(PreflightFailed, match="--external-versions"):
            run(site, "backfill")
        attach(site, name, FIELDS, external_versions=True)
        run(site, "backfill")
        assert versions(client, name) == {1_700_000_000}


def test_an_index_whose_documents_cannot_be_indexed_again_is_refused() -> None:
    with source_index({}) as (client, name), open_context(f"{url_of('es8')}/{name}", settings()) as site:
        client.indices.put_settings(index=name, settings={"index.final_pipeline": "audit-trail"})
        with pytest.raises(IndexRefused, match="audit-trail would change documents"):
            attach(site, name, FIELDS, external_versions=True)


def test_documents_that_can_no_longer_be_indexed_again_are_refused_with_the_reason() -> None:
    with source_index({}) as (client, name), open_context(f"{url_of('es8')}/{name}", settings()) as site:
        bulk(client, actions(name, 1), refresh=True)
        attach(site, name, FIELDS, external_versions=True)
        run(site, "backfill")
        client.indices.put_settings(index=name, settings={"index.final_pipeline": "audit-trail"})
        other = DedupField("another", canonical=True, relation="unique")
        report = site.source_index.write_dedup_fields({f"{name}/0": other, f"{name}/1": other})
        assert (report.changed, report.gone) == (0, ())
        assert report.failed.keys() == {f"{name}/0", f"{name}/1"}
        assert "refused: index.final_pipeline audit-trail" in report.failed[f"{name}/0"]
        assert detach(site, name, force=True).failed == COUNT
        assert count_with_dedup_field(client, name) == COUNT


def test_a_decision_does_not_index_again_what_would_lose_data() -> None:
    with source_index({}) as (client, name), open_context(f"{url_of('es8')}/{name}", settings()) as site:
        bulk(client, actions(name, 1), refresh=True)
        attach(site, name, FIELDS, external_versions=True)
        run(site, "backfill")
        site.source_index.write_dedup_fields(
            {f"{name}/0": DedupField("0", canonical=True, relation="pending", waiting=True)}
        )
        site.source_index.refresh(name)
        client.indices.put_settings(index=name, settings={"index.final_pipeline": "audit-trail"})
        documents = [each for some in site.source_index.waiting(name, FIELDS.names) for each in some]
        assert len(documents) == 1
        assert site.source_index.decided(documents, FIELDS.names) == 0
        client.indices.put_settings(index=name, settings={"index.final_pipeline": "_none"})
        assert site.source_index.decided(documents, FIELDS.names) == 1
