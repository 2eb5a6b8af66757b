"""The routes of the REST API."""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, FastAPI, Header, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, StreamingResponse
from fastapi.security import HTTPBearer

from es_dedup import __version__
from es_dedup.console.frame import ROOT
from es_dedup.errors import DedupError
from es_dedup.model import WritePolicy
from es_dedup.model.batches import chunked
from es_dedup.serve import calls, console, console_jobs, console_review, console_tune, problems, schemas
from es_dedup.serve.bodies import (
    JSON,
    NDJSON,
    ExplainBody,
    JobBody,
    LabelBody,
    OverrideBody,
    PageBody,
    UndoBody,
    lines_of,
)
from es_dedup.serve.cluster_queries import Listed  # noqa: TC001 - FastAPI reads it
from es_dedup.serve.idempotency import IdempotencyKeys
from es_dedup.serve.jobs import PART_CHARS, Jobs
from es_dedup.serve.metrics import MEDIA_TYPE, Metrics
from es_dedup.serve.tokens import Scope, Tokens
from es_dedup.serve.watched import Watched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from concurrent.futures import Future

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
        self.place, self.settings, self.limits = place, settings, settings.serve
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

    async def write(
        self, request: Request, key: str | None, body: bytes, call: Callable[..., bytes], *arguments: Any
    ) -> Response:
        """The answer of a call that writes, done once for each ``Idempotency-Key``."""
        asked = (
            f"{request.url.path}?{request.url.query}".encode()
        )  # a server may have another address when it is started again
        same = (request.method.encode(), asked, body)
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
        service = _service(request)
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


Reading: Final = [Security(Allowed(Scope.READ))]
Writing: Final = [Security(Allowed(Scope.WRITE))]
Key = Annotated[str | None, Header(alias="Idempotency-Key", include_in_schema=False)]
Policy = Annotated[WritePolicy, Query(description="what is done with duplicates of stored pages")]
Limit = Annotated[int, Query(ge=1, le=MAX_LISTED)]
router = APIRouter()


@router.post(
    "/v1/check",
    dependencies=Reading,
    **schemas.route(schemas.DECISION, body=PageBody, sent=schemas.PAGE, lines=True, answers_lines=True),
)
async def check(request: Request) -> Response:
    """Decide whether a page is stored already; nothing is written. NDJSON is answered line by line."""
    service = _service(request)
    body = await service.body_of(request, JSON, NDJSON)
    if not _is_lines(request):
        return _json(await service.workers.read(calls.check, body))
    answers = service.workers.stream(calls.check_lines, chunked(lines_of(body), LINES_AT_A_TIME))
    first = await anext(answers, b"")  # what is refused as a whole has its status

    async def all_answers() -> Any:
        yield first
        async for part in answers:
            yield part

    return StreamingResponse(all_answers(), media_type=NDJSON)


@router.post(
    "/v1/pages",
    dependencies=Writing,
    **schemas.route(schemas.REPORT, body=PageBody, sent=schemas.PAGE, lines=True, idempotent=True),
)
async def add(request: Request, policy: Policy = WritePolicy.MARK, key: Key = None) -> Response:
    """Store one page or, in NDJSON, several, and say what they are; a page of a known id replaces that one."""
    service = _service(request)
    body = await service.body_of(request, JSON, NDJSON)
    call = calls.add_lines if _is_lines(request) else calls.add_page
    return await service.write(request, key, body, call, body, policy)


@router.put(
    "/v1/pages/{page_id:path}",
    dependencies=Writing,
    **schemas.route(schemas.REPORT, body=PageBody, sent=schemas.PAGE, idempotent=True),
)
async def put(request: Request, page_id: str, policy: Policy = WritePolicy.MARK, key: Key = None) -> Response:
    """Store a page under an id, or replace it. Slashes of the id may be percent-encoded or not."""
    service = _service(request)
    body = await service.body_of(request, JSON)
    return await service.write(request, key, body, calls.add_page, body, policy, page_id)


@router.get("/v1/pages/{page_id:path}", dependencies=Reading, **schemas.route(schemas.STORED))
async def stored(request: Request, page_id: str) -> Response:
    """What is stored of a page."""
    return _json(await _service(request).workers.read(calls.page, page_id))


