"""Calls to the server: one client, repeated requests with pauses, and its errors as ours.

The only module of the adapter that imports the client, and only when an index is opened.
"""

from __future__ import annotations

import inspect
import logging
import os
import random
import re
import threading
import time
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

from es_dedup.errors import (
    REASON_CHARS,
    ConfigError,
    CredentialsRefused,
    IndexInterrupted,
    IndexReadOnly,
    IndexRefused,
    IndexUnavailable,
    ServerTooOld,
    UnreadableAnswer,
    needs_extra,
    reading_stored,
)
from es_dedup.index import opensearch
from es_dedup.index.elastic import connecting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from elasticsearch import Elasticsearch

    from es_dedup.errors import IndexError_
    from es_dedup.index.elastic.address import Address
    from es_dedup.index.elastic.connecting import Options

    Result = TypeVar("Result")
    Adapter = TypeVar("Adapter")

FIRST_PAUSE: Final = 0.1  # seconds; doubled each time
LONGEST_PAUSE: Final = 5.0
BUSY: Final = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""
OK, BAD_REQUEST, FORBIDDEN, NOT_FOUND, NOT_ACCEPTABLE, CONFLICT, TOO_LARGE = 200, 400, 403, 404, 406, 409, 413
OLDEST: Final = (8, 16, 6)
"""The oldest version of Elasticsearch that the tests run on."""
NO_ANSWER: Final = 0
BUSY_STATUS: Final = 503  # told of an answer without one, of which a part is missing
_OWN_FIELD: Final = (
    "documents of the index have a field dedup of their own: rename it, and write them to a new index"
)
_TEMPLATE: Final = "name the index so that no template of yours matches its own indices, as http://…/dedup-NAME, where there is one for NAME-*"
_ADVICE: Final = (
    ("index_closed_exception", "open the index again, as by POST /INDEX/_open"),
    ("Limit of total fields", "raise index.mapping.total_fields.limit of the index, or map fewer fields in it"),
    ("shards open", "delete indices that nobody needs, or raise cluster.max_shards_per_node"),
    ("subobjects", "the index has subobjects: false and cannot hold the object dedup: write the documents to one without"),
    ("creates data streams only", _TEMPLATE),
    ("contradicting `_routing", _TEMPLATE),
    ("nested mapping [dedup", _OWN_FIELD),
    ("non object mapping [dedup", _OWN_FIELD),
    ("tried to parse field [dedup", _OWN_FIELD),
    ("Result window is too large", "set index.max_result_window of the index to 10,000 or more, or ask for fewer results"),
)  # fmt: skip
"""Words of the server's reasons, and what to do about each."""


_watchers: Final[list[Callable[[str, int], None]]] = []
_log = logging.getLogger(__name__)


def watch(watcher: Callable[[str, int], None]) -> Callable[[], None]:
    """Call a function for each answer of a server in this process, until the returned function is called.

    Args:
        watcher: takes ``request`` or ``item`` (a failed write or search of a request of several), and the HTTP status: ``NO_ANSWER`` for none, 200 for any success.
    """
    _watchers.append(watcher)
    return partial(_watchers.remove, watcher)


def tell_watchers(kind: str, status: int) -> None:
    """Let those know who watch answers."""
    for watcher in tuple(_watchers):
        watcher(kind, status)


def reading(name: str) -> AbstractContextManager[None]:
    """Read an answer of the server ``name``.

    Raises:
        UnreadableAnswer: it is none of Elasticsearch's.
    """
    return reading_stored(name, UnreadableAnswer)


def reads_answers(*but: str) -> Callable[[type[Adapter]], type[Adapter]]:
    """Decorator: each public method of an adapter raises ``UnreadableAnswer`` as ``reading`` does.

    Args:
        but: methods that take iterables whose own errors have to pass; they read answers within ``Server.call`` only.
    """

    def decorated(adapter: type[Adapter]) -> type[Adapter]:
        for name, method in list(vars(adapter).items()):
            if inspect.isfunction(method) and not name.startswith("_") and name not in but:
                setattr(adapter, name, _reading(method))
        return adapter

    return decorated


