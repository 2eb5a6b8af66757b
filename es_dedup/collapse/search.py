"""``DedupSearch`` and ``AsyncDedupSearch``: the user's own searches, one hit per cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_dedup.collapse import deep, expanding, plans
from es_dedup.collapse.client import run, run_async
from es_dedup.collapse.model import START, SearchOptions
from es_dedup.collapse.request import request_of
from es_dedup.errors import wrong_type

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from typing import Unpack

    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_dedup.collapse.calls import Plan
    from es_dedup.collapse.model import Changes, Expansion, GroupPage
    from es_dedup.collapse.request import Request
    from es_dedup.collapse.sidecar import Sidecar

    Body = Mapping[str, Any]


class _Searching:
    """What both share: the plans."""

    def __init__(self, index: str, options: SearchOptions | None, sidecar: Sidecar | None) -> None:
        if not isinstance(index, str):
            raise wrong_type("index", "a name, or several joined by commas", index)
        if not isinstance(options, SearchOptions | None):
            raise wrong_type("options", "a SearchOptions object", options, "SearchOptions(mode=…) makes one")
        if sidecar is not None and not hasattr(sidecar, "relate"):
            raise wrong_type("sidecar", "a Sidecar object", sidecar, "Sidecar.open(address) makes one")
        self._index, self._options, self._sidecar = index, options or SearchOptions(), sidecar

    @property
    def index(self) -> str:
        """What is searched."""
        return self._index

    def _request(self, body: Body | None, changes: Changes) -> Request:
        options = replace(self._options, **changes) if changes else self._options
        return request_of(self._index, body, options)

    def _search(self, body: Body | None, cursor: str | None, changes: Changes) -> Plan[GroupPage]:
        request = self._request(body, changes)
        return plans.search(request) if cursor is None else deep.deep(request, cursor)

    def _expand(self, cluster_id: str, body: Body | None, changes: Changes) -> Plan[Expansion]:
        return expanding.expand(self._request(body, changes), cluster_id)


class DedupSearch(_Searching):
    """Searches over one's own index, whose documents have the object ``dedup``, with one hit per cluster.

    Nothing is written. Threads may share one object where they may share the client.

    Traps:
        - Totals say how sure they are (``Total.bound``). A body without ``track_total_hits`` counts as Elasticsearch does:
          exactly to 10,000, beyond that a lower bound.
        - In mode ``canonical`` a cluster is found only when its *representative* matches the query.
        - Hits with equal sort values have no order of their own, here as in Elasticsearch: add a field that differs.
        - Where some documents have no ``dedup`` object, mode ``collapse`` takes three requests instead of one.
    """

    def __init__(
        self,
        client: Elasticsearch,
        index: str,
        *,
        options: SearchOptions | None = None,
        sidecar: Sidecar | None = None,
    ) -> None:
        """Nothing is sent yet.

        Args:
            client: the user's own, with its credentials, time limits and retries.
            index: alias, pattern, data stream or names, as a search takes them.
            options: for all searches of this object; each may differ from them.
            sidecar: the index of features; mode ``fold`` asks it about pages without cluster id.
        """
        super().__init__(index, options, sidecar)
        self._client = client

    def search(
        self, body: Body | None = None, *, cursor: str | None = None, **changes: Unpack[Changes]
    ) -> GroupPage:
        """One page of groups.

        Args:
            body: of a search, as Elasticsearch takes it: query, kNN, sort, ``from``, ``size``, aggregations, highlight …
            cursor: ``START`` for the first page of deep paging, then the cursor of the page before, with the same body.
            changes: options of this search that differ; see ``SearchOptions``.

        Raises:
            SearchRefused: the body does not go with the mode, or the server refuses it.
            CursorLost: the cursor was kept longer than ``keep_alive``, or is of the last page.
            IndexUnavailable: no good answer; the same call may be tried again.
        """
        return run(self._search(body, cursor, changes), self._client, self._sidecar)

    def pages(self, body: Body | None = None, **changes: Unpack[Changes]) -> Iterator[GroupPage]:
        """All pages to the end, by cursor; arguments and errors as for ``search``."""
        cursor: str | None = START
        try:
            while cursor is not None:
                page = self.search(body, cursor=cursor, **changes)
                cursor = page.cursor
                yield page
        finally:
            if cursor is not None and cursor != START:
                self.close(cursor)

    def close(self, cursor: str) -> None:
        """Let go of a cursor that will not be used any more; one that is gone already is no error."""
        run(deep.close(cursor), self._client, None)

    def expand(self, cluster_id: str, body: Body | None = None, **changes: Unpack[Changes]) -> Expansion:
        """The pages of a cluster, the representative first; of them those that match the body's query, if it has one.

        Args:
            cluster_id: as ``Group.cluster_id`` gives it; an unknown one has no pages.
            body: ``from``, ``size``, ``_source``, highlight, sort … as for any search.
            changes: ``routing`` and ``preference`` count here.

        Raises:
            SearchRefused, IndexUnavailable: as for ``search``.
        """
        return run(self._expand(cluster_id, body, changes), self._client, None)


class AsyncDedupSearch(_Searching):
    """``DedupSearch`` on an async client: the same arguments, results and errors."""

    def __init__(
        self,
        client: AsyncElasticsearch,
        index: str,
        *,
        options: SearchOptions | None = None,
        sidecar: Sidecar | None = None,
    ) -> None:
        """See ``DedupSearch``; the sidecar, which is not async, is asked in a thread."""
        super().__init__(index, options, sidecar)
        self._client = client

    async def search(
        self, body: Body | None = None, *, cursor: str | None = None, **changes: Unpack[Changes]
    ) -> GroupPage:
        """See ``DedupSearch.search``."""
        return await run_async(self._search(body, cursor, changes), self._client, self._sidecar)

    async def pages(self, body: Body | None = None, **changes: Unpack[Changes]) -> AsyncIterator[GroupPage]:
        """See ``DedupSearch.pages``."""
        cursor: str | None = START
        try:
            while cursor is not None:
                page = await self.search(body, cursor=cursor, **changes)
                cursor = page.cursor
                yield page
        finally:
            if cursor is not None and cursor != START:
                await self.close(cursor)

    async def close(self, cursor: str) -> None:
        """See ``DedupSearch.close``."""
        await run_async(deep.close(cursor), self._client, None)

    async def expand(
        self, cluster_id: str, body: Body | None = None, **changes: Unpack[Changes]
    ) -> Expansion:
        """See ``DedupSearch.expand``."""
        return await run_async(self._expand(cluster_id, body, changes), self._client, None)