@router.delete(
    "/v1/pages/{page_id:path}",
    dependencies=Writing,
    **schemas.route({"removed": 1, "unknown": [], "repaired_clusters": 1}, idempotent=True),
)
async def remove(request: Request, page_id: str, key: Key = None) -> Response:
    """Remove a page and repair its cluster."""
    return await _service(request).write(request, key, b"", calls.remove_page, page_id)


@router.post(
    "/v1/explain",
    dependencies=Reading,
    **schemas.route(schemas.PAIR, body=ExplainBody, sent={"left": "a", "right": schemas.PAGE}),
)
async def explain(request: Request) -> Response:
    """The relation of two pages, stored or sent, with all evidence, rules and methods."""
    service = _service(request)
    return _json(await service.workers.read(calls.explain, await service.body_of(request, JSON)))


@router.get("/v1/clusters", dependencies=Reading, **schemas.route(schemas.CLUSTERS))
async def clusters(
    request: Request,
    query: Listed,
    limit: Limit = 50,
    after: Annotated[str | None, Query(description="`next` of the answer before")] = None,
) -> Response:
    """Clusters by filter and order, with their pages."""
    return _json(await _service(request).workers.read(calls.clusters, query, limit, after))


@router.get("/v1/clusters/{name:path}", dependencies=Reading, **schemas.route(schemas.CLUSTER))
async def cluster(request: Request, name: str, *, evidence: bool = False) -> Response:
    """A cluster by its id or by that of a page in it; `evidence` adds the pair decision of each member."""
    return _json(await _service(request).workers.read(calls.cluster, name, evidence))


@router.get("/v1/search", dependencies=Reading, **schemas.route(schemas.HITS))
async def search(
    request: Request,
    q: Annotated[str, Query(min_length=1, max_length=10_000)],
    limit: Limit = 10,
    offset: Annotated[int, Query(ge=0)] = 0,
    *,
    collapse: bool = True,
) -> Response:
    """Full-text search in stored pages, one hit per cluster unless `collapse` is false; `total_groups` is null where more than 10,000 documents match."""
    return _json(await _service(request).search(calls.search, q, limit, offset, collapse))


@router.get("/v1/overrides", dependencies=Reading, **schemas.route(schemas.OVERRIDES))
async def overrides(
    request: Request, *, undone: Annotated[bool, Query(description="also those that were undone")] = False
) -> Response:
    """Decisions of people that go before the rules, by time."""
    return _json(await _service(request).workers.read(calls.overrides, undone))


@router.post(
    "/v1/overrides",
    dependencies=Writing,
    **schemas.route(schemas.OVERRIDDEN, body=OverrideBody, sent=schemas.OVERRIDE, idempotent=True),
)
async def override(request: Request, key: Key = None) -> Response:
    """Decide that two pages are never or always in one cluster, or which page stands for its cluster; clusters follow at once."""
    service = _service(request)
    body = await service.body_of(request, JSON)
    asked, where = OverrideBody.read(body), (service.place, service.settings)
    return await service.write(request, key, body, calls.override, asked, *where)


@router.post(
    "/v1/overrides/{override_id}/undo",
    dependencies=Writing,
    **schemas.route(schemas.OVERRIDDEN, body=UndoBody, sent={"author": "mz"}, idempotent=True),
)
async def undo_override(request: Request, override_id: str, key: Key = None) -> Response:
    """End an override; it stays in the record."""
    service = _service(request)
    body = await service.body_of(request, JSON)
    asked, where = UndoBody.read(body), (service.place, service.settings)
    return await service.write(request, key, body, calls.undo_override, override_id, asked, *where)


@router.get("/v1/labels", dependencies=Reading, **schemas.route(schemas.LABELS, answers_lines=True))
async def labels(request: Request) -> Response:
    """What readers said of pairs of pages, by time. `Accept: application/x-ndjson` gives lines that can be imported, with labels taken back."""
    lines = NDJSON in request.headers.get("accept", "").lower()
    body = await _service(request).workers.read(calls.labels, lines)
    return Response(body, media_type=NDJSON if lines else JSON)


@router.post(
    "/v1/labels",
    dependencies=Writing,
    **schemas.route(schemas.LABEL, body=LabelBody, sent=schemas.LABEL_SENT, lines=True, idempotent=True),
)
async def label(request: Request, key: Key = None) -> Response:
    """Keep what a reader says of two stored pages, in place of what the same reader said before; in NDJSON, import labels with their times."""
    service = _service(request)
    body = await service.body_of(request, JSON, NDJSON)
    call = calls.import_labels if _is_lines(request) else calls.add_label
    return await service.write(request, key, body, call, body)


