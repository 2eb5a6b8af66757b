"""The address of an index on a server: ``http://host:9200/name``, behind a reverse proxy ``https://host:443/prefix/name``."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from es_dedup.errors import ConfigError, ServerUnreachable
from es_dedup.index.records import encodable

SCHEMES: Final = ("http", "https")
MAX_NAME_BYTES: Final = 200  # of Elasticsearch's 255, with room for what is appended
_HOST_AND_PORT: Final = re.compile(r"[\w.-]+:\d{2,5}(/.*)?", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is.

    Attributes:
        hosts: addresses of the cluster's nodes, with the path before the name, without user or password.
        name: what the names of all its Elasticsearch indices begin with.
        user, password: out of the address; empty where it has none.
    """

    hosts: tuple[str, ...]
    name: str
    user: str = ""
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        """As given, without user and password."""
        return f"{','.join(self.hosts)}/{self.name}"


def is_address(text: object) -> bool:
    """Whether a place is a server's address, not a file."""
    return isinstance(text, str) and "://" in text and text.partition("://")[0] in SCHEMES


def lacks_scheme(place: str) -> bool:
    """Whether a place is written like a server's address without ``http://``, such as ``localhost:9200/name``."""
    return _HOST_AND_PORT.fullmatch(place) is not None


def parse_address(text: str) -> Address:
    """The parts of ``http[s]://[user:password@]host[:port][,http[s]://host…][/prefix]/name``.

    A prefix is that of all nodes which have none of their own.

    Raises:
        ConfigError: it is no such address; a password is never repeated.
    """
    first, *others = text.split(",")
    # Only the last node's address has the name.
    last = others[-1] if others else first
    try:
        parts = [urlsplit(part) for part in (first, *others)]
        prefix, _, name = urlsplit(last).path.rstrip("/").rpartition("/")
        prefixes = [*(part.path.rstrip("/") or prefix for part in parts[:-1]), prefix]
        hosts = tuple(
            f"{part.scheme}://{_host(part)}:{part.port or 9200}{path}"
            for part, path in zip(parts, prefixes, strict=True)
        )
        fits = all(part.scheme in SCHEMES and part.hostname for part in parts) and encodable(text)
    except ValueError:
        fits, hosts, name = False, (), ""
    if not fits:
        raise ConfigError(("the address must be http://host:9200/name",), "index")
    user, password = unquote(parts[0].username or ""), unquote(parts[0].password or "")
    return Address(hosts, _checked_name(unquote(name)), user, password)


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_BYTES:
        problem = (
            f"the index name must be 1-{MAX_NAME_BYTES} small letters, digits and . _ -, "
            f"beginning with a letter or digit, got {name!r}"
        )
        raise ConfigError((problem,), "index")
    return name


def _host(part: SplitResult) -> str:
    host = part.hostname or ""
    return f"[{host}]" if ":" in host else host  # an IPv6 address


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
