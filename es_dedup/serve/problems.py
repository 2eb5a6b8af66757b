"""Errors as ``application/problem+json`` (RFC 9457): each with its status and what to do next."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, Final

from es_dedup import errors
from es_dedup.errors import DedupError
from es_dedup.model.plain import plain_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE: Final = "application/problem+json"
_RETRYABLE: Final = frozenset(map(HTTPStatus, (408, 429, 503, 504)))
RETRY_SECONDS: Final = 2
"""Advised in ``Retry-After`` of errors after which the same request may succeed."""


class RequestError(DedupError):
    """A request that the server refuses by itself, with a status; some may succeed later."""

    status: ClassVar[HTTPStatus]

    def __init_subclass__(cls, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        cls.status = status
        super().__init_subclass__(retryable=status in _RETRYABLE)


class NoToken(RequestError, status=HTTPStatus.UNAUTHORIZED):
    """The request names no valid token."""

    message = (
        "send a token of this server as `Authorization: Bearer TOKEN`; `es-dedup serve` says where they are"
    )


class NotAllowed(RequestError, status=HTTPStatus.FORBIDDEN):
    """The token is for reading only."""

    message = "this request writes and the token is for reading: send the token for writing"


class ForeignHost(RequestError, status=HTTPStatus.FORBIDDEN):
    """Without tokens only requests that name this machine are answered."""

    message = "no token is required here, so that the host of a request must be localhost, 127.0.0.1 or [::1]"


class ForeignOrigin(RequestError, status=HTTPStatus.FORBIDDEN):
    """A form comes from another site."""

    origin: str
    host: str
    message = (
        "the form is of {origin!r} and was sent to {host!r}: open the console under the address of this server; "
        "a proxy before it must pass on the header Host"
    )


class InvalidBody(RequestError):
    """A body that is not what the route takes."""

    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"the body is not as /openapi.json describes it: {'; '.join(self.problems)}"


class InvalidQuery(RequestError):
    """A parameter of the address is wrong."""

    problem: str
    message = "{problem}: see /openapi.json"


class RepeatedAuthorization(RequestError):
    """Who has sent the request is ambiguous."""

    message = "the header Authorization came more than once, and a proxy may read another one: send it once"


class WrongMediaType(RequestError, status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE):
    """The body is of another kind than the route takes."""

    given: str
    taken: str
    message = "a body of type {given!r} is not taken here: send {taken}"


class BodyTooLarge(RequestError, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
    """The body passes the limit."""

    limit: int
    message = (
        "the body is larger than {limit:,} bytes: send fewer pages at a time, or raise serve.max_body_bytes"
    )


class BodySlow(RequestError, status=HTTPStatus.REQUEST_TIMEOUT):
    """The client took too long to send the body."""

    seconds: float
    message = "the body was not complete after {seconds:g} s: send it faster or in parts, or raise serve.body_seconds"


class ClientGone(RequestError):
    """The client closed the connection before its body was complete; nobody reads this."""

    message = "the connection was closed before the body was complete: send it again"


class TooMany(RequestError, status=HTTPStatus.TOO_MANY_REQUESTS):
    """As many requests wait as may."""

    limit: int
    message = "{limit} requests of this kind are waiting: repeat this one later, or raise serve.waiting"


class Slow(RequestError, status=HTTPStatus.GATEWAY_TIMEOUT):
    """There was no answer in time; a write goes on."""

    seconds: float
    message = (
        "no answer within {seconds:g} s; what was to be written may still be: repeat the request, which is safe, "
        "or raise serve.request_seconds"
    )


class Opening(RequestError, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """No process has read the index yet."""

    message = "the server is loading the index: repeat the request"


class ReaderLost(RequestError, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """A process that was to answer has ended."""

    message = "a process that answers requests has ended and is started again: repeat the request"


class NoSuchRoute(RequestError, status=HTTPStatus.NOT_FOUND):
    """Nothing is there."""

    path: str
    message = "there is nothing at {path}: see /openapi.json"


class WrongMethod(RequestError, status=HTTPStatus.METHOD_NOT_ALLOWED):
    """The address does not take this method."""

    method: str
    path: str
    allowed: str
    message = "{path} takes {allowed}, not {method}: see /openapi.json"


class NotOnThisIndex(RequestError, status=HTTPStatus.NOT_IMPLEMENTED):
    """What this index cannot do."""

    what: str
    needs: str
    message = "{what} is not possible here: it needs {needs}"


class Unforeseen(RequestError, status=HTTPStatus.INTERNAL_SERVER_ERROR):
    """An error of the server's own."""

    message = "the server failed; its log has the cause. Repeating the request is safe"


