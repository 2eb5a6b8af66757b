"""The routes of the console: signing in, views, overrides, files."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from es_dedup.model.translations import translate
from es_dedup.serve import calls
from es_dedup.serve.browsers import COOKIE, SEE_OTHER, Sent, SignedIn, Visit, Visited, Written, local, see
from es_dedup.serve.cluster_queries import Listed  # noqa: TC001 - FastAPI reads it
from es_dedup.serve.problems import NoSuchRoute
from es_dedup.views import clusters, details, jobs, overrides
from es_dedup.views import overview as overviews
from es_dedup.views.frame import ROOT, framed, static
from es_dedup.views.markup import element, escape
from es_dedup.views.sign_in import sign_in_form

if TYPE_CHECKING:
    from es_dedup.errors import DedupError

KEPT: Final = "max-age=31536000, immutable"
"""Of files: browsers need not ask for them again."""
Offset = Annotated[int, Query(ge=0)]
router = APIRouter(prefix=ROOT, include_in_schema=False)


@router.get("")
async def overview(visit: SignedIn) -> Response:
    """Counts, and jobs that are not over."""
    running = jobs.running(visit.language, await asyncio.to_thread(visit.service.jobs.listed))
    return await visit.show(overviews.overview, running)


@router.get("/clusters")
async def listed_clusters(visit: SignedIn, query: Listed, after: str | None = None) -> Response:
    """A list of clusters."""
    return await visit.show(clusters.listed, query, after)


@router.get("/clusters/{name:path}")
async def cluster(visit: SignedIn, name: str, offset: Offset = 0) -> Response:
    """A cluster."""
    return await visit.show(details.cluster, name, offset)


@router.get("/pages/{page_id:path}")
async def page(visit: SignedIn, page_id: str) -> Response:
    """A stored page."""
    return await visit.show(details.page, visit.writes, page_id)


@router.get("/compare")
async def compare(visit: SignedIn, left: str, right: str) -> Response:
    """Two stored pages."""
    return await visit.show(details.pair, visit.writes, left, right)


@router.get("/search")
async def search(
    visit: SignedIn, q: Annotated[str, Query(min_length=1, max_length=10_000)], offset: Offset = 0
) -> Response:
    """Hits."""
    visit.service.prepare_search()
    return await visit.show(overviews.search, q, offset)


@router.get("/overrides")
async def listed(visit: SignedIn) -> Response:
    """Decisions of people."""
    return await visit.show(overrides.listed, visit.writes)


@router.post("/overrides")
async def override(visit: SignedIn, form: Written) -> Response:
    """Decide, and show the cluster that follows."""
    pages = form.getlist("page")
    named = {name: form.get(name, "") for name in ("kind", "site", "text", "reason", "author")}
    await visit.write(calls.override, {**named, "pages": pages})
    return see("clusters", pages[0]) if pages else see("overrides")


@router.post("/overrides/{override_id}/undo")
async def undo(visit: SignedIn, form: Written, override_id: str) -> Response:
    """End an override."""
    given = {name: form.get(name, "") for name in ("reason", "author")}
    await visit.write(calls.undo_override, override_id, given)
    return see("overrides")


@router.get("/static/{name}")
async def file(name: str) -> Response:
    """Style and script; they need no session."""
    try:
        kind, content = static(name)
    except KeyError:
        raise NoSuchRoute(f"{ROOT}/static/{name}") from None
    return Response(content, media_type=kind, headers={"Cache-Control": KEPT})


@router.get("/sign-in")
async def sign_in(visit: Visited, to: str = ROOT) -> Response:
    """The form."""
    return visit.html(sign_in_form(visit.language, local(to)))


@router.post("/sign-in")
async def signed_in(visit: Visited, form: Sent) -> Response:
    """Begin a session with a token; the form of another site is refused, as its cookie would be."""
    service, to = visit.service, local(form.get("to", ""))
    scope = service.tokens and service.tokens.scope_of(f"Bearer {form.get('token', '')}")
    if not scope:
        return visit.html(sign_in_form(visit.language, to, wrong=True), 403)
    answer = RedirectResponse(to, SEE_OTHER)
    session, secure = service.sessions.begin(scope), visit.request.url.scheme == "https"
    answer.set_cookie(COOKIE, session, path=ROOT, secure=secure, httponly=True, samesite="strict")
    return answer


@router.post("/sign-out")
async def sign_out(visit: Visited) -> Response:
    """End the session."""
    visit.require_own_form()
    visit.service.sessions.end(visit.request.cookies.get(COOKIE, ""))
    answer = see("sign-in")
    answer.delete_cookie(COOKIE, path=ROOT)
    return answer


def problem(request: Request, error: DedupError, status: int) -> Response:
    """An error as a view."""
    visit = Visit(request, request.app.state.service)
    title = "Not found" if status == NoSuchRoute.status else "Something went wrong"
    body = element("p", escape(error), class_="empty")
    return visit.html(framed(translate(visit.language, title), body, visit.language), status)
