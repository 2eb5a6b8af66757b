"""``DedupSearch`` and ``AsyncDedupSearch``: the user's own searches, one hit per cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_dedup.collapse.client import run, run_async
from es_dedup.collapse.model import SearchOptions
from es_dedup.collapse.plans import plan_of
from es_dedup.collapse.request import request_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_dedup.collapse.calls import Plan
    from es_dedup.collapse.model import Changes, GroupPage
    from es_dedup.collapse.sidecar import Sidecar


class _Searching:
    """What both share: the plans."""

    def __init__(self, index: str, options: SearchOptions | None, sidecar: Sidecar | None) -> None:
        self._index, self._options, self._sidecar = index, options or SearchOptions(), sidecar

    def _plan(self, body: Mapping[str, Any] | None, changes: Changes) -> Plan[GroupPage]:
        options = replace(self._options, **changes) if changes else self._options
        return plan_of(request_of(self._index, body, options))


class DedupSearch(_Searching):
    """Searches over an index of one's own whose documents have the object ``dedup``."""

    def __init__(
        self,
        client: Elasticsearch,
        index: str,
        *,
        options: SearchOptions | None = None,
        sidecar: Sidecar | None = None,
    ) -> None:
        super().__init__(index, options, sidecar)
        self._client = client

    def search(self, body: Mapping[str, Any] | None = None, **changes: Unpack[Changes]) -> GroupPage:
        """One page of groups."""
        return run(self._plan(body, changes), self._client, self._sidecar)


class AsyncDedupSearch(_Searching):
    """``DedupSearch`` on an async client."""

    def __init__(
        self,
        client: AsyncElasticsearch,
        index: str,
        *,
        options: SearchOptions | None = None,
        sidecar: Sidecar | None = None,
    ) -> None:
        super().__init__(index, options, sidecar)
        self._client = client

    async def search(self, body: Mapping[str, Any] | None = None, **changes: Unpack[Changes]) -> GroupPage:
        """One page of groups."""
        return await run_async(self._plan(body, changes), self._client, self._sidecar)
