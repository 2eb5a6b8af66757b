"""The routes of the console: views, overrides, files, signing in, jobs and tuning, reviewing pairs."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from es_dedup.batch.journal import MAX_CHARS
from es_dedup.model.cluster_lists import ClusterOrder
from es_dedup.model.overrides import OverrideKind
from es_dedup.model.translations import translate
from es_dedup.serve import calls
from es_dedup.serve.bodies import ReviewBody
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
from es_dedup.serve.problems import RETRY_SECONDS, InvalidBody, InvalidQuery, NoSuchRoute, Opening
from es_dedup.views import clusters, jobs, overrides, pages, tune
from es_dedup.views import overview as overviews
from es_dedup.views import review as reviewing
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
    visit.set_cookie(answer, COOKIE, service.sessions.begin(scope))
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


@router.get("/jobs")
def listed_jobs(visit: SignedIn) -> Response:
    """All jobs, and dead letters."""
    return visit.html(jobs.listed(visit.visitor, visit.service.jobs.state()))


@router.post("/jobs")
async def start_job(visit: SignedIn, form: Written) -> Response:
    """Begin a job, and show it."""
    return await _begin_job(visit, form, **{name: form[name] for name in ("what", "target") if name in form})


@router.get("/jobs/{job_id}")
def job(visit: SignedIn, job_id: str) -> Response:
    """One job."""
    all_jobs = visit.service.jobs
    steered = visit.writes and not all_jobs.is_own(job_id)
    return visit.html(jobs.one(visit.visitor, all_jobs.one(job_id), steered=steered))


@router.post("/jobs/{job_id}/{action}")
def change_job(
    visit: SignedIn, _: Written, job_id: str, action: Literal["pause", "resume", "cancel"]
) -> Response:
    """Pause, resume or cancel a job."""
    visit.service.jobs.change(job_id, action)
    return see("jobs", job_id)


@router.post("/dead-letters")
def replay(visit: SignedIn, form: Written) -> Response:
    """Process dead letters again: those of the pages named, or all."""
    return see("jobs", visit.service.jobs.replay(form.getlist("page")).id)


@router.get("/tune")
async def try_settings(visit: SignedIn) -> Response:
    """What other settings would change."""
    changes = tune.changes_of(visit.request.query_params)
    return await visit.show(tune.tune, changes)


@router.post("/tune")
async def apply_settings(visit: SignedIn, form: Written) -> Response:
    """Recluster with other settings, or count what that would change; shows the job."""
    try:
        settings = json.loads(form.get("settings", ""))
    except ValueError:
        raise InvalidBody(("settings: no JSON",)) from None
    return await _begin_job(visit, form, what="recluster", settings=settings)


async def _begin_job(visit: Visit, form: Written, **asked: Any) -> Response:
    """Begin a job with the boxes of a form that are ticked, and show it."""
    boxes = {name: name in form for name in ("force", "dry_run")}
    begun = await visit.service.start_job(asked | boxes)
    return see("jobs", begun.id)


@router.get("/review")
async def review(
    visit: SignedIn,
    reader: Annotated[str, Query(max_length=MAX_CHARS)] = "",
    left: str = "",
    right: str = "",
    *,
    second: bool = False,
) -> Response:
    """The next pair for a reader; without one, who has labelled what."""
    if not reader.strip() or not visit.writes:
        return await visit.show(reviewing.begin)
    reviews = visit.service.reviews
    queue = await reviews.queue(visit.service.workers)
    wanted = (left, right) if left and right else None
    return await visit.show(reviewing.ask, reader, second, queue, reviews.skipped(reader), wanted)


@router.post("/review")
async def answer(visit: SignedIn, form: Written) -> Response:
    """Keep an answer, or undo the last one, and go on."""
    reviews, reader = visit.service.reviews, form.get("reader", "")
    if form.get("answer") == reviewing.UNDO:
        undone = await visit.write(calls.undo_review, reader, reviews.last_skip(reader))
        pair = json.loads(undone) or reviews.unskip(reader)
        return _next_pair(form, left=pair[0], right=pair[1]) if pair else _next_pair(form)
    names = ("left", "right", "reader", "answer", "reason")
    given = {name: form.get(name, "") for name in names}
    asked = ReviewBody.read({**given, "override": "override" in form})
    if asked.answer == reviewing.SKIP:
        reviews.skip(reader, (asked.left, asked.right))
    else:
        await visit.write(calls.review, asked)
    return visit.remember(_next_pair(form), reader)


@router.post("/review/draw")
async def draw(visit: SignedIn, form: Written) -> Response:
    """Draw other pairs."""
    visit.service.reviews.draw_again()
    return _next_pair(form)


@router.get("/review/labels.jsonl")
async def labels(visit: SignedIn) -> Response:
    """All labels, to be saved as a file."""
    body = await visit.service.workers.read(reviewing.labels)
    headers = {"Content-Disposition": 'attachment; filename="labels.jsonl"'}
    return Response(body, 200, headers, "application/x-ndjson")


def _next_pair(form: Written, **pair: Any) -> Response:
    return see("review", reader=form.get("reader", ""), second=form.get("second", ""), **pair)


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
        title = "Loading the index"
        text = translate(visit.language, "The page is shown as soon as the index is loaded.")
    answer = visit.html(console_page("problem", visit.visitor, text=text, title=title), status)
    if isinstance(error, Opening):
        answer.headers["Refresh"] = str(RETRY_SECONDS)  # the browser asks again
    return answer
