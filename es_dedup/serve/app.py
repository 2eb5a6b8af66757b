"""The application: all routes, its OpenAPI document, and one answer to all errors."""

from __future__ import annotations

import json
import logging
import time
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic.json_schema import models_json_schema

from es_dedup import __version__
from es_dedup.errors import DedupError
from es_dedup.serve import answers, bodies, browsers, console, problems, routes
from es_dedup.serve.service import Json, Service
from es_dedup.views.frame import ROOT

if TYPE_CHECKING:
    from es_dedup.serve.metrics import Metrics

_LOG: Final = logging.getLogger("es_dedup.serve")
HEADERS: Final = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
"""Headers of every answer that does not have them otherwise."""
ROUTERS: Final = (routes.router, console.router)


class Application(FastAPI):
    """FastAPI whose document has the bodies, which routes read by themselves, problems, an example of each, and sentences as summaries."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        if self.openapi_schema is None:
            document = super().openapi()
            for operations in document["paths"].values():
                for operation in operations.values():
                    operation["summary"] = operation.pop("description")
            schemas = document["components"]["schemas"]
            models: Any = [(model, "validation") for model in (*bodies.SENT, answers.Problem)]
            schemas |= models_json_schema(models, ref_template=routes.REF)[1]["$defs"]
            examples = resources.files(__package__).joinpath("examples.json").read_text("utf-8")
            for name, example in json.loads(examples).items():
                schemas[name]["example"] = example
        return super().openapi()


def create_app(service: Service) -> Watched:
    """The application, as ASGI has it; who calls it closes the service."""
    app = Application(
        title="es-dedup",
        version=__version__,
        summary="Near-duplicate web pages",
        docs_url=None,  # these pages would fetch scripts of others
        redoc_url=None,
        generate_unique_id_function=lambda route: str(route.name),
    )
    app.state.service = service
    for each in ROUTERS:
        app.include_router(each)
    app.add_exception_handler(browsers.SignIn, browsers.to_sign_in)
    for refused in (DedupError, RequestValidationError, 404, 405):
        app.add_exception_handler(refused, _refused)
    return Watched(app, service.metrics)


async def _refused(request: Request, error: Exception) -> Response:
    """The answer to an error: a page to browsers in the console, else a problem."""
    refused = _as_ours(request, error)
    if request.url.path == ROOT or request.url.path.startswith(f"{ROOT}/"):
        answer = console.problem(request, refused, problems.problem_of(refused)["status"])
        answer.headers.update(problems.headers_of(refused))
        return answer
    return _problem(refused)


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
    every: Any = (each for some in ROUTERS for each in some.routes)
    methods = {method for each in every if each.path_regex.match(path) for method in each.methods}
    allowed = ", ".join(sorted(methods)) or "GET"  # no route of ours: /openapi.json
    return allowed.replace("GET", "GET, HEAD")


def _problem(error: DedupError) -> Response:
    problem = problems.problem_of(error)
    return Json(problem, problem["status"], problems.headers_of(error), problems.MEDIA_TYPE)


class Watched:
    """Around the application: headers of each answer, figures, and an answer to what nobody has foreseen."""

    def __init__(self, app: FastAPI, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0
        if scope["method"] == "HEAD":  # the server sends no body then
            scope = {**scope, "method": "GET"}

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                added = [header for header in HEADERS if header[0] not in given]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            wrong = _wrong(scope)
            await (_problem(wrong) if wrong else self._app)(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - logged, and answered where nothing was
            if not status:
                await _problem(problems.as_problem(error))(scope, receive, answer)
            _LOG.exception("%s failed", scope["method"])
        finally:
            route = getattr(scope.get("route"), "path", "")
            self._metrics.observe(scope["method"], route, status, time.perf_counter() - begun)


def _wrong(scope: Any) -> DedupError | None:
    """Why a request is ambiguous; None of one that is not."""
    if sum(name == b"authorization" for name, _ in scope["headers"]) > 1:
        return problems.RepeatedAuthorization()
    try:
        unquote_to_bytes(scope["raw_path"] + b"?" + scope["query_string"]).decode()
    except UnicodeDecodeError:  # else all such bytes would be one character, and different ids one page
        return problems.InvalidQuery("the address is not percent-encoded UTF-8")
    return None
