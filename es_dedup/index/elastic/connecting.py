"""What the client is made with: nodes, credentials, certificates and a proxy."""

from __future__ import annotations

import ssl
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from es_dedup.errors import ConfigError, MissingExtra
from es_dedup.settings.servers import ElasticConfig

if TYPE_CHECKING:
    from es_dedup.index.elastic.address import Address


_FILES = ("ca_certs", "client_cert", "client_key")


def client_options(address: Address, options: Options) -> dict[str, Any]:
    """Arguments of ``Elasticsearch`` beside times and retries.

    Raises:
        ConfigError: a file of the settings is not there, TLS is wanted of an address without it, or a fingerprint behind a proxy.
        MissingExtra: a proxy needs the package requests.
    """
    found: dict[str, Any] = credentials(address, options) | certificates(address, options)
    if options.ca_fingerprint and options.client_cert:  # the client would not send the certificate
        for name in _FILES:
            found.pop(name, None)
        found["ssl_context"] = _context_with_certificate(options)
    if proxy := options.proxy.get_secret_value():
        if options.ca_fingerprint:  # the client would check nothing
            problem = f"{options.section}.ca_fingerprint is not checked behind a proxy: name the authority in ca_certs"
            raise ConfigError((problem,))
        found["node_class"] = _node_behind(proxy)
    return {"hosts": list(address.hosts), **found}


def credentials(address: Address, options: Options) -> dict[str, Any]:
    """Who asks: an API key, a bearer token, or a user; nothing where nobody is named."""
    for name, secret in (("api_key", options.api_key), ("bearer_auth", options.bearer_token)):
        if secret.get_secret_value():
            return {name: secret.get_secret_value()}
    user, password = options.user or address.user, options.password.get_secret_value() or address.password
    return {"basic_auth": (user, password)} if user else {}


def certificates(address: Address, options: Options) -> dict[str, str]:
    """Options of TLS by the names that the clients give them.

    Raises:
        ConfigError: see ``client_options``.
    """
    problems = [
        f"{options.section}.{name}: {path} is not a file that can be read"
        for name in _FILES
        if (path := getattr(options, name)) and not Path(path).is_file()
    ]
    found = {name: getattr(options, name) for name in _FILES if getattr(options, name)}
    if options.ca_fingerprint:
        found["ssl_assert_fingerprint"] = options.ca_fingerprint
    if found and not all(host.startswith("https://") for host in address.hosts):
        names = ", ".join(name.replace("ssl_assert", "ca") for name in found)
        problems.append(f"{options.section}: {names} need an address with https://, not {address}")
    if problems:
        raise ConfigError(tuple(problems))
    return found


def _context_with_certificate(options: Options) -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        context.load_cert_chain(options.client_cert, options.client_key or None)
    except (OSError, ValueError) as error:
        problem = f"{options.section}.client_cert: {options.client_cert} with client_key is no certificate with its key ({error})"
        raise ConfigError((problem,)) from error
    return context


def _node_behind(proxy: str) -> Any:
    from elastic_transport import RequestsHttpNode  # noqa: PLC0415 - of an extra

    if find_spec("requests") is None:
        raise MissingExtra("requests", "proxy", "a forward proxy")

    class ProxiedNode(RequestsHttpNode):
        """Sends each request to the server through a forward proxy; to one with https by a tunnel."""

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.session.trust_env = False
            self.session.proxies = {"http": proxy, "https": proxy}

    return ProxiedNode


class Options(ElasticConfig):
    """How to talk to the server, and what its indices are made with: the settings of section ``elastic``, and what goes with them."""

    section: str = "elastic"
    """section of the settings that names the connection, for messages"""
    lock_seconds: float = 10.0
    """how long a write session waits for another writer"""
