"""The console's routes for reviewing pairs."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from es_dedup.console import review
from es_dedup.console.frame import ROOT, path
from es_dedup.serve import calls
from es_dedup.serve.bodies import ReviewBody
from es_dedup.serve.console import SEE_OTHER, Seen, first, shown, writes, written

if TYPE_CHECKING:
    from es_dedup.evaluation.labels import Pair
    from es_dedup.serve.workers import Workers

MOST_READERS: Final = 1_000
"""Readers whose skipped pairs and last answers are remembered."""
MOST_ANSWERS: Final = 1_000
"""Answers of one reader that can be undone."""


class Reviews:
    """The queue of pairs, and what readers have answered since the server was started, for undoing it."""

    def __init__(self) -> None:
        self._seed = 1
        self._queue: list[Pair] | None = None
        self._answers: OrderedDict[str, list[tuple[Pair, str, str]]] = OrderedDict()
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
        return frozenset(pair for pair, answer, _ in self._answers.get(reader, ()) if answer == review.SKIP)

    def answered(self, reader: str, pair: Pair, answer: str, override: str = "") -> None:
        """Note an answer, and the id of the override that was made with it."""
        known = self._answers.setdefault(reader, [])
        known.append((pair, answer, override))
        del known[:-MOST_ANSWERS]
        if len(self._answers) > MOST_READERS:
            self._answers.popitem(last=False)

    def last(self, reader: str) -> tuple[Pair, str, str] | None:
        """Take the last answer of a reader from the notes: pair, answer, override."""
        known = self._answers.get(reader)
        return known.pop() if known else None


router = APIRouter(prefix=ROOT, include_in_schema=False, dependencies=Seen)


@router.get("/review")
async def ask(
    request: Request, reader: str = "", left: str = "", right: str = "", *, second: bool = False
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
        last = service.reviews.last(name)
        if last is None:
            return _next(given)
        pair, before, override = last
        if before != review.SKIP:
            asked = pair, name, override, service.place, service.settings
            await service.write(request, None, b"", calls.undo_review, *asked)
        return _next(given, left=pair[0], right=pair[1])
    names = ("left", "right", "reader", "answer", "reason")
    body = ReviewBody.read(
        calls.as_json({each: first(given, each) for each in names} | {"override": "override" in given})
    )
    override = ""
    if said != review.SKIP:
        done = await service.write(request, None, b"", calls.review, body, service.place, service.settings)
        override = json.loads(done.body)["override"]
    service.reviews.answered(name, (body.left, body.right), said, override)
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
