"""The routes of the console: signing in, views, files."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Query, Request, Response, Security
from fastapi.responses import RedirectResponse

from es_dedup.console import clusters, details, jobs, overrides, views
from es_dedup.console.forms import button, entry, hidden, labelled
from es_dedup.console.frame import POLICY, ROOT, SIGN_OUT, framed, path, sign_out_form, static
from es_dedup.model.translations import accepted_language, translate
from es_dedup.report.markup import element, escape
from es_dedup.serve import calls
from es_dedup.serve.cluster_queries import Listed  # noqa: TC001 - FastAPI reads it
from es_dedup.serve.problems import ForeignOrigin, NoSuchRoute, NotAllowed
from es_dedup.serve.tokens import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_dedup.errors import DedupError

FORM: Final = "application/x-www-form-urlencoded"
COOKIE: Final = "es-dedup-console"
SESSION_SECONDS: Final = 43_200.0
MOST_SESSIONS: Final = 1_000
SEE_OTHER: Final = 303
KEPT: Final = "max-age=31536000, immutable"
"""Of files: browsers need not ask for them again."""
HEADERS: Final = {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
"""Of every page: without a referrer, browsers send forms with the origin ``null``, which is refused."""


class SignIn(Exception):
    """The browser has no session."""


class Sessions:
    """Who has signed in: the scope of their token by the value of a cookie; lost when the server ends."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Scope, float]] = OrderedDict()

    def begin(self, scope: Scope) -> str:
        """The cookie of a new session."""
        name = secrets.token_urlsafe(32)
        self._known[name] = scope, time.monotonic() + SESSION_SECONDS
        if len(self._known) > MOST_SESSIONS:
            self._known.popitem(last=False)
        return name

    def scope_of(self, name: str) -> Scope | None:
        """The scope of a session; None where there is none any more."""
        scope, end = self._known.get(name, (None, 0.0))
        return scope if end > time.monotonic() else None

    def end(self, name: str) -> None:
        """Forget a session."""
        self._known.pop(name, None)


async def _signed_in(request: Request) -> None:
    """Lets requests pass that have a session.

    Raises:
        SignIn, ForeignHost: see there.
    """
    service = request.app.state.service
    if service.tokens is None:
        service.own_host(request)
    elif _scope(request) is None:
        raise SignIn


Seen: Final = [Security(_signed_in)]
Offset = Annotated[int, Query(ge=0)]
router = APIRouter(prefix=ROOT, include_in_schema=False)


@router.get("", dependencies=Seen)
async def overview(request: Request) -> Response:
    """Counts, and jobs that are not over."""
    service = request.app.state.service
    running = jobs.running(language_of(request), await service.in_thread(service.jobs.listed))
    return await shown(request, views.overview, running)


@router.get("/clusters", dependencies=Seen)
async def listed_clusters(request: Request, query: Listed, after: str | None = None) -> Response:
    """A list of clusters."""
    return await shown(request, clusters.listed, query, after)


@router.get("/clusters/{name:path}", dependencies=Seen)
async def cluster(request: Request, name: str, offset: Offset = 0) -> Response:
    """A cluster."""
    return await shown(request, details.cluster, name, offset)


@router.get("/pages/{page_id:path}", dependencies=Seen)
async def page(request: Request, page_id: str) -> Response:
    """A stored page."""
    return await shown(request, details.page, writes(request), page_id)


@router.get("/compare", dependencies=Seen)
async def compare(request: Request, left: str, right: str) -> Response:
    """Two stored pages."""
    return await shown(request, details.pair, writes(request), left, right)


@router.get("/search", dependencies=Seen)
async def search(
    request: Request, q: Annotated[str, Query(min_length=1, max_length=10_000)], offset: Offset = 0
) -> Response:
    """Hits."""
    service = request.app.state.service
    return html(request, await service.search(views.search, language_of(request), q, offset))


@router.get("/overrides", dependencies=Seen)
async def listed(request: Request) -> Response:
    """Decisions of people."""
    return await shown(request, overrides.listed, writes(request))


@router.post("/overrides", dependencies=Seen)
async def override(request: Request) -> Response:
    """Decide, and show the cluster that follows."""
    given = await written(request)
    pages = given.get("page", [])
    named = {name: first(given, name) for name in ("kind", "site", "text")}
    body = calls.as_json({**named, "pages": pages, **_reason_and_author(given)})
    service = request.app.state.service
    await service.write(request, None, b"", calls.override, body, *service.where)
    return RedirectResponse(path("clusters", pages[0]) if pages else path("overrides"), SEE_OTHER)


@router.post("/overrides/{override_id}/undo", dependencies=Seen)
async def undo(request: Request, override_id: str) -> Response:
    """End an override."""
    body = calls.as_json(_reason_and_author(await written(request)))
    service = request.app.state.service
    await service.write(request, None, b"", calls.undo_override, override_id, body, *service.where)
    return RedirectResponse(path("overrides"), SEE_OTHER)


