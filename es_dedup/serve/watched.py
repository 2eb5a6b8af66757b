"""What surrounds every request."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from es_dedup.serve.problems import InvalidQuery, RepeatedHeader, as_problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.errors import DedupError
    from es_dedup.serve.metrics import Metrics

_LOG: Final = logging.getLogger("es_dedup.serve")
HEADERS: Final = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
"""Headers of every answer that does not have them otherwise."""
_ONCE: Final = {b"authorization", b"content-type", b"idempotency-key"}


class Watched:
    """Around the application: headers of each answer, figures, and an answer to what nobody has foreseen."""

    def __init__(self, app: Any, metrics: Metrics, answer_of: Callable[[DedupError], Any]) -> None:
        self._app, self._metrics, self._answer_of = app, metrics, answer_of

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0
        if scope["method"] == "HEAD":  # the server sends no body then
            scope = {**scope, "method": "GET"}

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                added = [header for header in HEADERS if header[0] not in given]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            wrong = _wrong(scope)
            await (self._answer_of(wrong) if wrong else self._app)(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - logged, and answered where nothing was
            if not status:
                await self._answer_of(as_problem(error))(scope, receive, answer)
            _LOG.exception("%s failed", scope["method"])
        finally:
            route = getattr(scope.get("route"), "path", "")
            self._metrics.observe(scope["method"], route, status, time.perf_counter() - begun)


def _wrong(scope: Any) -> DedupError | None:
    """Why a request is ambiguous; None of one that is not."""
    names = [name for name, _ in scope["headers"] if name in _ONCE]
    if again := next((name for name in names if names.count(name) > 1), b""):
        return RepeatedHeader(again.decode())
    try:
        unquote_to_bytes(scope["raw_path"] + b"?" + scope["query_string"]).decode()
    except UnicodeDecodeError:  # else all such bytes would be one character, and different ids one page
        return InvalidQuery("the address is not percent-encoded UTF-8")
    return None