STATUS: Final[Mapping[type[DedupError], HTTPStatus]] = {
    errors.ConfigError: HTTPStatus.BAD_REQUEST,  # names of methods and rules; those of the server are checked at its start
    errors.InputError: HTTPStatus.BAD_REQUEST,
    errors.SearchRefused: HTTPStatus.BAD_REQUEST,
    errors.InvalidOverride: HTTPStatus.BAD_REQUEST,
    errors.InvalidAnnotation: HTTPStatus.BAD_REQUEST,
    errors.UnknownPage: HTTPStatus.NOT_FOUND,
    errors.UnknownOverride: HTTPStatus.NOT_FOUND,
    errors.UnknownJob: HTTPStatus.NOT_FOUND,
    errors.NotAttached: HTTPStatus.NOT_FOUND,
    errors.DuplicatePage: HTTPStatus.CONFLICT,
    errors.OverrideConflict: HTTPStatus.CONFLICT,
    errors.MassChange: HTTPStatus.CONFLICT,
    errors.PreflightFailed: HTTPStatus.CONFLICT,
    errors.SettingsMismatch: HTTPStatus.CONFLICT,
    errors.SourceIncomplete: HTTPStatus.CONFLICT,
    errors.MappingConflict: HTTPStatus.CONFLICT,
    errors.MissingExtra: HTTPStatus.NOT_IMPLEMENTED,
    errors.UnreadableAnswer: HTTPStatus.BAD_GATEWAY,
    errors.IndexRefused: HTTPStatus.BAD_GATEWAY,
    errors.ServerTooOld: HTTPStatus.BAD_GATEWAY,
}
"""Status of the library's errors, by the nearest class; of others 503 where the call may be repeated, else 500."""


def problem_of(error: DedupError) -> dict[str, Any]:
    """The body of an answer: ``type``, ``title``, ``status``, ``detail``, ``retryable`` and the fields of the error."""
    kind = type(error)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__.rstrip("_")).lower()
    title, _, _ = (kind.__doc__ or name).partition(".\n")
    given = plain_fields(error)
    return {
        "type": f"urn:es-dedup:problem:{name}",
        "title": title.partition("\n")[0].rstrip("."),
        "status": int(_status(error)),
        "detail": str(error),
        "retryable": error.retryable,
        **({"fields": given} if given else {}),
    }


def headers_of(error: DedupError) -> dict[str, str]:
    """Headers that an error's answer has beside the usual ones."""
    if isinstance(error, NoToken):
        return {"WWW-Authenticate": 'Bearer realm="es-dedup"'}
    if isinstance(error, WrongMethod):
        return {"Allow": error.allowed}
    return {"Retry-After": str(RETRY_SECONDS)} if error.retryable else {}


def as_problem(error: BaseException) -> DedupError:
    """The error that is answered in place of one that is none of ours: wrong values, or what nobody has foreseen."""
    if isinstance(error, DedupError):
        return error
    return InvalidBody((str(error),)) if isinstance(error, TypeError | ValueError) else Unforeseen()


def _status(error: DedupError) -> HTTPStatus:
    if isinstance(error, RequestError):
        return error.status
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), None)
    return status or (HTTPStatus.SERVICE_UNAVAILABLE if error.retryable else HTTPStatus.INTERNAL_SERVER_ERROR)
