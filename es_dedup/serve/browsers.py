"""Requests of browsers: who has signed in, in which language views are shown, and forms of this server alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from fastapi import Depends, Request, Response
from fastapi.datastructures import QueryParams
from fastapi.responses import RedirectResponse

from es_dedup.model.translations import accepted_language
from es_dedup.serve.problems import ForeignOrigin, NotAllowed
from es_dedup.serve.service import Served  # noqa: TC001 - FastAPI reads it
from es_dedup.serve.tokens import Scope
from es_dedup.views.frame import POLICY, ROOT, Visitor, path

if TYPE_CHECKING:
    from collections.abc import Callable

FORM: Final = "application/x-www-form-urlencoded"
COOKIE: Final = "es-dedup-console"
NAME_COOKIE: Final = "es-dedup-name"
"""Holds the name under which a visitor decided last."""
NAME_SECONDS: Final = 31_536_000
MOST_NAME_CHARS: Final = 100
"""Of a name that is remembered: browsers drop cookies of more than 4 kB."""
SEE_OTHER: Final = 303
HEADERS: Final = {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
"""Of every page: without a referrer, browsers send forms with the origin ``null``, which is refused."""


class SignIn(Exception):
    """The browser has no session."""


class Visit:
    """A request of a browser.

    Attributes:
        scope: of the session; None without one.
        writes: whether the visitor may write.
    """

    def __init__(self, request: Request, service: Served) -> None:
        self.request, self.service = request, service
        self.scope: Scope | None = service.sessions.scope_of(request.cookies.get(COOKIE, ""))
        self.writes = service.tokens is None or self.scope is Scope.WRITE

    @property
    def language(self) -> str:
        """Of the views."""
        return accepted_language(self.request.headers.get("accept-language", ""))

    @property
    def visitor(self) -> Visitor:
        """What views know of the visitor."""
        return Visitor(
            language=self.language,
            index=self.service.index_name,
            inside=self.service.tokens is None or self.scope is not None,
            session=self.scope is not None,
            writes=self.writes,
            name=unquote(self.request.cookies.get(NAME_COOKIE, "")),
        )

    async def show(self, view: Callable[..., bytes], *arguments: Any) -> Response:
        """A view made by ``view(reader, visitor, *arguments)`` in a process that reads."""
        return self.html(await self.service.workers.read(view, self.visitor, *arguments))

    @staticmethod
    def html(body: bytes, status: int = 200) -> Response:
        """The answer with a view."""
        return Response(body, status, HEADERS, "text/html; charset=utf-8")

    def set_cookie(self, answer: Response, name: str, value: str, seconds: int | None = None) -> None:
        """Have the browser keep a value for the console alone; without ``seconds`` until it is closed."""
        secure = self.request.url.scheme == "https"
        answer.set_cookie(name, value, seconds, path=ROOT, secure=secure, httponly=True, samesite="strict")

    def remember(self, answer: Response, name: str) -> Response:
        """The answer, with the name of the visitor for the next form; a very long one is asked for again."""
        if len(name) <= MOST_NAME_CHARS:
            self.set_cookie(answer, NAME_COOKIE, quote(name), NAME_SECONDS)
        return answer

    async def write(self, call: Callable[..., Any], *arguments: Any) -> bytes:
        """The encoded answer of ``call(deduplicator, *arguments, place, settings)``, which writes."""
        return await self.service.write(call, *arguments, *self.service.where)

    def require_own_form(self) -> None:
        """Refuse forms of other sites.

        Raises:
            ForeignOrigin: the browser says that it is one.
        """
        origin, host = self.request.headers.get("origin"), self.request.headers.get("host", "")
        if origin is not None and urlsplit(origin).netloc != host:
            raise ForeignOrigin(origin, host)


Visited = Annotated[Visit, Depends(Visit)]


async def _signed_in(visit: Visited) -> Visit:
    """Lets requests pass that have a session.

    Raises:
        SignIn, ForeignHost: see there.
        Opening: no view can be shown yet.
    """
    if visit.service.tokens is None:
        visit.service.require_own_host(visit.request)
    elif visit.scope is None:
        raise SignIn
    if visit.request.method == "GET":
        visit.service.require_ready()
    return visit


SignedIn = Annotated[Visit, Depends(_signed_in)]
"""What a route takes that needs a session."""


async def _sent(visit: Visited) -> QueryParams:
    """Fields of a form of this server that are not empty.

    Raises:
        ForeignOrigin, WrongMediaType: see there.
    """
    visit.require_own_form()
    body = await visit.service.body_of(visit.request, FORM)
    return QueryParams(parse_qsl(body.decode("utf-8", "replace")))


Sent = Annotated[QueryParams, Depends(_sent)]


async def _written(visit: SignedIn, form: Sent) -> QueryParams:
    """Fields of a form that writes.

    Raises:
        NotAllowed: the session is for reading.
    """
    if not visit.writes:
        raise NotAllowed
    return form


Written = Annotated[QueryParams, Depends(_written)]
"""What a route takes that writes."""


def see(*parts: str, **parameters: Any) -> Response:
    """Lead the browser to an address of the console."""
    return RedirectResponse(path(*parts, **parameters), SEE_OTHER)


def see_done(back: str, done: str) -> Response:
    """Lead the browser to where something was decided, which is said there; ``done`` is its id."""
    address, _, query = local(back).partition("?")
    kept = [(name, value) for name, value in parse_qsl(query) if name != "done"]
    return RedirectResponse(f"{address}?{urlencode([*kept, ('done', done)])}", SEE_OTHER)


def to_sign_in(request: Request, _: Exception) -> Response:
    """The answer to a browser without a session: the form, and afterwards what was asked for."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return see("sign-in", to=asked)


def local(address: str) -> str:
    """An address of the console, whatever was asked for."""
    inside = address == ROOT or address.startswith((f"{ROOT}/", f"{ROOT}?"))
    return address if inside and "\\" not in address and address.isprintable() else ROOT
