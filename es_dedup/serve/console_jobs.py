"""The console's routes on jobs and dead letters, and for trying and applying other decision settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Response

from es_dedup.serve.browsers import SignedIn, Written, see
from es_dedup.serve.problems import InvalidBody
from es_dedup.views import jobs, tune
from es_dedup.views.frame import ROOT

if TYPE_CHECKING:
    from es_dedup.serve.browsers import Visit

router = APIRouter(prefix=ROOT, include_in_schema=False)


@router.get("/jobs")
def listed(visit: SignedIn) -> Response:
    """All jobs, and dead letters."""
    return visit.html(jobs.listed(visit.visitor, visit.service.jobs.state()))


@router.post("/jobs")
async def start(visit: SignedIn, form: Written) -> Response:
    """Begin a job, and show it."""
    return await _begin(visit, form, **{name: form[name] for name in ("what", "target") if name in form})


@router.get("/jobs/{job_id}")
def one(visit: SignedIn, job_id: str) -> Response:
    """One job."""
    all_jobs = visit.service.jobs
    steered = visit.writes and not all_jobs.is_own(job_id)
    return visit.html(jobs.one(visit.visitor, all_jobs.one(job_id), steered=steered))


@router.post("/jobs/{job_id}/{action}")
def change(
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
    return await _begin(visit, form, what="recluster", settings=settings)


async def _begin(visit: Visit, form: Written, **asked: Any) -> Response:
    """Begin a job with the boxes of a form that are ticked, and show it."""
    boxes = {name: name in form for name in ("force", "dry_run")}
    job = await visit.service.start_job(asked | boxes)
    return see("jobs", job.id)
