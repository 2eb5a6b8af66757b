"""The calls of the Elasticsearch client, sent to an OpenSearch server by opensearch-py.

Both servers take the same requests in most places, so that everything else is written once, for the Elasticsearch client. That client
refuses other servers and opensearch-py does not have its methods; here its connections are those of opensearch-py, with their
authentication. The few requests that differ are rewritten.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from es_dedup.errors import needs_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OLDEST: Final = (2, 19, 0)
"""The oldest version of OpenSearch that the tests run on."""
NO_ERROR: Final = range(300, 600)
"""HTTP statuses that opensearch-py hands on in place of raising."""
FORBIDDEN: Final = 403
_WRAPPED: Final = "_es_dedup_wrapped"
_MEDIA_TYPE: Final = re.compile(r"application/vnd\.elasticsearch\+([\w-]+); ?compatible-with=\d+")
_PIT: Final = "/_pit"


def connect(
    hosts: tuple[str, ...], credentials: Mapping[str, Any], certificates: Mapping[str, str], seconds: float
) -> Any:
    """An Elasticsearch client for the nodes of an OpenSearch cluster.

    Args:
        hosts: addresses.
        credentials: as the Elasticsearch client takes them; an API key is not sent.
        certificates: options of TLS, which both clients name alike.
        seconds: how long one request may take.

    Raises:
        MissingExtra: opensearch-py is not installed.
    """
    with needs_extra("opensearch", "a server that is not Elasticsearch but OpenSearch", "opensearch-py"):
        from opensearchpy import OpenSearch  # noqa: PLC0415 - of an extra
    more: dict[str, Any] = dict(certificates)
    if "basic_auth" in credentials:
        more["http_auth"] = credentials["basic_auth"]
    if "bearer_auth" in credentials:
        more["headers"] = {"authorization": f"Bearer {credentials['bearer_auth']}"}
    if "ssl_assert_fingerprint" in certificates:  # is all that is checked, as by the Elasticsearch client
        more |= {"verify_certs": False, "ssl_show_warn": False, "ssl_assert_hostname": False}
    return as_elasticsearch(OpenSearch(list(hosts), timeout=seconds, max_retries=0, **more))


def answers(client: Any) -> bool:
    """Whether the server is OpenSearch; so is one that refuses to say it (403, privilege ``cluster:monitor/main``)."""
    from elasticsearch import ApiError, TransportError  # noqa: PLC0415 - of an extra

    try:
        said = client.info()
    except (ApiError, TransportError) as error:
        return getattr(getattr(error, "meta", None), "status", None) == FORBIDDEN
    return isinstance(said.get("version"), dict) and said["version"].get("distribution") == "opensearch"


def as_elasticsearch(client: Any) -> Any:
    """An Elasticsearch client that sends over an OpenSearch client, with its timeouts and retries; any other client itself.

    Args:
        client: ``opensearchpy.OpenSearch`` or ``AsyncOpenSearch``: the result is an ``Elasticsearch`` or ``AsyncElasticsearch``,
            the same one for the same client, whose errors are those of the package elasticsearch.

    Raises:
        MissingExtra: the package elasticsearch is not installed.
    """
    package = sys.modules.get("opensearchpy")  # who has such a client has imported it
    if package is None:
        return client
    is_async = isinstance(client, getattr(package, "AsyncOpenSearch", ()))
    if not is_async and not isinstance(client, package.OpenSearch):
        return client
    found = vars(client).get(_WRAPPED)
    if found is None:
        found = _wrapped(client, is_async=is_async)
        setattr(client, _WRAPPED, found)
        setattr(found.transport, _WRAPPED, client)
    return found


def is_opensearch(client: Any) -> bool:
    """Whether a client is one that ``as_elasticsearch`` made, or has its options from one."""
    return hasattr(getattr(client, "transport", None), _WRAPPED)


def _wrapped(client: Any, *, is_async: bool) -> Any:
    with needs_extra("opensearch", "a client for OpenSearch", "elasticsearch"):
        from elastic_transport import NodeConfig  # noqa: PLC0415 - of an extra
        from elasticsearch import AsyncElasticsearch, Elasticsearch  # noqa: PLC0415
    made: Any = AsyncElasticsearch if is_async else Elasticsearch
    transport = client.transport
    first: dict[str, Any] = next(iter(transport.hosts or ()), {})
    scheme = "https" if first.get("use_ssl") else "http"
    return made(
        [NodeConfig(scheme, first.get("host", "localhost"), int(first.get("port", 9200)))],  # for messages
        node_class=_async_node(client) if is_async else _node(client),
        max_retries=transport.max_retries,
        retry_on_status=tuple(transport.retry_on_status),
        retry_on_timeout=transport.retry_on_timeout,
        meta_header=False,
    )


def _node(client: Any) -> Any:
    from elastic_transport import BaseNode  # noqa: PLC0415 - of an extra

    class OpenSearchNode(BaseNode):
        """Sends each request over a connection of the OpenSearch client."""

        def perform_request(self, *given: Any, **more: Any) -> Any:
            request = _request(*given, **more)
            with _connection(client.transport) as connection:
                answer = connection.perform_request(**request)
            return _answer(self.config, request["url"], *answer)

        def close(self) -> None:
            client.close()

    return OpenSearchNode


def _async_node(client: Any) -> Any:
    from elastic_transport import BaseAsyncNode  # noqa: PLC0415 - of an extra

    class AsyncOpenSearchNode(BaseAsyncNode):
        """Sends each request over a connection of the OpenSearch client."""

        async def perform_request(self, *given: Any, **more: Any) -> Any:  # type: ignore[override]
            request = _request(*given, **more)
            # its connections are made in a running loop; a second call does nothing
            await client.__aenter__()
            with _connection(client.transport) as connection:
                answer = await connection.perform_request(**request)
            return _answer(self.config, request["url"], *answer)

        async def close(self) -> None:  # type: ignore[override]
            await client.close()

    return AsyncOpenSearchNode


@contextmanager
def _connection(transport: Any) -> Iterator[Any]:
    """One of opensearch-py, whose errors, all of requests without an answer, are raised as those of the Elasticsearch client."""
    import elastic_transport  # noqa: PLC0415 - of an extra
    from opensearchpy import exceptions  # noqa: PLC0415

    connection = transport.get_connection()
    try:
        yield connection
    except exceptions.ConnectionError as error:
        transport.mark_dead(connection)
        kinds: dict[type[Exception], Any] = {
            exceptions.SSLError: elastic_transport.TlsError,
            exceptions.ConnectionTimeout: elastic_transport.ConnectionTimeout,
        }
        kind = kinds.get(type(error), elastic_transport.ConnectionError)
        raise kind(str(error), errors=(error,)) from error
    transport.connection_pool.mark_live(connection)


def _request(
    method: str, target: str, body: bytes | None = None, headers: Any = None, request_timeout: Any = None
) -> dict[str, Any]:
    """A request as ``BaseNode.perform_request`` takes it, as arguments of a connection of opensearch-py."""
    path, _, query = target.partition("?")
    if path.endswith(_PIT):
        path = path.removesuffix(_PIT) + "/_search/point_in_time"
        if method == "DELETE" and body is not None:
            body = json.dumps({"pit_id": [json.loads(body)["id"]]}).encode()
    return {
        "method": method,
        "url": path,
        "params": dict(parse_qsl(query, keep_blank_values=True)),
        "body": body,
        "headers": {
            name: _MEDIA_TYPE.sub(r"application/\1", value) for name, value in (headers or {}).items()
        },
        "ignore": NO_ERROR,
        "timeout": request_timeout if isinstance(request_timeout, int | float) else None,
    }


def _answer(config: Any, path: str, status: int, headers: Mapping[str, str], text: str) -> Any:
    """The answer as the Elasticsearch client reads it."""
    from elastic_transport import ApiResponseMeta, HttpHeaders, TransportApiResponse  # noqa: PLC0415

    body = text.encode("utf-8", "surrogatepass")
    if path.endswith("/_search/point_in_time"):
        body = body.replace(b'"pit_id"', b'"id"', 1)
    kept = {name.lower(): value for name, value in headers.items() if name.lower() == "content-type"}
    # the client asks which product answers: one that it can be used with here
    meta = ApiResponseMeta(
        status=status,
        http_version="1.1",
        headers=HttpHeaders(kept | {"x-elastic-product": "Elasticsearch"}),
        duration=0.0,
        node=config,
    )
    return TransportApiResponse(meta, body)
