"""Whether anybody listens where a server should be, asked before the client's patient way of asking."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from es_dedup.errors import ServerUnreachable

if TYPE_CHECKING:
    from es_dedup.index.elastic.address import Address


def reach(address: Address, seconds: float, proxy: str = "") -> None:
    """Connect to one of the nodes, and let go again.

    Args:
        address: of the index.
        seconds: to wait for a connection to each node.
        proxy: by which they are reached, and which is connected to in their place; empty: none.

    Raises:
        ServerUnreachable: no node takes a connection.
    """
    problems = []
    for host in (proxy,) if proxy else address.hosts:
        parts = urlsplit(host)
        try:
            socket.create_connection((parts.hostname, parts.port), timeout=seconds).close()
        except OSError as error:
            problems.append((error.strerror or str(error) or type(error).__name__).lower())
        else:
            return
    raise ServerUnreachable(str(address), ", ".join(dict.fromkeys(problems)))
