"""The address of an index on a server: ``http://host:9200/name``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from es_dedup.errors import ConfigError
from es_dedup.index.validation import encodable

SCHEMES: Final = ("http", "https")
MAX_NAME_BYTES: Final = 200  # of Elasticsearch's 255, with room for what is appended
_HOST_AND_PORT: Final = re.compile(r"[\w.-]+:\d{2,5}(/[^/]*)?", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is.

    Attributes:
        hosts: addresses of the cluster's nodes, without path, user or password.
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
    return isinstance(text, str) and text.partition("://")[0] in SCHEMES and "://" in text


def lacks_scheme(place: str) -> bool:
    """Whether a place is written like a server's address without ``http://``, such as ``localhost:9200/name``."""
    return _HOST_AND_PORT.fullmatch(place) is not None


def parse_address(text: str) -> Address:
    """The parts of ``http[s]://[user:password@]host[:port][,http[s]://host…]/name``.

    Raises:
        ConfigError: it is no such address; a password is never repeated.
    """
    first, *others = text.split(",")
    # Only the last node's address has the path.
    last = others[-1] if others else first
    try:
        parts = [urlsplit(part) for part in (first, *others)]
        name = unquote(urlsplit(last).path.strip("/"))
        hosts = tuple(f"{part.scheme}://{_host(part)}:{part.port or 9200}" for part in parts)
        fits = all(part.scheme in SCHEMES and part.hostname for part in parts) and encodable(text)
    except ValueError:
        fits, hosts, name = False, (), ""
    if not fits:
        raise ConfigError(("the address must be http://host:9200/name",), "index")
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_BYTES:
        problem = (
            f"the index name must be 1-{MAX_NAME_BYTES} small letters, digits and . _ -, "
            f"beginning with a letter or digit, got {name!r}"
        )
        raise ConfigError((problem,), "index")
    return Address(hosts, name, unquote(parts[0].username or ""), unquote(parts[0].password or ""))


def _host(part: SplitResult) -> str:
    host = part.hostname or ""
    return f"[{host}]" if ":" in host else host  # an IPv6 address
