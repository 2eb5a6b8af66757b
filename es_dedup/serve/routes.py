"""The routes of the REST API: each a call of the library, in a process that reads or the thread that writes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from fastapi import APIRouter, Depends, Query, Request, Response, Security
from fastapi.responses import PlainTextResponse, RedirectResponse, StreamingResponse
from fastapi.security import HTTPBearer

from es_dedup.deduplicator.index_reader import IndexReader
from es_dedup.maintenance.status import JobStatus
from es_dedup.model import RemoveReport, SearchResult, WritePolicy
from es_dedup.model.batches import chunked
from es_dedup.model.overrides import OverrideReport
from es_dedup.serve import answers, bodies, calls, problems
from es_dedup.serve.bodies import JSON, NDJSON, lines_of
from es_dedup.serve.cluster_queries import Listed  # noqa: TC001 - FastAPI reads it
from es_dedup.serve.metrics import MEDIA_TYPE
from es_dedup.serve.service import Json, Served, Service
from es_dedup.serve.tokens import Scope
from es_dedup.views.frame import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic import BaseModel

LINES_AT_A_TIME: Final = 32
"""Lines of a checked NDJSON body that one process works on together."""
MAX_LISTED: Final = 1000
"""Clusters or hits of one answer."""


class Allowed(HTTPBearer):
    """Lets requests pass whose token has a scope."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(auto_error=False, description="a token for reading, or for reading and writing")
        self._scope = scope

    async def __call__(self, request: Request) -> None:  # type: ignore[override]
        """Check the token, then the names of parameters: one that is misspelt would count as not given.

        Raises:
            NoToken, NotAllowed, ForeignHost, InvalidQuery: see there.
        """
        service: Service = request.app.state.service
        if service.tokens is None:
            service.require_own_host(request)
        else:
            allowed = service.tokens.scope_of(request.headers.get("authorization", ""))
            if allowed is None:
                raise problems.NoToken
            if self._scope is Scope.WRITE and allowed is not Scope.WRITE:
                raise problems.NotAllowed
        known = _parameters(request.scope["route"].dependant)
        for name, _ in request.query_params.multi_items():
            if name not in known:
                raise problems.InvalidQuery(f"{name}: unknown, or given twice")
            known.remove(name)


def _parameters(dependant: Any) -> set[str]:
    """Names of what a route takes behind the question mark."""
    return {each.alias for each in dependant.query_params}.union(*map(_parameters, dependant.dependencies))


async def _json_body(request: Request, service: Served) -> bytes:
    return await service.body_of(request, JSON)


class Sent(NamedTuple):
    """The body of a request, and whether it is NDJSON."""

    body: bytes
    is_lines: bool


async def _lines_or_json(request: Request, service: Served) -> Sent:
    body = await service.body_of(request, JSON, NDJSON)
    is_lines = request.headers["content-type"].lower().startswith(NDJSON)
    if not is_lines and body.lstrip().startswith(b"["):
        raise problems.InvalidBody(
            (f"an array is not an object: send several pages one a line, as {NDJSON}",)
        )
    return Sent(body, is_lines)


