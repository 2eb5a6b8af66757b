"""The console's routes for reviewing pairs."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from es_dedup.batch.journal import MAX_CHARS
from es_dedup.serve import calls
from es_dedup.serve.bodies import ReviewBody
from es_dedup.serve.browsers import SignedIn, Written, see
from es_dedup.views import review
from es_dedup.views.frame import ROOT

router = APIRouter(prefix=ROOT, include_in_schema=False)


@router.get("/review")
async def ask(
    visit: SignedIn,
    reader: Annotated[str, Query(max_length=MAX_CHARS)] = "",
    left: str = "",
    right: str = "",
    *,
    second: bool = False,
) -> Response:
    """The next pair for a reader; without one, who has labelled what."""
    if not reader.strip() or not visit.writes:
        return await visit.show(review.begin)
    reviews = visit.service.reviews
    queue = await reviews.queue(visit.service.workers)
    wanted = (left, right) if left and right else None
    return await visit.show(review.ask, reader, second, queue, reviews.skipped(reader), wanted)


@router.post("/review")
async def answer(visit: SignedIn, form: Written) -> Response:
    """Keep an answer, or undo the last one, and go on."""
    reviews, reader = visit.service.reviews, form.get("reader", "")
    if form.get("answer") == review.UNDO:
        undone = await visit.write(calls.undo_review, reader, reviews.last_skip(reader))
        pair = json.loads(undone) or reviews.unskip(reader)
        return _next(form, left=pair[0], right=pair[1]) if pair else _next(form)
    names = ("left", "right", "reader", "answer", "reason")
    given = {name: form.get(name, "") for name in names}
    asked = ReviewBody.read({**given, "override": "override" in form})
    if asked.answer == review.SKIP:
        reviews.skip(reader, (asked.left, asked.right))
    else:
        await visit.write(calls.review, asked)
    return visit.remember(_next(form), reader)


@router.post("/review/draw")
async def draw(visit: SignedIn, form: Written) -> Response:
    """Draw other pairs."""
    visit.service.reviews.draw_again()
    return _next(form)


@router.get("/review/labels.jsonl")
async def labels(visit: SignedIn) -> Response:
    """All labels, to be saved as a file."""
    body = await visit.service.workers.read(review.labels)
    headers = {"Content-Disposition": 'attachment; filename="labels.jsonl"'}
    return Response(body, 200, headers, "application/x-ndjson")


def _next(form: Written, **pair: Any) -> Response:
    return see("review", reader=form.get("reader", ""), second=form.get("second", ""), **pair)