@router.delete("/v1/labels", dependencies=Writing, **schemas.route({"removed": 1}, idempotent=True))
async def remove_label(request: Request, id_a: str, id_b: str, reader: str, key: Key = None) -> Response:
    """Take back what a reader said of two pages; it stays in the record."""
    return await _service(request).write(request, key, b"", calls.remove_label, id_a, id_b, reader)


@router.get("/v1/jobs", dependencies=Reading, **schemas.route({"jobs": [schemas.JOB]}))
async def jobs(request: Request) -> Response:
    """Jobs with progress, the newest first."""
    service = _service(request)
    return _json(calls.as_json({"jobs": await service.in_thread(service.jobs.listed)}))


@router.post(
    "/v1/jobs",
    dependencies=Writing,
    **schemas.route(schemas.JOB, body=JobBody, sent={"what": "recluster"}, idempotent=True),
)
async def start_job(request: Request, key: Key = None) -> Response:
    """Begin a job: `recluster`, or `backfill` of attached indices on Elasticsearch."""
    service = _service(request)
    body = await service.body_of(request, JSON)
    asked = JobBody.read(body)
    # the same request finds the job by this; to keep the answer as others would wait for the end of the job
    suffix = "".join(sha256(each).hexdigest()[:PART_CHARS] for each in (key.encode(), body)) if key else ""

    async def started() -> bytes:
        return calls.as_json(await service.in_thread(service.jobs.start, asked, suffix))

    work = service.idempotency.once(key, (b"job", body), started, keep=False)
    return _json(await service.workers.in_time(work))


@router.get("/v1/jobs/{job_id}", dependencies=Reading, **schemas.route(schemas.JOB))
async def job(request: Request, job_id: str) -> Response:
    """One job."""
    service = _service(request)
    return _json(calls.as_json(await service.in_thread(service.jobs.one, job_id)))


@router.post("/v1/jobs/{job_id}/{action}", dependencies=Writing, **schemas.route(schemas.JOB))
async def change_job(request: Request, job_id: str, action: Literal["pause", "resume", "cancel"]) -> Response:
    """Pause, resume or cancel a job on attached indices."""
    service = _service(request)
    return _json(calls.as_json(await service.in_thread(service.jobs.change, job_id, action)))


@router.get("/", include_in_schema=False)
async def root() -> Response:
    """To the console."""
    return RedirectResponse(ROOT)


@router.get("/healthz", **schemas.route({"status": "ok"}))
async def healthy() -> Response:
    """Whether the server runs; needs no token."""
    return _json(b'{"status": "ok"}')


@router.get("/readyz", **schemas.route({"status": "ok"}))
async def ready(request: Request) -> Response:
    """Whether the index answers; needs no token."""
    await _service(request).workers.read(calls.count)
    return _json(b'{"status": "ok"}')


@router.get("/metrics", dependencies=Reading)
async def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    return Response(await asyncio.to_thread(_service(request).metrics.text), media_type=MEDIA_TYPE)


ROUTERS: Final = (router, console.router, console_jobs.router, console_review.router, console_tune.router)


def create_app(service: Service) -> Any:
    """The application, as ASGI has it; who calls it closes the service."""

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        await service.workers.readers.connect()
        service.prepare_search()
        yield
        service.workers.readers.disconnect()

    app = FastAPI(
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
    app.add_exception_handler(DedupError, _refused)
    app.add_exception_handler(RequestValidationError, _refused)
    app.add_exception_handler(404, _refused)
    app.add_exception_handler(405, _refused)
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None or "Problem" not in app.openapi_schema["components"]["schemas"]:
            app.openapi_schema = schemas.with_models(described())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
    return Watched(app, service.metrics, _problem)


async def _refused(request: Request, error: Exception) -> Response:
    """The answer to an error: a page to browsers in the console, else a problem."""
    found = _named(request, error)
    if request.url.path == ROOT or request.url.path.startswith(f"{ROOT}/"):
        answer = console.problem(request, found, problems.problem_of(found)["status"])
        answer.headers.update(problems.headers_of(found))
        return answer
    return _problem(found)


def _named(request: Request, error: Exception) -> DedupError:
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


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _json(body: bytes) -> Response:
    return Response(body, media_type=JSON)


def _is_lines(request: Request) -> bool:
    return request.headers["content-type"].lower().startswith(NDJSON)