JsonBody = Annotated[bytes, Depends(_json_body)]
LinesOrJson = Annotated[Sent, Depends(_lines_or_json)]
Policy = Annotated[WritePolicy, Query(description="what is done with duplicates of stored pages")]
Limit = Annotated[int, Query(ge=1, le=MAX_LISTED)]
REF: Final = "#/components/schemas/{model}"
_PROBLEM: Final = {problems.MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Problem")}}}
router = APIRouter(
    responses={
        "4XX": {"description": "Refused", "content": _PROBLEM},
        "5XX": {"description": "Failed", "content": _PROBLEM},
    }
)


def _route(
    scope: Scope, answer: Any, body: type[BaseModel] | None = None, *, lines: bool = False
) -> dict[str, Any]:
    """Arguments of a route.

    Args:
        scope: what the token must allow.
        answer: the type of its answer.
        body: the type of its body, which the route reads by itself; None: there is none.
        lines: whether the body may also be NDJSON, one such object per line.
    """
    content: dict[str, Any] = {}
    if body is not None:
        content[JSON] = {"schema": {"$ref": REF.format(model=body.__name__)}}
        if lines:
            content[NDJSON] = {"schema": {"type": "string", "description": f"a {body.__name__} a line"}}
    return {
        "dependencies": [Security(Allowed(scope))],
        "response_model": answer,
        "openapi_extra": {"requestBody": {"required": True, "content": content}} if content else None,
    }


_reads: Final = partial(_route, Scope.READ)
_writes: Final = partial(_route, Scope.WRITE)
_LINES: Final[dict[int | str, Any]] = {
    200: {"content": {NDJSON: {"schema": {"type": "string", "description": "an answer a line"}}}}
}


@router.post("/v1/check", **_reads(answers.Decision, bodies.PageBody, lines=True), responses=_LINES)
async def check(service: Served, sent: LinesOrJson) -> Response:
    """Decide whether a page is stored already; nothing is written. NDJSON is answered line by line."""
    if not sent.is_lines:
        return await service.read(calls.check, sent.body)
    decisions = service.workers.stream(calls.check_lines, chunked(lines_of(sent.body), LINES_AT_A_TIME))
    first = await anext(decisions, b"")  # what is refused as a whole has its status

    async def all_lines() -> AsyncIterator[bytes]:
        yield first
        async for some in decisions:
            yield some

    return StreamingResponse(all_lines(), media_type=NDJSON)


@router.post("/v1/pages", **_writes(answers.Report, bodies.PageBody, lines=True))
async def add(service: Served, sent: LinesOrJson, policy: Policy = WritePolicy.MARK) -> Response:
    """Store one page or, in NDJSON, several, and say what they are; a page of a known id replaces that one."""
    call = calls.add_lines if sent.is_lines else calls.add_page
    return Json(await service.write(call, sent.body, policy))


@router.put("/v1/pages/{page_id:path}", **_writes(answers.Report, bodies.PageBody))
async def put(service: Served, page_id: str, body: JsonBody, policy: Policy = WritePolicy.MARK) -> Response:
    """Store a page under an id, or replace it. Slashes of the id may be percent-encoded or not."""
    return Json(await service.write(calls.add_page, body, policy, page_id))


@router.get("/v1/pages/{page_id:path}", **_reads(answers.Stored))
async def stored(service: Served, page_id: str) -> Response:
    """What is stored of a page."""
    return await service.read(calls.page, page_id)


@router.delete("/v1/pages/{page_id:path}", **_writes(RemoveReport))
async def remove(service: Served, page_id: str) -> Response:
    """Remove a page and repair its cluster."""
    return Json(await service.write(calls.remove_page, page_id))


@router.post("/v1/explain", **_reads(answers.Pair, bodies.ExplainBody))
async def explain(service: Served, body: JsonBody) -> Response:
    """The relation of two pages, stored or sent, with all evidence, rules and methods."""
    return await service.read(calls.explain, body)


@router.get("/v1/clusters", **_reads(answers.Clusters))
async def clusters(
    service: Served,
    query: Listed,
    limit: Limit = 50,
    after: Annotated[str | None, Query(description="`next` of the answer before")] = None,
) -> Response:
    """Clusters by filter and order, with their pages."""
    return await service.read(calls.clusters, query, limit, after)


@router.get("/v1/clusters/{name:path}", **_reads(answers.Cluster))
async def cluster(service: Served, name: str, *, evidence: bool = False) -> Response:
    """A cluster by its id or by that of a page in it; `evidence` adds the pair decision of each member."""
    return await service.read(calls.cluster, name, evidence=evidence)


@router.get("/v1/search", **_reads(SearchResult))
async def search(
    service: Served,
    q: Annotated[str, Query(min_length=1, max_length=10_000)],
    limit: Limit = 10,
    offset: Annotated[int, Query(ge=0)] = 0,
    *,
    collapse: bool = True,
) -> Response:
    """Full-text search in stored pages, one hit per cluster unless `collapse` is false; `total_groups` is null where more than 10,000 documents match."""
    service.prepare_search()
    return await service.read(IndexReader.search, q, limit=limit, offset=offset, collapse=collapse)


@router.get("/v1/overrides", **_reads(answers.Overrides))
async def overrides(
    service: Served, *, undone: Annotated[bool, Query(description="also those that were undone")] = False
) -> Response:
    """Decisions of people that go before the rules, by time."""
    return await service.read(calls.overrides, undone=undone)


@router.post("/v1/overrides", **_writes(OverrideReport, bodies.OverrideBody))
async def override(service: Served, body: JsonBody) -> Response:
    """Decide that two pages are never or always in one cluster, or which page stands for its cluster; clusters follow at once."""
    return Json(await service.write(calls.override, body, *service.where))


@router.post("/v1/overrides/{override_id}/undo", **_writes(OverrideReport, bodies.UndoBody))
async def undo_override(service: Served, override_id: str, body: JsonBody) -> Response:
    """End an override; it stays in the record."""
    return Json(await service.write(calls.undo_override, override_id, body, *service.where))


@router.get("/v1/jobs", **_reads(answers.Jobs))
def jobs(service: Served) -> Response:
    """Jobs with progress, the newest first."""
    return Json({"jobs": service.jobs.listed()})


@router.post("/v1/jobs", **_writes(JobStatus, bodies.JobBody))
async def start_job(service: Served, body: JsonBody) -> Response:
    """Begin a job: `recluster`, or `backfill` of attached indices on Elasticsearch."""
    return Json(await service.start_job(body))


@router.get("/v1/jobs/{job_id}", **_reads(JobStatus))
def job(service: Served, job_id: str) -> Response:
    """One job."""
    return Json(service.jobs.one(job_id))


@router.post("/v1/jobs/{job_id}/{action}", **_writes(JobStatus))
def change_job(service: Served, job_id: str, action: Literal["pause", "resume", "cancel"]) -> Response:
    """Pause, resume or cancel a job on attached indices."""
    return Json(service.jobs.change(job_id, action))


@router.get("/", include_in_schema=False)
async def root() -> Response:
    """To the console."""
    return RedirectResponse(ROOT)


@router.get("/healthz", response_model=answers.Status)
async def healthy() -> Response:
    """Whether the server runs; needs no token."""
    return Json({"status": "ok"})


@router.get("/readyz", response_model=answers.Status)
async def ready(service: Served) -> Response:
    """Whether the index is read and answers; needs no token."""
    service.require_ready()
    await service.workers.read(IndexReader.count)
    return Json({"status": "ok"})


@router.get("/metrics", response_class=PlainTextResponse, **_reads(None))
def metrics(service: Served) -> Response:
    """Figures for Prometheus."""
    return Response(service.metrics.text(), media_type=MEDIA_TYPE)
