"""The routes of the console: signing in, views, overrides, files."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from es_dedup.model.cluster_lists import ClusterOrder
from es_dedup.model.overrides import OverrideKind
from es_dedup.model.translations import translate
from es_dedup.serve import calls
from es_dedup.serve.browsers import (
    COOKIE,
    SEE_OTHER,
    Sent,
    SignedIn,
    Visit,
    Visited,
    Written,
    local,
    see,
    see_done,
)
from es_dedup.serve.cluster_queries import Listed  # noqa: TC001 - FastAPI reads it
from es_dedup.serve.problems import RETRY_SECONDS, InvalidQuery, NoSuchRoute, Opening
from es_dedup.views import clusters, jobs, overrides, pages
from es_dedup.views import overview as overviews
from es_dedup.views import search as searches
from es_dedup.views.frame import FILES, ROOT, file_text, path
from es_dedup.views.templates import console_page

if TYPE_CHECKING:
    from es_dedup.errors import DedupError

KEPT: Final = "max-age=31536000, immutable"
"""Of files: browsers need not ask for them again."""
NO_REASON: Final = "no reason given"
"""Of a decision in the console, where a reason is optional."""
Offset = Annotated[int, Query(ge=0)]
router = APIRouter(prefix=ROOT, include_in_schema=False)


@router.get("")
async def overview(visit: SignedIn) -> Response:
    """What needs attention, counts, and jobs that are not over."""
    running = jobs.unfinished(await asyncio.to_thread(visit.service.jobs.listed))
    return await visit.show(overviews.overview, running)


@router.get("/clusters")
async def listed_clusters(visit: SignedIn, query: Listed, after: str | None = None) -> Response:
    """A list of clusters, those first that should be looked at first."""
    if "order" not in visit.request.query_params:
        query = replace(query, order=ClusterOrder.CONFIDENCE)
    return await visit.show(clusters.listed, query, after)


@router.get("/clusters/{name:path}")
async def cluster(visit: SignedIn, name: str, offset: Offset = 0, done: str = "") -> Response:
    """A cluster."""
    return await visit.show(clusters.one, name, offset, done)


@router.get("/pages/{page_id:path}")
async def page(visit: SignedIn, page_id: str, done: str = "", *, features: bool = False) -> Response:
    """A stored page."""
    return await visit.show(pages.page, page_id, done, features)


@router.get("/compare")
async def compare(
    visit: SignedIn, left: str = "", right: str = "", done: str = "", *, features: bool = False
) -> Response:
    """Two stored pages; without their ids a form for them."""
    return await visit.show(pages.pair, left, right, done, features)


@router.get("/search")
async def search(
    visit: SignedIn, q: Annotated[str, Query(max_length=10_000)] = "", offset: Offset = 0
) -> Response:
    """Hits."""
    visit.service.prepare_search()
    return await visit.show(searches.search, q, offset)


@router.get("/overrides")
async def listed(visit: SignedIn, offset: Offset = 0, done: str = "") -> Response:
    """Decisions of people."""
    return await visit.show(overrides.listed, offset, done)


@router.post("/overrides")
async def override(visit: SignedIn, form: Written) -> Response:
    """Decide, and go back to where that was done, or to the cluster that follows."""
    named = {name: form.get(name, "") for name in ("kind", "site", "text", "author")}
    named["reason"] = form.get("reason") or NO_REASON
    about = form.getlist("page")
    if decision := form.get("decision"):  # of a row of a cluster
        named["kind"], _, member = decision.partition(":")
        about = [member] if named["kind"] == OverrideKind.CANONICAL else [form.get("canonical", ""), member]
    report = json.loads(await visit.write(calls.override, {**named, "pages": about}))
    done = report["overrides"][0]["id"]
    back = form.get("back") or (path("clusters", about[0]) if about else path("overrides"))
    return visit.remember(see_done(back, done), named["author"])


@router.post("/overrides/{override_id}/undo")
async def undo(visit: SignedIn, form: Written, override_id: str) -> Response:
    """End an override, and go back to where that was done."""
    given = {name: form.get(name, "") for name in ("reason", "author")}
    await visit.write(calls.undo_override, override_id, given)
    return visit.remember(see_done(form.get("back") or path("overrides"), override_id), given["author"])


@router.get("/static/{name}")
async def file(name: str) -> Response:
    """Style and script; they need no session."""
    if name not in FILES:
        raise NoSuchRoute(f"{ROOT}/static/{name}")
    return Response(file_text(name), media_type=FILES[name], headers={"Cache-Control": KEPT})


@router.get("/sign-in")
async def sign_in(visit: Visited, to: str = ROOT) -> Response:
    """The form."""
    return _sign_in(visit, local(to))


@router.post("/sign-in")
async def signed_in(visit: Visited, form: Sent) -> Response:
    """Begin a session with a token; the form of another site is refused, as its cookie would be."""
    service, to = visit.service, local(form.get("to", ""))
    scope = service.tokens and service.tokens.scope_of(f"Bearer {form.get('token', '')}")
    if not scope:
        return _sign_in(visit, to, wrong=True)
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


def _sign_in(visit: Visit, to: str, *, wrong: bool = False) -> Response:
    """The form, which leads to an address of the console; ``wrong``: the token that was sent is not known."""
    file = visit.service.token_file
    body = console_page("sign_in", visit.visitor, to=to, wrong=wrong, file=file)
    return visit.html(body, 403 if wrong else 200)


def problem(request: Request, error: DedupError, status: int) -> Response:
    """An error as a view."""
    visit = Visit(request, request.app.state.service)
    text, title = str(error), "Not found" if status == NoSuchRoute.status else "Something went wrong"
    if isinstance(error, InvalidQuery):  # which speaks to programs
        wrong = error.problem.removeprefix("query.")
        text = translate(visit.language, "This address leads nowhere: {problem}", problem=wrong)
    elif isinstance(error, NoSuchRoute):
        text = translate(visit.language, "There is no view at {path}.", path=error.path)
    elif isinstance(error, Opening):
        title, template = "Loading the index", "Loading the index: {ready} of {processes} processes ready."
        text = translate(visit.language, template, ready=error.ready, processes=error.processes)
    answer = visit.html(console_page("problem", visit.visitor, text=text, title=title), status)
    if isinstance(error, Opening):
        answer.headers["Refresh"] = str(RETRY_SECONDS)  # the browser asks again
    return answer
