"""Exact numbers of groups where a server would share one search out among its threads."""

import random
from collections.abc import Iterator

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.collapse import Bound, DedupSearch, Total
from tests.collapsing import create
from tests.servers import client_of, fresh_name, url_of

PAGES = 160_000  # a server gives each of its threads 50,000 or more
CLUSTERS = 90_000


@pytest.fixture
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8"), request_timeout=120) as client:
        yield client


@pytest.mark.slow
def test_clusters_that_lie_all_over_many_segments_count_once(client: Elasticsearch) -> None:
    source = random.Random(23)
    cluster = [source.randrange(CLUSTERS) for _ in range(PAGES)]
    size = [0] * CLUSTERS
    for each in cluster:
        size[each] += 1
    words = [source.choice(("bridge", "river")) for _ in cluster]
    index = fresh_name()
    create(client, index)
    try:
        actions = (
            {
                "_index": index,
                "_id": str(page),
                "_source": {
                    "body": word,
                    "dedup": {"cluster_id": f"c{name}", "cluster_size": 1 << (size[name].bit_length() - 1)},
                },
            }
            for page, (name, word) in enumerate(zip(cluster, words, strict=True))
        )
        bulk(client, actions, chunk_size=5_000, refresh=True)
        assert len(client.cat.segments(index=index, format="json").body) > 1
        for body, wanted in (
            ({}, set(cluster)),
            (
                {"query": {"match": {"body": "river"}}},
                {c for c, w in zip(cluster, words, strict=True) if w == "river"},
            ),
        ):
            page = DedupSearch(client, index).search(body, mode="collapse", group_total="exact")
            assert page.total_groups == Total(len(wanted), Bound.EXACT)
    finally:
        client.indices.delete(index=index)
