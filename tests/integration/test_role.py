"""The documented role is enough for maintenance, hook and search on a secured node, and for nothing else."""

from collections.abc import Callable, Iterator

import pytest
from elasticsearch import AuthorizationException, Elasticsearch

from es_dedup.collapse import DedupSearch
from es_dedup.collapse.model import START
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.reindex import reindex, roll_back
from es_dedup.settings import Settings
from scripts.serversupport.nodes import SEARCHER, WORKER
from tests.hooked import FIELDS, STORIES, action_of, clusters, five
from tests.samples import story
from tests.servers import server_of
from tests.traffic import run

pytestmark = pytest.mark.other_servers
INDEX = "pages"  # as in the role


@pytest.fixture
def place() -> Iterator[str]:
    server = server_of("secured")
    with Elasticsearch(server.url, basic_auth=(server.user, server.password), ca_certs=server.ca) as admin:
        clear(admin)
        admin.indices.create(index=INDEX)
        yield f"{server.url}/{INDEX}"
        clear(admin)


def clear(admin: Elasticsearch) -> None:
    admin.indices.delete(index=INDEX, ignore_unavailable=True)
    admin.indices.delete(index=f"{INDEX}*-dedup-*", expand_wildcards="all", ignore_unavailable=True)


@pytest.fixture
def settings() -> Settings:
    server = server_of("secured")
    elastic = {"user": WORKER, "password": server.password, "ca_certs": server.ca, "retry_seconds": 2}
    return Settings.model_validate({"elastic": elastic})


@pytest.fixture
def client() -> Iterator[Elasticsearch]:
    server = server_of("secured")
    with Elasticsearch(server.url, basic_auth=(WORKER, server.password), ca_certs=server.ca) as client:
        yield client


def test_hook_maintenance_and_search(place: str, settings: Settings, client: Elasticsearch) -> None:
    with DedupHook.open(place, FIELDS, settings=settings) as hook:
        assert not dedup_bulk(client, five(INDEX), hook=hook).report.inconclusive
        dedup_bulk(client, [{"_op_type": "delete", "_index": INDEX, "_id": "story-2"}], hook=hook)
        dedup_bulk(client, [action_of(story(2), INDEX)], hook=hook)
    with open_context(place, settings) as site:
        assert attach(site, INDEX, FIELDS).indices == (INDEX,)
        run(site, "backfill")
        run(site, "recluster")
        assert audit(site, repair=True).clean
    assert clusters(client, INDEX) == STORIES
    answer = DedupSearch(client, INDEX).search({"query": {"match_all": {}}}, mode="collapse")
    assert len(answer.groups) == len(STORIES)
    new = settings.model_copy(update={"ccdet": settings.ccdet.model_copy(update={"window": 8})})
    assert reindex(place, new).pages == 5
    roll_back(place, settings)
    with open_context(place, settings) as site:
        assert audit(site).clean
        detach(site, INDEX, force=True)


@pytest.fixture
def searcher() -> Iterator[Elasticsearch]:
    """A user with the role for searching only."""
    server = server_of("secured")
    with Elasticsearch(server.url, basic_auth=(SEARCHER, server.password), ca_certs=server.ca) as client:
        yield client


def test_a_user_who_may_only_search(
    place: str, settings: Settings, client: Elasticsearch, searcher: Elasticsearch
) -> None:
    with DedupHook.open(place, FIELDS, settings=settings) as hook:
        dedup_bulk(client, five(INDEX), hook=hook)
    # its writer wipes the field
    client.index(index=INDEX, id="copy-0", document=five(INDEX)[3]["_source"], refresh=True)
    everything = {"query": {"match_all": {}}, "size": 2}
    plain = DedupSearch(searcher, INDEX)
    for mode in ("collapse", "canonical"):
        first = plain.search(everything, mode=mode, cursor=START)
        assert first.groups
        assert plain.search(everything, mode=mode, cursor=first.cursor).groups
    assert len(plain.search({}, mode="group").groups) == len(STORIES) + 1
    alias = f"{INDEX}-dedup-features"
    tries: list[Callable[[], object]] = [
        lambda: searcher.index(index=INDEX, document={"text": "a"}),
        lambda: searcher.update(index=INDEX, id="story-0", doc={"dedup": None}),
        lambda: searcher.delete(index=INDEX, id="story-0"),
        lambda: searcher.indices.put_mapping(index=INDEX, properties={"a": {"type": "keyword"}}),
        lambda: searcher.index(index=alias, document={"page_id": "a"}),
        lambda: searcher.search(index=alias),
        lambda: searcher.indices.delete(index=f"{alias}-v2-000001"),
        lambda: searcher.search(index="somebody-elses"),
    ]
    for forbidden in tries:
        with pytest.raises(AuthorizationException):
            forbidden()


def test_nothing_of_others(place: str, client: Elasticsearch) -> None:
    assert place
    tries: list[Callable[[], object]] = [
        lambda: client.index(index="somebody-elses", document={"a": 1}),
        lambda: client.search(index="somebody-elses"),
        lambda: client.indices.delete(index=INDEX),
        lambda: client.cluster.put_settings(persistent={"indices.breaker.request.limit": None}),
    ]
    for forbidden in tries:
        with pytest.raises(AuthorizationException):
            forbidden()
