"""What all routes work with: the index and its jobs, who may use them, and how a request is read and answered."""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import unquote, urlsplit

from fastapi import Depends, Request, Response

from es_dedup.serve import problems
from es_dedup.serve.bodies import JSON, JobBody
from es_dedup.serve.calls import encoded, prepare_search
from es_dedup.serve.jobs import Jobs
from es_dedup.serve.metrics import Metrics
from es_dedup.serve.sessions import Reviews, Sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from es_dedup.maintenance.status import JobStatus
    from es_dedup.serve.tokens import Tokens
    from es_dedup.serve.workers import Workers
    from es_dedup.settings import Settings

_OWN_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Json(Response):
    """A value as JSON; bytes are JSON already."""

    media_type = JSON

    def render(self, content: Any) -> bytes:
        """The body."""
        return encoded(content)


class Service:
    """What the routes work with: an index, its jobs, and who may use it.

    Args:
        place: file or address of the index.
        settings: all settings.
        workers: on the index.
        tokens: who may do what; None: whoever reaches the server.
    """

    def __init__(self, place: str, settings: Settings, workers: Workers, tokens: Tokens | None) -> None:
        self.where, self.limits = (place, settings), settings.serve
        self.workers, self.tokens = workers, tokens
        self.index_name = unquote(urlsplit(place).path if "://" in place else place).rpartition("/")[2]
        self.jobs = Jobs(place, settings, workers)
        self.metrics = Metrics(workers, place, settings)
        self.sessions, self.reviews = Sessions(), Reviews()
        self._preparing: Future[None] | None = None
        self.prepare_search()

    def close(self) -> None:
        """Finish what was accepted and let go of the index."""
        self.jobs.close()
        self.workers.close()

    @property
    def token_file(self) -> str:
        """The file that holds the tokens; empty where the settings give them."""
        given = self.limits.read_token.get_secret_value() or self.limits.write_token.get_secret_value()
        return "" if given else str(self.limits.token_file)

    def require_ready(self) -> None:
        """Refuse what no process can answer yet.

        Raises:
            Opening: all of them are still reading the index.
        """
        if not self.workers.readers.ready.is_set():
            raise problems.Opening

    @staticmethod
    def require_own_host(request: Request) -> None:
        """Refuse a site whose name was made to lead here.

        Raises:
            ForeignHost: the request names another host than this machine.
        """
        host = request.headers.get("host", "").rpartition(":")
        if not {host[0], "".join(host)} & _OWN_HOSTS:
            raise problems.ForeignHost

    async def body_of(self, request: Request, *kinds: str) -> bytes:
        """The body of a request.

        Raises:
            WrongMediaType: it is none of the kinds; also keeps forms of other sites out, whose kinds browsers send unasked.
            BodyTooLarge, BodySlow, ClientGone: see there.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if encoding := request.headers.get("content-encoding", ""):
            kind += f" in {encoding}"
        if kind not in kinds:
            raise problems.WrongMediaType(kind, " or ".join(kinds))
        limit, body, more = self.limits.max_body_bytes, bytearray(), True
        if int(request.headers.get("content-length") or 0) > limit:
            raise problems.BodyTooLarge(limit)
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while more:
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise problems.ClientGone
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > limit:
                        raise problems.BodyTooLarge(limit)
        except TimeoutError:
            raise problems.BodySlow(self.limits.body_seconds) from None
        return bytes(body.removeprefix(BOM_UTF8))

    async def read(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Json:
        """The answer of a call that reads."""
        return Json(await self.workers.read(call, *arguments, **options))

    async def write(self, call: Callable[..., Any], *arguments: Any) -> bytes:
        """The encoded answer of a call that writes."""
        answer = await self.workers.in_time(self.workers.write(call, *arguments))
        self.prepare_search()
        return answer

    async def start_job(self, asked: bytes | Mapping[str, Any]) -> JobStatus:
        """Begin a job, as ``Jobs.start`` does.

        Raises:
            InvalidBody, Slow: see there.
        """
        return await self.workers.in_time(asyncio.to_thread(self.jobs.start, JobBody.read(asked)))

    def prepare_search(self) -> None:
        """Begin to add new texts to the full-text index; ends early when somebody wants to write."""
        if self._preparing is None or self._preparing.done():
            self._preparing = self.workers.submit(prepare_search, self.workers.writer, self.workers.busy)


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]
