"""The console's routes on jobs and dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from es_dedup.console import jobs
from es_dedup.console.frame import ROOT, path
from es_dedup.serve import calls
from es_dedup.serve.bodies import JobBody
from es_dedup.serve.console import SEE_OTHER, Seen, first, html, language_of, writes, written

if TYPE_CHECKING:
    from collections.abc import Mapping

router = APIRouter(prefix=ROOT, include_in_schema=False, dependencies=Seen)


@router.get("/jobs")
async def listed(request: Request) -> Response:
    """All jobs, and dead letters."""
    service = request.app.state.service
    state = await service.in_thread(service.jobs.state)
    return html(request, jobs.listed(language_of(request), state, writes(request)))


@router.post("/jobs")
async def start(request: Request) -> Response:
    """Begin a job, and show it."""
    given = await written(request)
    asked = {name: first(given, name) for name in ("what", "target") if first(given, name)}
    return await begun(request, given, asked)


@router.get("/jobs/{job_id}")
async def one(request: Request, job_id: str) -> Response:
    """One job."""
    service = request.app.state.service
    job = await service.in_thread(service.jobs.one, job_id)
    steered = writes(request) and not service.jobs.is_own(job_id)
    return html(request, jobs.one(language_of(request), job, steered))


@router.post("/jobs/{job_id}/{action}")
async def change(request: Request, job_id: str, action: Literal["pause", "resume", "cancel"]) -> Response:
    """Pause, resume or cancel a job."""
    await written(request)
    service = request.app.state.service
    await service.in_thread(service.jobs.change, job_id, action)
    return RedirectResponse(path("jobs", job_id), SEE_OTHER)


async def begun(request: Request, given: Mapping[str, list[str]], asked: Mapping[str, Any]) -> Response:
    """Begin what is asked for, with the boxes of a form that are ticked, and show the job."""
    boxes = {name: name in given for name in ("force", "dry_run")}
    service = request.app.state.service
    job = await service.in_thread(service.jobs.start, JobBody.read(calls.as_json({**asked, **boxes})))
    return RedirectResponse(path("jobs", job.id), SEE_OTHER)


@router.post("/dead-letters")
async def replay(request: Request) -> Response:
    """Process dead letters again: those of the pages named, or all."""
    given = await written(request)
    service = request.app.state.service
    job = await service.in_thread(service.jobs.replay, given.get("page", []))
    return RedirectResponse(path("jobs", job.id), SEE_OTHER)
