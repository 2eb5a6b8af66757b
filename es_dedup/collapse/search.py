"""``DedupSearch`` and ``AsyncDedupSearch``: searches over the user's index with one hit per cluster."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_dedup.collapse import cursor_paging, group_pages, modes
from es_dedup.collapse.model import START, Expansion, GroupPage, SearchOptions
from es_dedup.collapse.operations import Server, run, run_async
from es_dedup.collapse.search_request import Request, request_of
from es_dedup.errors import DedupError, wrong_type
from es_dedup.index.opensearch import as_elasticsearch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from elasticsearch import AsyncElasticsearch, Elasticsearch
    from opensearchpy import AsyncOpenSearch, OpenSearch

    from es_dedup.collapse.operations import Plan

    Body = Mapping[str, Any]


class _Searching:
    """Arguments and plans of both classes."""

    def __init__(
        self,
        client: Elasticsearch | OpenSearch | AsyncElasticsearch | AsyncOpenSearch,
        index: str,
        *,
        options: SearchOptions | None = None,
    ) -> None:
        """Send no request yet.

        Args:
            client: with the user's credentials, timeouts and retries; an async one for ``AsyncDedupSearch``.
            index: alias, pattern, data stream or names, as a search takes them.
            options: defaults of all searches; each call can override them.
        """
        if not isinstance(index, str):
            raise wrong_type("index", "a name, or several joined by commas", index)
        if not isinstance(options, SearchOptions | None):
            raise wrong_type("options", "a SearchOptions object", options, "SearchOptions(mode=…) makes one")
        self._server = Server(as_elasticsearch(client))
        self._index, self._options = index, options or SearchOptions()

    @property
    def index(self) -> str:
        """Index, alias or pattern that is searched."""
        return self._index

    def _request(self, body: Body | None, overrides: Mapping[str, Any]) -> Request:
        options = replace(self._options, **overrides) if overrides else self._options
        return replace(request_of(self._index, body, options), server=self._server)

    def _search(self, body: Body | None, cursor: str | None, overrides: Mapping[str, Any]) -> Plan[GroupPage]:
        request = self._request(body, overrides)
        return group_pages.search(request) if cursor is None else cursor_paging.next_page(request, cursor)

    def _expand(self, cluster_id: str, body: Body | None, overrides: Mapping[str, Any]) -> Plan[Expansion]:
        return modes.expand(self._request(body, overrides), cluster_id)


class DedupSearch(_Searching):
    """Search an index whose documents have the ``dedup`` object, with one hit per cluster.

    Read only. As thread-safe as the client.

    Traps:
        - Totals are exact, approximate or lower bounds (``Total.bound``). Without ``track_total_hits`` documents are counted as
          Elasticsearch does: exactly up to 10,000.
        - In mode ``canonical`` a cluster is found only when its canonical document matches the query.
        - Hits with equal sort values have no defined order, as in Elasticsearch: add a unique field to the sort.
        - Where some documents have no ``dedup`` object, mode ``collapse`` takes three requests instead of one.
    """

    def search(self, body: Body | None = None, *, cursor: str | None = None, **overrides: Any) -> GroupPage:
        """One page of groups.

        Args:
            body: of a search, as Elasticsearch takes it: query, kNN, sort, ``from``, ``size``, aggregations, highlight …
            cursor: ``START`` for the first page, then ``GroupPage.cursor`` of the previous page, with the same body.
            overrides: options that differ for this search, by name, such as ``mode`` or ``head_sort``; ``SearchOptions`` lists all.

        Raises:
            SearchRefused: the body is not supported in this mode, or the server refuses it.
            CursorLost: the cursor is older than ``keep_alive``, or its last page was read.
            IndexUnavailable: the server failed; the call can be repeated.
        """
        return run(self._search(body, cursor, overrides))

    def pages(self, body: Body | None = None, **overrides: Any) -> Iterator[GroupPage]:
        """All pages, by cursor; arguments and errors as for ``search``."""
        cursor: str | None = START
        try:
            while cursor is not None:
                page = self.search(body, cursor=cursor, **overrides)
                cursor = page.cursor
                yield page
        finally:
            if cursor is not None and cursor != START:
                # The caller gets the error that ended the iteration, not one of closing.
                with suppress(DedupError):
                    self.close(cursor)

    def close(self, cursor: str) -> None:
        """Release a cursor before its end; one that no longer exists is no error."""
        run(cursor_paging.close(cursor, self._server))

    def expand(self, cluster_id: str, body: Body | None = None, **overrides: Any) -> Expansion:
        """The pages of a cluster that match the body's query, if it has one; the canonical document first.

        Args:
            cluster_id: as ``Group.cluster_id`` gives it; an unknown one has no pages.
            body: ``from``, ``size``, ``_source``, highlight, sort … as for any search.
            overrides: only ``routing`` and ``preference`` apply.

        Raises:
            SearchRefused, IndexUnavailable: as for ``search``.
        """
        return run(self._expand(cluster_id, body, overrides))


class AsyncDedupSearch(_Searching):
    """``DedupSearch`` on an async client: the same arguments, results and errors."""

    async def search(
        self, body: Body | None = None, *, cursor: str | None = None, **overrides: Any
    ) -> GroupPage:
        """See ``DedupSearch.search``."""
        return await run_async(self._search(body, cursor, overrides))

    async def pages(self, body: Body | None = None, **overrides: Any) -> AsyncIterator[GroupPage]:
        """See ``DedupSearch.pages``."""
        cursor: str | None = START
        try:
            while cursor is not None:
                page = await self.search(body, cursor=cursor, **overrides)
                cursor = page.cursor
                yield page
        finally:
            if cursor is not None and cursor != START:
                # The caller gets the error that ended the iteration, not one of closing.
                with suppress(DedupError):
                    await self.close(cursor)

    async def close(self, cursor: str) -> None:
        """See ``DedupSearch.close``."""
        await run_async(cursor_paging.close(cursor, self._server))

    async def expand(self, cluster_id: str, body: Body | None = None, **overrides: Any) -> Expansion:
        """See ``DedupSearch.expand``."""
        return await run_async(self._expand(cluster_id, body, overrides))
