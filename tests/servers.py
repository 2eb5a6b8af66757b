"""The real servers that tests run on: named by the environment, or started by ``scripts/servers up``."""

import os
import secrets
from typing import Any, Final, NoReturn

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch
from elasticsearch.helpers import bulk, scan

from es_dedup.index.opensearch import as_elasticsearch
from scripts.serversupport import nodes
from scripts.serversupport.profiles import PROFILES
from scripts.serversupport.running import VARIABLES, Server, load, running, written
from scripts.serversupport.settings import load as load_settings

ADVICE: Final = "start it with `scripts/servers up {}`, or run the tests with `make test`"


def url_of(profile: str) -> str:
    """Address of a server of the named profile; ``es8`` may be another server that ``ES_DEDUP_ES_URL`` names.

    Without one the test is skipped; with ``ES_DEDUP_SERVERS_REQUIRED``, as in all targets of make, it fails.
    """
    named = os.environ.get(VARIABLES.get(profile, f"ES_DEDUP_{profile.upper()}_URL"))
    return named or server_of(profile).url


def url_with_processors(profile: str) -> str:
    """Address of a server that has ingest processors; without one the test is skipped, or fails as in ``url_of``."""
    url = url_of(profile)
    with client_of(url) as client:
        nodes = client.nodes.info(metric="ingest", filter_path="nodes.*.ingest.processors.type")["nodes"]
    for node in nodes.values():
        if {"type": "rename"} not in node["ingest"]["processors"]:
            _missing(
                f"{url} has no ingest processors: install a JDK with javac and start it again with scripts/servers"
            )
    return url


def _missing(reason: str) -> NoReturn:
    if os.environ.get("ES_DEDUP_SERVERS_REQUIRED"):
        pytest.fail(reason)
    pytest.skip(reason)


def server_of(profile: str) -> Server:
    """What ``scripts/servers`` has started, with its processes; without one as ``url_of``. One that another stands in for is skipped."""
    settings = load_settings(os.environ)
    found = load(settings.run / profile)
    named = os.environ.get(VARIABLES.get(profile, ""))
    if named and (found is None or named not in found.urls):
        pytest.skip(f"{named} is in the place of {profile} and is not ours to stop")
    if found is None:
        _missing(
            f"no server {profile} is running: {ADVICE.format(profile)}; tests that need another one than es8 are marked other_servers"
        )
    return found


def our_urls() -> set[str]:
    """Addresses of all servers that ``scripts/servers`` has started for this checkout."""
    return {url for server in running(load_settings(os.environ).run) for url in server.urls}


def fresh_name() -> str:
    """A name that no other test uses."""
    return f"test-{secrets.token_hex(6)}"


def client_of(url: str, **options: Any) -> Elasticsearch:
    """A client of the server at this address; of OpenSearch one that sends by opensearch-py."""
    if not _is_opensearch(url):
        return Elasticsearch(url, **{"request_timeout": 60, **options})
    from opensearchpy import OpenSearch  # noqa: PLC0415 - of an extra

    made: Elasticsearch = as_elasticsearch(OpenSearch(url, timeout=options.get("request_timeout", 60)))
    return made


def async_client_of(url: str) -> AsyncElasticsearch:
    """The same for an asynchronous client."""
    if not _is_opensearch(url):
        return AsyncElasticsearch(url, request_timeout=60)
    from opensearchpy import AsyncOpenSearch  # noqa: PLC0415 - of an extra

    made: AsyncElasticsearch = as_elasticsearch(AsyncOpenSearch(url, timeout=60))
    return made


def _is_opensearch(url: str) -> bool:
    found = load(load_settings(os.environ).run / "opensearch")
    return url == os.environ.get("ES_DEDUP_OPENSEARCH_URL") or (found is not None and url in found.urls)


def needs_elasticsearch(what: str) -> None:
    """Skip a test where OpenSearch is in the place of ``es8``, which lacks something."""
    if _is_opensearch(url_of("es8")):
        pytest.skip(f"OpenSearch has no {what}")


def empty(address: str) -> None:
    """Remove all documents: quicker than to remove the indices and make them again for each test."""
    host, _, name = address.rpartition("/")
    with client_of(host) as client:
        client.indices.refresh(index=f"{name}-dedup-*", expand_wildcards="all")
        found = scan(client, index=f"{name}-dedup-*", expand_wildcards="all", _source=False, size=5000)
        deletes = ({"_op_type": "delete", "_index": hit["_index"], "_id": hit["_id"]} for hit in found)
        bulk(client, deletes, refresh=True)


def remove(address: str) -> None:
    """Remove all indices of an index at ``http://host:port/name``."""
    host, _, name = address.rpartition("/")
    with client_of(host) as client:
        client.indices.delete(index=f"{name}-dedup-*", expand_wildcards="all", ignore_unavailable=True)


def restart(profile: str) -> None:
    """Kill a server of ``scripts/servers`` without a warning and start it again with its data."""
    kill(profile)
    revive(profile)


def kill(profile: str, *at: int) -> None:
    """Kill nodes of a server without a warning: those of these places, or all."""
    nodes.kill(server_of(profile), at)


def revive(profile: str) -> None:
    """Start again what was killed, with its data."""
    settings = load_settings(os.environ)
    server = written(settings.run / profile)
    assert server is not None
    nodes.revive(server, PROFILES[profile], settings, os.environ)
