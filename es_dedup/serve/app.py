"""The routes of the REST API."""

from __future__ import annotations

import asyncio
import json
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, StreamingResponse
from fastapi.security import HTTPBearer
from pydantic.json_schema import models_json_schema

from es_dedup import __version__
from es_dedup.console.frame import ROOT
from es_dedup.errors import DedupError
from es_dedup.maintenance.status import JobStatus
from es_dedup.model import RemoveReport, SearchResult, WritePolicy
from es_dedup.model.batches import chunked
from es_dedup.model.overrides import OverrideReport
from es_dedup.serve import (
    answers,
    bodies,
    calls,
    console,
    console_jobs,
    console_review,
    console_tune,
    problems,
)
from es_dedup.serve.bodies import JSON, NDJSON, JobBody, lines_of
from es_dedup.serve.cluster_queries import Listed  # noqa: TC001 - FastAPI reads it
from es_dedup.serve.idempotency import MAX_KEY_CHARS, IdempotencyKeys
from es_dedup.serve.jobs import Jobs, id_suffix
from es_dedup.serve.metrics import MEDIA_TYPE, Metrics
from es_dedup.serve.tokens import Scope, Tokens
from es_dedup.serve.watched import Watched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from concurrent.futures import Future

    from pydantic import BaseModel

    from es_dedup.serve.workers import Workers
    from es_dedup.settings import Settings

LINES_AT_A_TIME: Final = 32
"""Lines of a checked NDJSON body that one process works on together."""
MAX_LISTED: Final = 1000
"""Clusters or hits of one answer."""
_OWN_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Service:
    """What the routes work with: an index, its jobs, and who may use it.

    Args:
        place: file or address of the index.
        settings: all settings.
        workers: on the index.
        tokens: who may do what; None: whoever reaches the server.
    """

    def __init__(self, place: str, settings: Settings, workers: Workers, tokens: Tokens | None) -> None:
        self.where, self.limits = (place, settings), settings.serve
        self.workers, self.tokens = workers, tokens
        self.jobs, self.idempotency = Jobs(place, settings, workers), IdempotencyKeys(workers)
        self.metrics = Metrics(workers, place, settings)
        self.sessions, self.reviews = console.Sessions(), console_review.Reviews()
        self._preparing: Future[None] | None = None

    def close(self) -> None:
        """Finish what was accepted and let go of the index."""
        self.jobs.close()
        self.workers.close()

    @staticmethod
    def own_host(request: Request) -> None:
        """Refuse a site whose name was made to lead here.

        Raises:
            ForeignHost: the request names another host than this machine.
        """
        host = request.headers.get("host", "").rpartition(":")
        if not {host[0], "".join(host)} & _OWN_HOSTS:
            raise problems.ForeignHost

    async def body_of(self, request: Request, *kinds: str) -> bytes:
        """The body of a request.

        Raises:
            WrongMediaType: it is none of the kinds; also keeps forms of other sites out, whose kinds browsers send unasked.
            BodyTooLarge, BodySlow, ClientGone: see there.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if encoding := request.headers.get("content-encoding", ""):
            kind += f" in {encoding}"
        if kind not in kinds:
            raise problems.WrongMediaType(kind, " or ".join(kinds))
        limit, parts, size, more = self.limits.max_body_bytes, [], 0, True
        if int(request.headers.get("content-length") or 0) > limit:
            raise problems.BodyTooLarge(limit)
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while more:
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise problems.ClientGone
                    parts.append(message.get("body", b""))
                    size, more = size + len(parts[-1]), message.get("more_body", False)
                    if size > limit:
                        raise problems.BodyTooLarge(limit)
        except TimeoutError:
            raise problems.BodySlow(self.limits.body_seconds) from None
        return b"".join(parts).removeprefix(BOM_UTF8)

    async def read(self, call: Callable[..., bytes], *arguments: Any) -> Response:
        """The answer of a call that reads."""
        return _json(await self.workers.read(call, *arguments))

    async def write(
        self, request: Request, key: str | None, body: bytes, call: Callable[..., bytes], *arguments: Any
    ) -> Response:
        """The answer of a call that writes, done once for each ``Idempotency-Key``."""
        # Without the host: a server may have another address when it is started again.
        address = f"{request.url.path}?{request.url.query}".encode()
        same = (request.method.encode(), address, body)
        work = self.idempotency.once(key, same, lambda: self.workers.write(call, *arguments))
        answer = _json(await self.workers.in_time(work))
        self.prepare_search()
        return answer

    async def search(self, call: Callable[..., bytes], *arguments: Any) -> bytes:
        """The answer of a call that searches texts, of those that are in the full-text index."""
        self.prepare_search()
        return await self.workers.read(call, *arguments)

    def prepare_search(self) -> None:
        """Begin to add new texts to the full-text index; ends early when somebody wants to write."""
        if self._preparing is None or self._preparing.done():
            self._preparing = self.workers.submit(
                calls.prepare_search, self.workers.writer, self.workers.busy
            )

    async def in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What a call returns that waits for storage."""
        return await asyncio.to_thread(call, *arguments)


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
            service.own_host(request)
        else:
            found = service.tokens.scope_of(request.headers.get("authorization", ""))
            if found is None:
                raise problems.NoToken
            if self._scope is Scope.WRITE and found is not Scope.WRITE:
                raise problems.NotAllowed
        known = _parameters(request.scope["route"].dependant)
        for name, _ in request.query_params.multi_items():
            if name not in known:
                raise problems.InvalidQuery(f"{name}: unknown, or given twice")
            known.remove(name)


