"""Clients that are wrapped in an object with what the client's bulk helpers use, and nothing else."""

import asyncio
from collections.abc import Callable
from typing import Any, Self, cast

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.hook import DedupHook, async_dedup_bulk, dedup_bulk, dedup_parallel_bulk, dedup_streaming_bulk
from tests.hooked import STORIES, clusters, five
from tests.servers import async_client_of


class Wrapped:
    """A client that counts its bulk requests, as retrying wrappers do."""

    def __init__(self, client: Any) -> None:
        self._client, self.transport, self.requests = client, client.transport, 0
        self._otel = client._otel  # the helpers of client 8 ask for it

    def options(self, **given: Any) -> Self:
        self._client = self._client.options(**given)
        return self

    def bulk(self, *given: Any, **more: Any) -> Any:
        self.requests += 1
        return self._client.bulk(*given, **more)


WAYS: dict[str, Callable[..., Any]] = {
    "bulk": dedup_bulk,
    "streaming_bulk": lambda *given, **more: list(dedup_streaming_bulk(*given, **more)),
    "parallel_bulk": lambda *given, **more: list(dedup_parallel_bulk(*given, **more)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", ["mark", "skip"])
def test_a_wrapped_client_writes(
    hook: DedupHook, client: Elasticsearch, name: str, way: str, policy: str
) -> None:
    wrapped = Wrapped(client)
    assert bulk(cast("Elasticsearch", wrapped), []) == (0, [])  # the client's helper takes it
    WAYS[way](wrapped, five(name), hook=hook, policy=policy)
    wanted = STORIES if policy == "mark" else {frozenset({f"story-{n}"}) for n in range(3)}
    assert clusters(client, name) == wanted
    assert wrapped.requests


def test_a_wrapped_asynchronous_client_writes(
    hook: DedupHook, client: Elasticsearch, address: str, name: str
) -> None:
    async def write() -> int:
        async with async_client_of(address.rpartition("/")[0]) as own:
            wrapped = Wrapped(own)
            await async_dedup_bulk(cast("AsyncElasticsearch", wrapped), five(name), hook=hook)
            return wrapped.requests

    assert asyncio.run(write())
    assert clusters(client, name) == STORIES
