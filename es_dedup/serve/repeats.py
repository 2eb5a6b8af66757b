"""``Idempotency-Key``: a write that is sent again gets the answer of the first time."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from es_dedup.serve.problems import InvalidQuery, KeyReused

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

MOST_KEYS: Final = 10_000
MOST_SECONDS: Final = 86_400.0
MAX_KEY_CHARS: Final = 255


class Repeats:
    """Answers by key, for a day, of the newest requests; they are lost when the server ends.

    Answers that tell to try again are not kept.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[bytes, float, asyncio.Task[bytes]]] = OrderedDict()

    async def once(
        self, key: str | None, request: tuple[bytes, ...], work: Callable[[], Coroutine[None, None, bytes]]
    ) -> bytes:
        """The answer of ``work``, which is not called where the key is known; of requests at the same time one works.

        Args:
            key: what the client sent; None: it sent none.
            request: what must be the same for the same key: method, address, body.
            work: makes the answer; goes on when the client has gone.

        Raises:
            KeyReused: the key came with another request.
            InvalidQuery: it is too long.
        """
        if key is None:
            return await work()
        if not 0 < len(key) <= MAX_KEY_CHARS:
            raise InvalidQuery(f"an Idempotency-Key has 1 to {MAX_KEY_CHARS} characters")
        digest = sha256(b"\0".join(sha256(part).digest() for part in request)).digest()
        self._forget()
        if key not in self._known:
            task = asyncio.ensure_future(work())
            self._known[key] = (digest, time.monotonic(), task)
            task.add_done_callback(lambda done: self._ended(key, done))
        known, _, task = self._known[key]
        if known != digest:
            raise KeyReused
        return await asyncio.shield(task)

    def _ended(self, key: str, task: asyncio.Task[bytes]) -> None:
        """Forget what failed in a way that may succeed next time."""
        error = None if task.cancelled() else task.exception()
        failed = task.cancelled() or (error is not None and getattr(error, "retryable", True))
        if failed and key in self._known and self._known[key][2] is task:
            del self._known[key]

    def _forget(self) -> None:
        """Leave out what is old, and the oldest of too many."""
        oldest = time.monotonic() - MOST_SECONDS
        while self._known and (len(self._known) >= MOST_KEYS or next(iter(self._known.values()))[1] < oldest):
            self._known.popitem(last=False)
