"""What the client is made with: nodes, credentials, certificates and a proxy."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from es_dedup.errors import ConfigError
from es_dedup.settings.servers import ElasticConfig

if TYPE_CHECKING:
    from es_dedup.index.elastic.address import Address


_FILES = ("ca_certs", "client_cert", "client_key")


def client_options(address: Address, options: Options) -> dict[str, Any]:
    """Arguments of ``Elasticsearch`` beside times and retries.

    Raises:
        ConfigError: a file of the settings is not there, or TLS is wanted of an address without it.
    """
    found: dict[str, Any] = credentials(address, options) | certificates(address, options)
    if options.ca_fingerprint and options.client_cert:  # the client would not send the certificate
        for name in _FILES:
            found.pop(name, None)
        found["ssl_context"] = _context_with_certificate(options)
    if proxy := options.proxy.get_secret_value():
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
    import urllib3  # noqa: PLC0415 - comes with the client
    from elastic_transport import Urllib3HttpNode  # noqa: PLC0415 - of an extra

    class ProxiedNode(Urllib3HttpNode):
        """Sends each request to the server through a forward proxy; to one with https by a tunnel."""

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.pool: Any = _ProxiedPool(
                self.pool, f"{config.scheme}://{_bracketed(config.host)}:{config.port}"
            )

    class _ProxiedPool:
        """Connections through the proxy, with timeouts, sizes and TLS of the direct ones."""

        def __init__(self, direct: Any, target: str) -> None:
            parts = urllib3.util.parse_url(proxy)
            headers = urllib3.make_headers(proxy_basic_auth=unquote(parts.auth)) if parts.auth else None
            more = dict(direct.conn_kw)
            if target.startswith("https:"):
                names = ("cert_reqs", "ca_certs", "cert_file", "key_file", "assert_hostname")
                more |= {name: getattr(direct, name) for name in names}
                more["assert_fingerprint"] = (
                    getattr(direct, "_elastic_assert_fingerprint", None) or direct.assert_fingerprint
                )
            for own in ("proxy", "proxy_config"):
                more.pop(own, None)
            self._manager = urllib3.ProxyManager(
                proxy,
                proxy_headers=headers,
                timeout=direct.timeout,
                maxsize=direct.pool.maxsize if direct.pool else 10,
                block=True,
                **more,
            )
            self._manager.pool_classes_by_scheme = {
                **self._manager.pool_classes_by_scheme,
                target.partition(":")[0]: type(direct),
            }
            self._target = target
            direct.close()

        def urlopen(self, method: str, target: str, *, headers: Any = None, **options: Any) -> Any:
            # else the manager adds a header of this name beside the client's, whose name is in small letters
            own = {"Accept" if name == "accept" else name: value for name, value in (headers or {}).items()}
            return self._manager.urlopen(
                method, self._target + target, headers=own, redirect=False, **options
            )

        def close(self) -> None:
            self._manager.clear()

    return ProxiedNode


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class Options(ElasticConfig):
    """How to talk to the server, and what its indices are made with: the settings of section ``elastic``, and what goes with them."""

    section: str = "elastic"
    """section of the settings that names the connection, for messages"""
    lock_seconds: float = 10.0
    """how long a write session waits for another writer"""
