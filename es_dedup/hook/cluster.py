"""Whether documents are written to the cluster whose documents the hook reads and updates."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from es_dedup.errors import IndexRefused, OtherCluster, UnreadableAnswer

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_dedup.index.factory import SourceIndex

_ASK: Final[dict[str, Any]] = {"metric": "version", "filter_path": "cluster_uuid"}


class ClusterCheck:
    """Compares the cluster of each client that is new with the one of the source index, by their UUIDs.

    What cannot be asked is unknown, and passes: who may not ask (cluster privilege ``monitor``), client or hook, a client that gets no answer,
    and a wrapper of a client that has no ``cluster``. The hook asks its own connection first.

    Args:
        source_index: the source index as the hook sees it.
    """

    def __init__(self, source_index: SourceIndex) -> None:
        self._source_index = source_index
        self._same: WeakSet[Any] = WeakSet()

    def check(self, client: Elasticsearch) -> None:
        """Refuse a client of another cluster.

        Raises:
            OtherCluster: it writes to another cluster.
            IndexError_: the cluster of the source index did not answer.
        """
        from elasticsearch import ApiError, TransportError  # noqa: PLC0415 - of an extra

        if client.transport in self._same or not hasattr(client, "cluster") or (own := self._own()) is None:
            return
        try:
            answer = client.cluster.state(**_ASK)
        except (ApiError, TransportError):
            return
        self._compare(client.transport, _uuid_in(answer.body), own)

    async def check_async(self, client: AsyncElasticsearch) -> None:
        """As ``check``."""
        from elasticsearch import ApiError, TransportError  # noqa: PLC0415 - of an extra

        if client.transport in self._same or not hasattr(client, "cluster"):
            return
        if (own := await asyncio.to_thread(self._own)) is None:
            return
        try:
            answer = await client.cluster.state(**_ASK)
        except (ApiError, TransportError):
            return
        self._compare(client.transport, _uuid_in(answer.body), own)

    def _own(self) -> str | None:
        try:
            return self._source_index.cluster()
        except IndexRefused:
            return None

    def _compare(self, transport: Any, found: str, own: str) -> None:
        if found != own:
            raise OtherCluster(found, own)
        self._same.add(transport)


def _uuid_in(state: Any) -> str:
    uuid = state.get("cluster_uuid") if isinstance(state, dict) else None
    if not isinstance(uuid, str):
        raise UnreadableAnswer("cluster state", "it has no cluster_uuid")
    return uuid
