"""Where a document that is written to an index, an alias or a data stream goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_dedup.index.elastic.server import BAD_REQUEST, NOT_FOUND, is_engine_error, status_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elasticsearch import Elasticsearch

    from es_dedup.index.elastic.server import Server


def write_index(server: Server, target: str, properties: Mapping[str, Any]) -> str:
    """The concrete index that documents written to ``target`` go to.

    Args:
        server: where it is.
        target: index, alias or data stream; an index that does not exist is created, as a write would create it.
        properties: in the mapping of an index that is created here.

    Raises:
        IndexRefused: the role does not allow it.
    """
    found = _behind(server, target)
    if not found:
        _make(server, target, properties)
        found = _behind(server, target)
    if not found:
        return target  # the server makes it, by a template of a data stream
    return next((name for name, writes in found.items() if writes), max(found))


def _behind(server: Server, target: str) -> dict[str, bool]:
    """The concrete indices behind a target, and whether each takes its writes; none when it is not there."""

    def ask(client: Elasticsearch) -> dict[str, bool]:
        try:
            answer = client.indices.get_alias(index=target)
        except Exception as error:
            if is_engine_error(error) and status_of(error) == NOT_FOUND:
                return {}
            raise
        return {
            name: name == target or bool(said["aliases"].get(target, {}).get("is_write_index"))
            for name, said in answer.items()
        }

    return server.call(ask)


def _make(server: Server, target: str, properties: Mapping[str, Any]) -> None:
    def ask(client: Elasticsearch) -> None:
        try:
            client.indices.create(index=target, mappings={"properties": dict(properties)})
        except Exception as error:
            # Another process was first, or a template makes it a data stream.
            if not is_engine_error(error) or status_of(error) != BAD_REQUEST:
                raise

    server.call(ask, writing=True)
