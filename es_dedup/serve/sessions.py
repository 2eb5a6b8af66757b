"""What the server remembers of browsers until it ends: who has signed in, and which pairs are reviewed."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from es_dedup.model.annotations import just_now
from es_dedup.views import review

if TYPE_CHECKING:
    from es_dedup.evaluation.labels import Pair
    from es_dedup.serve.tokens import Scope
    from es_dedup.serve.workers import Workers

SESSION_SECONDS: Final = 43_200.0
MOST_SESSIONS: Final = 1_000
MOST_READERS: Final = 1_000
"""Readers whose skipped pairs are remembered."""
MOST_SKIPPED: Final = 1_000
"""Skipped pairs of one reader."""


class Sessions:
    """Who has signed in: the scope of their token by the value of a cookie; lost when the server ends."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Scope, float]] = OrderedDict()

    def begin(self, scope: Scope) -> str:
        """The cookie of a new session."""
        name = secrets.token_urlsafe(32)
        self._known[name] = scope, time.monotonic() + SESSION_SECONDS
        if len(self._known) > MOST_SESSIONS:
            self._known.popitem(last=False)
        return name

    def scope_of(self, name: str) -> Scope | None:
        """The scope of a session; None where there is none any more."""
        scope, end = self._known.get(name, (None, 0.0))
        return scope if end > time.monotonic() else None

    def end(self, name: str) -> None:
        """Forget a session."""
        self._known.pop(name, None)


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