def _reading(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def read(self: Any, *given: Any, **named: Any) -> Any:
        with reading(self._server.name):
            return method(self, *given, **named)

    @wraps(method)
    def read_lazily(self: Any, *given: Any, **named: Any) -> Iterator[Any]:
        with reading(self._server.name):
            yield from method(self, *given, **named)

    return read_lazily if inspect.isgeneratorfunction(method) else read


class Unanswered(Exception):
    """A part of an answer is missing that may be there a little later."""


class Server:
    """One cluster as seen by one process; threads may share it, forked processes get a client of their own.

    Attributes:
        name: its address as it may be shown.
        options: how to talk to it.
        is_opensearch: what answers is OpenSearch, as far as is known.
    """

    def __init__(self, address: Address, options: Options) -> None:
        """Nothing is sent yet.

        Raises:
            MissingExtra: the client is not installed.
            ConfigError: see ``connecting.client_options``.
        """
        self.name = str(address)
        self._address, self.options = address, options
        self._guard = threading.Lock()
        self._client: Elasticsearch | None = None
        self._owner = 0
        self._closed = False
        self._waited = False  # for an answer that has not come yet, which was logged
        self.is_opensearch = False  # until an answer says otherwise
        self._make()

    def _make(self) -> Elasticsearch:
        if self.is_opensearch:
            return self._make_opensearch()
        with needs_extra("elastic", "an index on a server"):
            from elasticsearch import Elasticsearch  # noqa: PLC0415 - of an extra
        # The client would repeat at once, without a pause; ``call`` pauses.
        return Elasticsearch(
            request_timeout=self.options.request_seconds,
            max_retries=0,
            http_compress=False,
            **connecting.client_options(self._address, self.options),
        )

    @property
    def client(self) -> Elasticsearch:
        """The client of this process.

        Raises:
            IndexUnavailable: it was closed.
        """
        with self._guard:
            if self._closed:
                raise IndexUnavailable(self.name, "it was closed")
            if self._client is None or self._owner != os.getpid():  # connections do not survive a fork
                self._client, self._owner = self._make(), os.getpid()
            return self._client

    def close(self) -> None:
        """Let go of the connections; may be called twice."""
        with self._guard:
            client, self._client, self._closed = self._client, None, True
            if client is not None and self._owner == os.getpid():
                client.close()

    def call(self, ask: Callable[[Elasticsearch], Result], *, writing: bool = False) -> Result:
        """The answer of one request, repeated with growing pauses while the server is busy or silent, of which the first is logged.

        Args:
            ask: sends the request; must be safe to repeat. It may raise ``Unanswered``.
            writing: a failure may have left a part of it done.

        Raises:
            IndexUnavailable: no good answer within ``retry_seconds``; ``IndexInterrupted`` when ``writing``.
            IndexRefused: the server does not allow it, or the request is wrong.
            IndexReadOnly: the server has blocked writes.
        """
        end = time.monotonic() + self.options.retry_seconds
        for pause in pauses():
            try:
                with reading(self.name):
                    result = ask(self.client)
            except Unanswered as error:
                tell_watchers("request", BUSY_STATUS)
                if time.monotonic() + pause > end:
                    raise IndexUnavailable(self.name, str(error)) from error
            except Exception as error:
                if not is_engine_error(error):
                    raise
                if self._turns_to_opensearch(error):
                    continue
                tell_watchers("request", status_of(error) or NO_ANSWER)
                if not worth_repeating(error) or time.monotonic() + pause > end:
                    raise self.translated(error, writing=writing) from error
            else:
                self._waited = False
                tell_watchers("request", OK)
                return result
            if not self._waited:
                self._waited = True
                _log.warning("%s is busy or does not answer: trying again", self.name)
            time.sleep(pause)
        raise AssertionError  # pauses never end

    def call_unless(
        self, ask: Callable[[Elasticsearch], Result], *answers: int | str, writing: bool = False
    ) -> Result | None:
        """As ``call``; None where the server answers with one of these statuses, or with an error of one of these types."""
        types = [answer for answer in answers if isinstance(answer, str)]

        def asked(client: Elasticsearch) -> Result | None:
            try:
                return ask(client)
            except Exception as error:
                if is_engine_error(error) and (
                    status_of(error) in answers or any(answer in reason_of(error) for answer in types)
                ):
                    return None
                raise

        return self.call(asked, writing=writing)

    def _turns_to_opensearch(self, error: Exception) -> bool:
        """Whether an error shows that the server is OpenSearch; then all further requests go through opensearch-py.

        The Elasticsearch client refuses its answers, and it refuses that client's bodies before anything is done.

        Raises:
            MissingExtra: opensearch-py is not installed.
        """
        if not refused_product(error):
            return False
        with self._guard:
            if not self.is_opensearch:
                other = self._make_opensearch()
                if not opensearch.answers(other):
                    other.close()
                    return False
                before, self._client, self.is_opensearch = self._client, other, True
                if before is not None:
                    before.close()
        return True

    def _make_opensearch(self) -> Elasticsearch:
        options, address = self.options, self._address
        if options.proxy.get_secret_value():
            raise ConfigError((f"{options.section}.proxy: requests to OpenSearch take no proxy",))
        made: Elasticsearch = opensearch.connect(
            address.hosts,
            connecting.credentials(address, options),
            connecting.certificates(address, options),
            options.request_seconds,
        )
        return made

    def must_be_supported(self) -> None:
        """Refuse a cluster with a node that is older than what is tested.

        Where the user may not see the versions (privilege ``monitor``), nothing is refused.

        Raises:
            ServerTooOld: it is.
            IndexUnavailable, IndexRefused: see ``call``.
        """
        try:
            oldest = self.oldest_version()
        except IndexRefused as error:
            if status_of(error.__cause__) == FORBIDDEN:
                return
            raise
        needed = opensearch.OLDEST if self.is_opensearch else OLDEST
        if oldest and version_numbers(oldest) < needed:
            product = "OpenSearch" if self.is_opensearch else "Elasticsearch"
            raise ServerTooOld(self.name, f"{product} {oldest}", ".".join(map(str, needed)))

    def oldest_version(self) -> str:
        """The lowest version of the nodes; empty where no node states one."""
        nodes = self.call(lambda client: client.nodes.info(metric="os", filter_path="nodes.*.version"))
        versions = [str(node["version"]) for node in nodes.get("nodes", {}).values()]
        return min(versions, key=version_numbers, default="")

    def translated(self, error: Exception, *, writing: bool = False) -> IndexError_:
        """Our error for one of the client's."""
        status, reason, section = status_of(error), reason_of(error), self.options.section
        if "cluster_block_exception" in reason:
            return IndexReadOnly(self.name, reason)
        if status == 401:  # noqa: PLR2004 - HTTP
            return CredentialsRefused(
                self.name,
                f"user, password or API key, or the token, of section {section} is wrong, or missing",
                f"set it in section {section} of the settings or in the environment",
            )
        if status == FORBIDDEN:
            return IndexRefused(
                self.name, reason, f"give the user of section {section} a role that allows it"
            )
        if status is not None and status not in BUSY and status != NOT_FOUND:
            return self.refused(reason)
        if type(error).__name__ in ("TlsError", "SSLError"):
            advice = f"name its certificate authority in {section}.ca_certs, or the fingerprint in {section}.ca_fingerprint"
            if "CERTIFICATE_REQUIRED" in reason.upper().replace(" ", "_"):
                advice = f"the server wants a certificate of yours: {section}.client_cert and client_key"
            elif "WRONG_VERSION_NUMBER" in reason:
                advice = "the server speaks http without TLS at this port: write http:// in the address"
            return IndexRefused(self.name, reason, advice)
        kind = IndexInterrupted if writing else IndexUnavailable
        return kind(self.name, reason)

    def refused(self, reason: str) -> IndexRefused:
        """The error for a request that does not help again, with what to do."""
        advice = next((given for part, given in _ADVICE if part in reason), None)
        return IndexRefused(self.name, reason, *filter(None, [advice]))

    def unread(self, error: Any) -> IndexError_:
        """The error for one document of several that was not read."""
        reason = reason_in(error)
        return self.refused(reason) if "index_closed" in reason else IndexUnavailable(self.name, reason)


def version_numbers(version: str) -> tuple[int, ...]:
    """Major, minor and patch number, to compare versions by."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def pauses() -> Any:
    """Seconds to wait before each further attempt, doubling, each between half and the whole of its step."""
    step = FIRST_PAUSE
    while True:
        yield step * random.uniform(0.5, 1.0)  # noqa: S311 - so that many clients do not come back together
        step = min(2 * step, LONGEST_PAUSE)


def is_engine_error(error: Exception) -> bool:
    """Whether the error is the client's or the server's, not one of ours."""
    from elasticsearch import ApiError, TransportError  # noqa: PLC0415 - of an extra

    return isinstance(error, ApiError | TransportError)


def refused_product(error: Exception) -> bool:
    """Whether the client met a server that is not Elasticsearch, by an answer without its mark or by its refusal of the media type."""
    return type(error).__name__ == "UnsupportedProductError" or (
        status_of(error) == NOT_ACCEPTABLE and "vnd.elasticsearch" in reason_of(error)
    )


def status_of(error: BaseException | None) -> int | None:
    """HTTP status of an error answer; None when there was no answer."""
    return getattr(getattr(error, "meta", None), "status", None)


def worth_repeating(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    status = status_of(error)
    if status is None:
        return type(error).__name__ in ("ConnectionError", "ConnectionTimeout")
    return status in BUSY and "cluster_block_exception" not in reason_of(error)


def reason_of(error: Exception) -> str:
    """What the server or the client says, shortened."""
    body = getattr(error, "body", None)
    found = reason_in(body.get("error")) if isinstance(body, dict) else ""
    cause = error.__cause__ or error.__context__  # the client's own message may leave it out
    said = f"{error}: {cause}" if cause is not None and str(cause) not in str(error) else str(error)
    return (found or f"no answer ({said})")[:REASON_CHARS]


def reason_in(error: Any) -> str:
    """Type and reason out of an error object of an answer, with the first cause when that says more."""
    if not isinstance(error, dict):
        return str(error or "")
    causes = error.get("root_cause")
    cause = error.get("caused_by") or (causes[0] if isinstance(causes, list) and causes else None)
    parts = [part for part in (error, cause) if isinstance(part, dict) and part.get("type")]
    said = [f"{part['type']}: {part.get('reason', '')}" for part in parts]
    if error.get("index", "") not in "".join(said):
        said.append(f"index {error['index']}")
    return "; ".join(dict.fromkeys(said))
