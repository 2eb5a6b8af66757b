"""The console's routes for trying and applying other decision settings."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response

from es_dedup.console import tune
from es_dedup.console.frame import ROOT
from es_dedup.serve.console import Seen, first, shown, writes, written
from es_dedup.serve.console_jobs import begun
from es_dedup.serve.problems import InvalidBody

router = APIRouter(prefix=ROOT, include_in_schema=False, dependencies=Seen)


@router.get("/tune")
async def look(request: Request) -> Response:
    """What other settings would change."""
    return await shown(request, tune.tune, writes(request), tune.changes_of(request.query_params))


@router.post("/tune")
async def apply(request: Request) -> Response:
    """Recluster with other settings, or count what that would change; shows the job."""
    given = await written(request)
    try:
        settings = json.loads(first(given, "settings"))
    except ValueError:
        raise InvalidBody(("settings: no JSON",)) from None
    return await begun(request, given, {"what": "recluster", "settings": settings})
