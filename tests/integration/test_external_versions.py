"""Documents whose owner gives their versions: each write of ``dedup`` would raise them, so they are refused before anything is written."""

from typing import Any

import pytest
from elasticsearch.helpers import bulk

from es_dedup.errors import IndexRefused, PreflightFailed
from es_dedup.hook import DedupHook, SourceFields, dedup_bulk
from es_dedup.maintenance.attach import attach
from es_dedup.maintenance.context import open_context
from tests.servers import url_of
from tests.source_indices import settings, source_index
from tests.texts import article

FIELDS = SourceFields("body")


def actions(index: str, version: int) -> list[dict[str, Any]]:
    place = {"_index": index, "version": version, "version_type": "external"}
    return [
        {**place, "_id": str(at), "_source": {"body": article(at), "title": "A page"}} for at in range(30)
    ]


def test_the_hook_refuses_an_action_with_an_external_version() -> None:
    with source_index({}) as (client, name):
        with (
            DedupHook.open(f"{url_of('es8')}/{name}", FIELDS) as hook,
            pytest.raises(IndexRefused, match=r"external version.*without version_type"),
        ):
            dedup_bulk(client, actions(name, 1), hook=hook)
        client.indices.refresh(index=name)
        assert client.count(index=name)["count"] == 0


def test_versions_that_are_certainly_external_are_found_by_the_preflight() -> None:
    with source_index({}) as (client, name), open_context(f"{url_of('es8')}/{name}", settings()) as site:
        bulk(client, actions(name, 1_700_000_000), refresh=True)
        with pytest.raises(PreflightFailed, match=r"has version 1700000000"):
            attach(site, name, FIELDS)
