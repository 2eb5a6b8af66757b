"""The console's routes for reviewing pairs."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from es_dedup.batch.journal import MAX_CHARS
from es_dedup.console import review
from es_dedup.console.frame import ROOT, path
from es_dedup.model.annotations import just_now
from es_dedup.serve import calls
from es_dedup.serve.bodies import ReviewBody
from es_dedup.serve.console import SEE_OTHER, Seen, first, shown, writes, written

if TYPE_CHECKING:
    from es_dedup.evaluation.labels import Pair
    from es_dedup.serve.workers import Workers

MOST_READERS: Final = 1_000
"""Readers whose skipped pairs are remembered."""
MOST_SKIPPED: Final = 1_000
"""Skipped pairs of one reader."""


class Reviews:
    """The queue of pairs, and what readers have skipped since the server was started; their labels are in the index."""

    def __init__(self) -> None:
        self._seed = 1
        self._queue: list[Pair] | None = None
        self._skipped: OrderedDict[str, list[tuple[Pair, str]]] = OrderedDict()
        self._drawing = asyncio.Lock()

    async def queue(self, workers: Workers) -> list[Pair]:
        """Pairs to ask, drawn when they are first wanted."""
        async with self._drawing:
            if self._queue is None:
                drawn = json.loads(await workers.read(review.draw, self._seed))
                self._queue = [(left, right) for left, right in drawn]
            return self._queue

    def draw_again(self) -> None:
        """Draw other pairs when they are next wanted."""
        self._seed += 1
        self._queue = None

    def skipped(self, reader: str) -> frozenset[Pair]:
        """Pairs that a reader has skipped."""
        return frozenset(pair for pair, _ in self._skipped.get(reader, ()))

    def skip(self, reader: str, pair: Pair) -> None:
        """Do not ask a reader about a pair any more."""
        known = self._skipped.setdefault(reader, [])
        known.append((pair, just_now()))
        del known[:-MOST_SKIPPED]
        if len(self._skipped) > MOST_READERS:
            self._skipped.popitem(last=False)

    def last_skip(self, reader: str) -> str:
        """When a reader last skipped a pair; empty where nothing was skipped."""
        known = self._skipped.get(reader)
        return known[-1][1] if known else ""

    def unskip(self, reader: str) -> Pair | None:
        """Ask about the pair again that a reader skipped last; None where nothing was skipped."""
        known = self._skipped.get(reader)
        return known.pop()[0] if known else None


router = APIRouter(prefix=ROOT, include_in_schema=False, dependencies=Seen)


@router.get("/review")
async def ask(
    request: Request,
    reader: Annotated[str, Query(max_length=MAX_CHARS)] = "",
    left: str = "",
    right: str = "",
    *,
    second: bool = False,
) -> Response:
    """The next pair for a reader; without one, who has labelled what."""
    if not reader.strip() or not writes(request):
        return await shown(request, review.begin, writes(request))
    service = request.app.state.service
    queue = await service.reviews.queue(service.workers)
    wanted = (left, right) if left and right else None
    skipped = service.reviews.skipped(reader)
    return await shown(request, review.ask, reader, second, queue, skipped, wanted)


@router.post("/review")
async def answer(request: Request) -> Response:
    """Keep an answer, or undo the last one, and go on."""
    given = await written(request)
    service, said, name = request.app.state.service, first(given, "answer"), first(given, "reader")
    if said == review.UNDO:
        since = service.reviews.last_skip(name)
        done = await service.write(request, None, b"", calls.undo_review, name, since, *service.where)
        pair = json.loads(done.body)["pair"] or service.reviews.unskip(name)
        return _next(given, left=pair[0], right=pair[1]) if pair else _next(given)
    names = ("left", "right", "reader", "answer", "reason")
    body = ReviewBody.read(
        calls.as_json({each: first(given, each) for each in names} | {"override": "override" in given})
    )
    if said == review.SKIP:
        service.reviews.skip(name, (body.left, body.right))
    else:
        await service.write(request, None, b"", calls.review, body, *service.where)
    return _next(given)


@router.post("/review/draw")
async def draw(request: Request) -> Response:
    """Draw other pairs."""
    given = await written(request)
    request.app.state.service.reviews.draw_again()
    return _next(given)


@router.get("/review/labels.jsonl")
async def labels(request: Request) -> Response:
    """All labels, to be saved as a file."""
    service = request.app.state.service
    body = await service.workers.read(review.labels)
    headers = {"Content-Disposition": 'attachment; filename="labels.jsonl"'}
    return Response(body, 200, headers, "application/x-ndjson")


def _next(given: dict[str, list[str]], **pair: Any) -> Response:
    address = path("review", reader=first(given, "reader"), second=first(given, "second"), **pair)
    return RedirectResponse(address, SEE_OTHER)