def _parameters(dependant: Any) -> set[str]:
    """Names of what a route takes behind the question mark."""
    return {each.alias for each in dependant.query_params}.union(*map(_parameters, dependant.dependencies))


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="a request that is repeated with the same key is done once and gets the same answer",
        json_schema_extra={"minLength": 1, "maxLength": MAX_KEY_CHARS},
    ),
]


async def _json_body(request: Request, service: Served) -> bytes:
    return await service.body_of(request, JSON)


async def _lines_or_json(request: Request, service: Served) -> tuple[bytes, bool]:
    """The body, and whether it is NDJSON."""
    body = await service.body_of(request, JSON, NDJSON)
    return body, request.headers["content-type"].lower().startswith(NDJSON)


async def _write(request: Request, service: Served, key: Key = None) -> Callable[..., Awaitable[Response]]:
    return partial(service.write, request, key)


Json = Annotated[bytes, Depends(_json_body)]
LinesOrJson = Annotated[tuple[bytes, bool], Depends(_lines_or_json)]
Write = Annotated[Callable[..., Awaitable[Response]], Depends(_write)]
"""``Service.write`` for a request and its key."""
Policy = Annotated[WritePolicy, Query(description="what is done with duplicates of stored pages")]
Limit = Annotated[int, Query(ge=1, le=MAX_LISTED)]
_REF: Final = "#/components/schemas/{model}"
_PROBLEM: Final = {problems.MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
router = APIRouter(
    responses={
        "4XX": {"description": "Refused", "content": _PROBLEM},
        "5XX": {"description": "Failed", "content": _PROBLEM},
    }
)


def _route(
    scope: Scope, answer: Any, body: type[BaseModel] | None = None, line: type[BaseModel] | None = None
) -> dict[str, Any]:
    """Arguments of a route.

    Args:
        scope: what the token must allow.
        answer: the type of its answer.
        body: the type of its body, which the route reads by itself; None: there is none.
        line: the type of a line of the body in NDJSON; None: it must be JSON.
    """
    content: dict[str, Any] = {}
    if body is not None:
        content[JSON] = {"schema": {"$ref": _REF.format(model=body.__name__)}}
    if line is not None:
        content[NDJSON] = {"schema": {"type": "string", "description": f"a {line.__name__} a line"}}
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


@router.post("/v1/check", **_reads(answers.Decision, bodies.PageBody, bodies.PageBody), responses=_LINES)
async def check(service: Served, sent: LinesOrJson) -> Response:
    """Decide whether a page is stored already; nothing is written. NDJSON is answered line by line."""
    body, is_lines = sent
    if not is_lines:
        return await service.read(calls.check, body)
    found = service.workers.stream(calls.check_lines, chunked(lines_of(body), LINES_AT_A_TIME))
    first = await anext(found, b"")  # what is refused as a whole has its status

    async def all_lines() -> AsyncIterator[bytes]:
        yield first
        async for some in found:
            yield some

    return StreamingResponse(all_lines(), media_type=NDJSON)


@router.post("/v1/pages", **_writes(answers.Report, bodies.PageBody, bodies.PageBody))
async def add(write: Write, sent: LinesOrJson, policy: Policy = WritePolicy.MARK) -> Response:
    """Store one page or, in NDJSON, several, and say what they are; a page of a known id replaces that one."""
    body, is_lines = sent
    return await write(body, calls.add_lines if is_lines else calls.add_page, body, policy)


@router.put("/v1/pages/{page_id:path}", **_writes(answers.Report, bodies.PageBody))
async def put(write: Write, page_id: str, body: Json, policy: Policy = WritePolicy.MARK) -> Response:
    """Store a page under an id, or replace it. Slashes of the id may be percent-encoded or not."""
    return await write(body, calls.add_page, body, policy, page_id)


@router.get("/v1/pages/{page_id:path}", **_reads(answers.Stored))
async def stored(service: Served, page_id: str) -> Response:
    """What is stored of a page."""
    return await service.read(calls.page, page_id)


@router.delete("/v1/pages/{page_id:path}", **_writes(RemoveReport))
async def remove(write: Write, page_id: str) -> Response:
    """Remove a page and repair its cluster."""
    return await write(b"", calls.remove_page, page_id)


@router.post("/v1/explain", **_reads(answers.Pair, bodies.ExplainBody))
async def explain(service: Served, body: Json) -> Response:
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
    return await service.read(calls.cluster, name, evidence)


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
    return _json(await service.search(calls.search, q, limit, offset, collapse))


@router.get("/v1/overrides", **_reads(answers.Overrides))
async def overrides(
    service: Served, *, undone: Annotated[bool, Query(description="also those that were undone")] = False
) -> Response:
    """Decisions of people that go before the rules, by time."""
    return await service.read(calls.overrides, undone)


@router.post("/v1/overrides", **_writes(OverrideReport, bodies.OverrideBody))
async def override(write: Write, service: Served, body: Json) -> Response:
    """Decide that two pages are never or always in one cluster, or which page stands for its cluster; clusters follow at once."""
    return await write(body, calls.override, body, *service.where)


@router.post("/v1/overrides/{override_id}/undo", **_writes(OverrideReport, bodies.UndoBody))
async def undo_override(write: Write, service: Served, override_id: str, body: Json) -> Response:
    """End an override; it stays in the record."""
    return await write(body, calls.undo_override, override_id, body, *service.where)


@router.get("/v1/labels", **_reads(answers.Labels), responses=_LINES)
async def labels(request: Request, service: Served) -> Response:
    """What readers said of pairs of pages, by time. `Accept: application/x-ndjson` gives lines that can be imported, with labels taken back."""
    lines = NDJSON in request.headers.get("accept", "").lower()
    body = await service.workers.read(calls.labels, lines)
    return Response(body, media_type=NDJSON if lines else JSON)


@router.post(
    "/v1/labels",
    **_writes(answers.LabelRecord | answers.LabelsImported, bodies.LabelBody, answers.LabelRecord),
)
async def label(write: Write, sent: LinesOrJson) -> Response:
    """Keep what a reader says of two stored pages, in place of what the same reader said before; in NDJSON, import labels with their times."""
    body, is_lines = sent
    return await write(body, calls.import_labels if is_lines else calls.add_label, body)


@router.delete("/v1/labels", **_writes(answers.LabelsRemoved))
async def remove_label(write: Write, id_a: str, id_b: str, reader: str) -> Response:
    """Take back what a reader said of two pages; it stays in the record."""
    return await write(b"", calls.remove_label, id_a, id_b, reader)


@router.get("/v1/jobs", **_reads(answers.Jobs))
async def jobs(service: Served) -> Response:
    """Jobs with progress, the newest first."""
    return _json(calls.as_json({"jobs": await service.in_thread(service.jobs.listed)}))


@router.post("/v1/jobs", **_writes(JobStatus, JobBody))
async def start_job(service: Served, body: Json, key: Key = None) -> Response:
    """Begin a job: `recluster`, or `backfill` of attached indices on Elasticsearch."""
    asked, suffix = JobBody.read(body), id_suffix(key, body) if key else ""

    async def begun() -> bytes:
        return calls.as_json(await service.in_thread(service.jobs.start, asked, suffix))

    # The same request finds the job by its suffix; to keep the answer, as of other writes, would take as long as the job.
    work = service.idempotency.once(key, (b"job", body), begun, keep=False)
    return _json(await service.workers.in_time(work))


@router.get("/v1/jobs/{job_id}", **_reads(JobStatus))
async def job(service: Served, job_id: str) -> Response:
    """One job."""
    return _json(calls.as_json(await service.in_thread(service.jobs.one, job_id)))


@router.post("/v1/jobs/{job_id}/{action}", **_writes(JobStatus))
async def change_job(service: Served, job_id: str, action: Literal["pause", "resume", "cancel"]) -> Response:
    """Pause, resume or cancel a job on attached indices."""
    return _json(calls.as_json(await service.in_thread(service.jobs.change, job_id, action)))


@router.get("/", include_in_schema=False)
async def root() -> Response:
    """To the console."""
    return RedirectResponse(ROOT)


@router.get("/healthz", response_model=answers.Status)
async def healthy() -> Response:
    """Whether the server runs; needs no token."""
    return _json(b'{"status": "ok"}')


@router.get("/readyz", response_model=answers.Status)
async def ready(service: Served) -> Response:
    """Whether the index answers; needs no token."""
    await service.workers.read(calls.count)
    return _json(b'{"status": "ok"}')


@router.get("/metrics", **_reads(None))
async def metrics(service: Served) -> Response:
    """Figures for Prometheus."""
    return Response(await service.in_thread(service.metrics.text), media_type=MEDIA_TYPE)


ROUTERS: Final = (router, console.router, console_jobs.router, console_review.router, console_tune.router)


class Application(FastAPI):
    """FastAPI with a document that has the bodies, which routes read by themselves, problems, and an example of each."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            models: Any = [(model, "validation") for model in (*bodies.SENT, answers.Problem)]
            schemas |= models_json_schema(models, ref_template=_REF)[1]["$defs"]
            examples = resources.files(__package__).joinpath("examples.json").read_text("utf-8")
            for name, example in json.loads(examples).items():
                schemas[name]["example"] = example
        return super().openapi()


def create_app(service: Service) -> Watched:
    """The application, as ASGI has it; who calls it closes the service."""

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        await service.workers.readers.connect()
        service.prepare_search()
        yield
        service.workers.readers.disconnect()

    app = Application(
        lifespan=running,
        title="es-dedup",
        version=__version__,
        summary="Near-duplicate web pages",
        docs_url=None,  # these pages would fetch scripts of others
        redoc_url=None,
    )
    app.state.service = service
    for each in ROUTERS:
        app.include_router(each)
    app.add_exception_handler(console.SignIn, console.to_sign_in)
    for refused in (DedupError, RequestValidationError, 404, 405):
        app.add_exception_handler(refused, _refused)
    return Watched(app, service.metrics, _problem)


async def _refused(request: Request, error: Exception) -> Response:
    """The answer to an error: a page to browsers in the console, else a problem."""
    found = _as_ours(request, error)
    if request.url.path == ROOT or request.url.path.startswith(f"{ROOT}/"):
        answer = console.problem(request, found, problems.problem_of(found)["status"])
        answer.headers.update(problems.headers_of(found))
        return answer
    return _problem(found)


def _as_ours(request: Request, error: Exception) -> DedupError:
    """The error of this package for one of the framework."""
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return problems.InvalidQuery(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    status = getattr(error, "status_code", None)
    if status == problems.NoSuchRoute.status:
        return problems.NoSuchRoute(request.url.path)
    if status == problems.WrongMethod.status:
        return problems.WrongMethod(request.method, request.url.path, _methods(request.url.path))
    return problems.as_problem(error)


def _methods(path: str) -> str:
    """What an address takes; of the other routes only the first that matches would be named."""
    routes: Any = (each for some in ROUTERS for each in some.routes)
    found = {method for each in routes if each.path_regex.match(path) for method in each.methods}
    allowed = ", ".join(sorted(found)) or "GET"  # no route of ours: /openapi.json
    return allowed.replace("GET", "GET, HEAD")


def _problem(error: DedupError) -> Response:
    found = problems.problem_of(error)
    return Response(
        calls.as_json(found), found["status"], problems.headers_of(error), media_type=problems.MEDIA_TYPE
    )


def _json(body: bytes) -> Response:
    return Response(body, media_type=JSON)