@router.get("/static/{name}")
async def file(name: str) -> Response:
    """Style and script; they need no session."""
    try:
        kind, content = static(name)
    except KeyError:
        raise NoSuchRoute(f"{ROOT}/static/{name}") from None
    return Response(content, media_type=kind, headers={"Cache-Control": KEPT})


@router.get("/sign-in")
async def sign_in(request: Request, to: str = ROOT) -> Response:
    """The form."""
    return _form(request, to)


@router.post("/sign-in")
async def signed_in(request: Request) -> Response:
    """Begin a session with a token; the form of another site is refused, as its cookie would be."""
    service = request.app.state.service
    given = await _sent(request)
    token, to = first(given, "token"), first(given, "to")
    scope = None if service.tokens is None else service.tokens.scope_of(f"Bearer {token}")
    if scope is None:
        return _form(request, to, wrong=True)
    answer = RedirectResponse(_local(to), SEE_OTHER)
    secure = request.url.scheme == "https"
    session = service.sessions.begin(scope)
    answer.set_cookie(COOKIE, session, path=ROOT, secure=secure, httponly=True, samesite="strict")
    return answer


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session."""
    _same_origin(request)
    request.app.state.service.sessions.end(request.cookies.get(COOKIE, ""))
    answer = RedirectResponse(path("sign-in"), SEE_OTHER)
    answer.delete_cookie(COOKIE, path=ROOT)
    return answer


def to_sign_in(request: Request, _: Exception) -> Response:
    """The answer to a browser without a session: the form, and afterwards what was asked for."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(path("sign-in", to=asked), SEE_OTHER)


def problem(request: Request, error: DedupError, status: int) -> Response:
    """An error as a view."""
    language = language_of(request)
    title = translate(language, "Not found" if status == NoSuchRoute.status else "Something went wrong")
    return html(request, framed(title, element("p", escape(error), class_="empty"), language), status)


async def shown(request: Request, view: Callable[..., bytes], *arguments: Any) -> Response:
    """A view made by ``view(reader, language, *arguments)`` in a process that reads."""
    service = request.app.state.service
    return html(request, await service.workers.read(view, language_of(request), *arguments))


def html(request: Request, body: bytes, status: int = 200) -> Response:
    """The answer with a view, in which those who have signed in can sign out."""
    form = "" if _scope(request) is None else sign_out_form(language_of(request))
    body = body.replace(SIGN_OUT.encode(), form.encode(), 1)
    return Response(body, status, HEADERS, "text/html; charset=utf-8")


def _form(request: Request, to: str, *, wrong: bool = False) -> Response:
    language = language_of(request)
    note = "The token for reading or for writing, from the file that serve.token_file names."
    token = entry("token", "password", required=True, autofocus=True, autocomplete="current-password")
    said = element("p", escape(translate(language, "This token is not known.")), class_="wrong", role="alert")
    form = element(
        "form",
        hidden({"to": _local(to)}),
        labelled(language, "Token", token),
        said if wrong else "",
        element("p", escape(translate(language, note)), class_="note"),
        button(language, "Sign in"),
        action=path("sign-in"),
        method="post",
        class_="login",
    )
    return html(
        request,
        framed(translate(language, "Sign in"), form, language, signed_in=False),
        403 if wrong else 200,
    )


def language_of(request: Request) -> str:
    """The language of the console for who asks."""
    return accepted_language(request.headers.get("accept-language", ""))


def _local(address: str) -> str:
    """An address of the console, whatever was asked for."""
    inside = address == ROOT or address.startswith((f"{ROOT}/", f"{ROOT}?"))
    return address if inside and "\\" not in address and address.isprintable() else ROOT


async def _sent(request: Request) -> dict[str, list[str]]:
    """Fields of a form of this server.

    Raises:
        ForeignOrigin, WrongMediaType: see there.
    """
    _same_origin(request)
    body = await request.app.state.service.body_of(request, FORM)
    return parse_qs(body.decode("utf-8", "replace"))


async def written(request: Request) -> dict[str, list[str]]:
    """Fields of a form that writes.

    Raises:
        NotAllowed: the session is for reading.
    """
    given = await _sent(request)
    if not writes(request):
        raise NotAllowed
    return given


def writes(request: Request) -> bool:
    """Whether the session may write."""
    return request.app.state.service.tokens is None or _scope(request) is Scope.WRITE


def _scope(request: Request) -> Scope | None:
    """The scope of the session; None without one."""
    scope: Scope | None = request.app.state.service.sessions.scope_of(request.cookies.get(COOKIE, ""))
    return scope


def first(given: Mapping[str, list[str]], name: str) -> str:
    """The first value of a field of a form; empty where there is none."""
    return given.get(name, [""])[0]


def _reason_and_author(given: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: first(given, name) for name in ("reason", "author")}


def _same_origin(request: Request) -> None:
    """Refuse forms of other sites.

    Raises:
        ForeignOrigin: the browser says that it is one.
    """
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        raise ForeignOrigin(origin, request.headers.get("host", ""))
