"""Features on one cluster, documents on another, each with credentials of its own."""

from collections.abc import Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.errors import OtherCluster, ServerUnreachable
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index import factory
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.settings import Settings, load_settings
from scripts.serversupport.nodes import WORKER
from tests.hooked import FIELDS, STORIES, action_of, clusters, five
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, server_of, url_of
from tests.traffic import run

pytestmark = pytest.mark.other_servers
INDEX = "pages"  # as in the role of the user


def settings(**more: Any) -> Settings:
    """Features as anybody on a server without passwords, documents as the least user of another one."""
    there = server_of("secured")
    source = {"url": there.url, "user": WORKER, "password": there.password, "ca_certs": there.ca}
    return Settings.model_validate({"source": {**source, **more}})


@pytest.fixture
def place() -> Iterator[str]:
    place = f"{url_of('es8')}/{fresh_name()}"
    yield place
    remove(place)


@pytest.fixture
def documents() -> Iterator[Elasticsearch]:
    server = server_of("secured")
    with Elasticsearch(server.url, basic_auth=(server.user, server.password), ca_certs=server.ca) as client:
        client.indices.delete(index=INDEX, ignore_unavailable=True)
        client.indices.create(index=INDEX)
        yield client
        client.indices.delete(index=INDEX, ignore_unavailable=True)


def test_hook_jobs_and_audit(place: str, documents: Elasticsearch) -> None:
    given = settings()
    with client_of(url_of("es8")) as features, DedupHook.open(place, FIELDS, settings=given) as hook:
        assert not dedup_bulk(documents, five(INDEX), hook=hook).report.inconclusive
        assert clusters(documents, INDEX) == STORIES
        with pytest.raises(OtherCluster, match=r"source\.url"):
            dedup_bulk(features, five(INDEX), hook=hook)
        assert not features.indices.exists(index=INDEX)
        names = documents.indices.get(index="*-dedup-*", expand_wildcards="all", allow_no_indices=True)
        assert not [name for name in names if name.startswith(place.rpartition("/")[2])]
    with open_context(place, given) as site:
        assert attach(site, INDEX, FIELDS).indices == (INDEX,)
        assert audit(site).clean
        # a writer that knows nothing of it
        documents.index(
            index=INDEX, id="story-3", document=action_of(story(3), INDEX)["_source"], refresh=True
        )
        assert not audit(site).clean
        run(site, "backfill")
        run(site, "recluster")
        assert audit(site).clean
        site.remove_pages([f"{INDEX}/story-3"])
        assert site.index.count() == 5
        assert audit(site, repair=True).repaired
        detach(site, INDEX, force=True)
    documents.indices.refresh(index=INDEX)
    # null, and not removed: this server has no scripts
    left = [hit["_source"]["dedup"] for hit in documents.search(index=INDEX)["hits"]["hits"]]
    assert left
    assert all(each is None for each in left)


def test_a_cluster_of_documents_that_is_not_there(place: str) -> None:
    given = load_settings(overrides={"source.url": "http://127.0.0.1:9/es"})
    with pytest.raises(ServerUnreachable, match=r"http://127\.0\.0\.1:9/es/"):
        factory.reach_source(place, 1, given)
