"""Runs the application until it is told to stop."""

from __future__ import annotations

import ipaddress
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import uvicorn

from es_dedup.errors import ConfigError
from es_dedup.serve.app import create_app
from es_dedup.serve.service import Service
from es_dedup.serve.tokens import Tokens, load_tokens
from es_dedup.serve.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_dedup.settings import Settings
    from es_dedup.settings.servers import ServeConfig

KEEP_ALIVE_SECONDS: Final = 30
MAX_HEAD_BYTES: Final = 65_536
"""Bytes of the first line and the headers of a request."""
SWITCH_SECONDS: Final = 0.001
"""After so long the thread that writes lets the others go on, which take requests."""
BACKLOG: Final = 2048
"""Connections that wait to be accepted."""
MEMORY: Final = ":memory:"


def serve(place: str, settings: Settings, tell: Callable[[str, Tokens | None], None]) -> None:
    """Serve an index, made when it is not there, until the process gets SIGTERM or SIGINT; accepted writes are finished.

    Args:
        place: file or address of the index.
        settings: all settings.
        tell: called once requests are taken, with the address of the server and its tokens.

    Raises:
        ConfigError: the index is in memory, tokens are unusable, or needed and not required.
        DedupError: the index cannot be opened, see ``Deduplicator.open``.
        OSError: the address is in use, or none of this machine.
    """
    given = settings.serve
    if place == MEMORY:
        raise ConfigError(("an index in memory cannot be shared by processes: name a file or an address",))
    tokens = _tokens(given)
    with _listening(given) as listener:
        sys.setswitchinterval(SWITCH_SECONDS)
        service = Service(place, settings, Workers(place, settings), tokens)
        try:
            host, port = listener.getsockname()[:2]
            tell(f"http://{f'[{host}]' if ':' in host else host}:{port}", tokens)
            server = uvicorn.Server(
                uvicorn.Config(
                    create_app(service),
                    lifespan="off",
                    log_level="warning",
                    access_log=False,
                    server_header=False,
                    proxy_headers=False,
                    h11_max_incomplete_event_size=MAX_HEAD_BYTES,
                    timeout_keep_alive=KEEP_ALIVE_SECONDS,
                    timeout_graceful_shutdown=given.shutdown_seconds,
                )
            )
            server.run(sockets=[listener])
        finally:
            service.close()


def _tokens(given: ServeConfig) -> Tokens | None:
    if given.require_token:
        return load_tokens(given)
    if not _is_own(given.host):
        problem = f"serve.require_token: must be true on {given.host}, which others may reach"
        raise ConfigError((problem,))
    return None


def _is_own(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _listening(given: ServeConfig) -> Iterator[socket.socket]:
    """A listening socket that names its protocol, as create_server does not: asyncio sends at once on those of TCP only."""
    family, kind, _, _, address = socket.getaddrinfo(given.host, given.port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        yield listener
