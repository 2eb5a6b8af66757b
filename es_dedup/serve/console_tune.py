"""The console's routes for trying and applying other decision settings."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from es_dedup.console import tune
from es_dedup.console.frame import ROOT, path
from es_dedup.serve import calls
from es_dedup.serve.bodies import JobBody
from es_dedup.serve.console import SEE_OTHER, Seen, first, shown, writes, written
from es_dedup.serve.problems import InvalidBody

router = APIRouter(prefix=ROOT, include_in_schema=False, dependencies=Seen)


@router.get("/tune")
async def look(request: Request, preset: str = "", name: str = "", value: str = "") -> Response:
    """What other settings would change."""
    return await shown(request, tune.tune, writes(request), tune.changes_of(preset, name, value))


@router.post("/tune")
async def apply(request: Request) -> Response:
    """Recluster with other settings, or count what that would change; shows the job."""
    given = await written(request)
    try:
        settings = json.loads(first(given, "settings"))
    except ValueError:
        raise InvalidBody(("settings: no JSON",)) from None
    asked = {"what": "recluster", "settings": settings}
    body = JobBody.read(calls.as_json(asked | {name: name in given for name in ("force", "dry_run")}))
    service = request.app.state.service
    job = await service.in_thread(service.jobs.start, body)
    return RedirectResponse(path("jobs", job.id), SEE_OTHER)
