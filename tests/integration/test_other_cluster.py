"""A client of another cluster than the hook's is refused before anything is written on either."""

import asyncio

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch

from es_dedup.errors import OtherCluster
from es_dedup.hook import DedupHook, async_dedup_bulk, dedup_bulk, dedup_streaming_bulk
from tests.hooked import FIELDS, five
from tests.servers import fresh_name, remove, url_of

pytestmark = pytest.mark.other_servers


def test_the_bulk_helpers_refuse_another_cluster() -> None:
    features, documents, name = url_of("es8"), url_of("es9"), fresh_name()

    async def write() -> None:
        async with AsyncElasticsearch(documents) as client:
            await async_dedup_bulk(client, five(name), hook=hook)

    try:
        with (
            Elasticsearch(features) as here,
            Elasticsearch(documents) as there,
            DedupHook.open(f"{features}/{name}", FIELDS) as hook,
        ):
            for _ in range(2):
                with pytest.raises(OtherCluster, match="address of the cluster that holds the documents"):
                    dedup_bulk(there, five(name), hook=hook)
            with pytest.raises(OtherCluster):
                list(dedup_streaming_bulk(there, five(name), hook=hook))
            with pytest.raises(OtherCluster):
                asyncio.run(write())
            assert not here.indices.exists(index=name)
            assert not there.indices.exists(index=name)
            assert tuple(dedup_bulk(here, five(name), hook=hook)) == (5, [])
            assert not there.indices.exists(index=name)
            here.indices.delete(index=name)
    finally:
        remove(f"{features}/{name}")
