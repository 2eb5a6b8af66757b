"""``Idempotency-Key``: a write that is sent again gets the answer of the first time."""

from __future__ import annotations

import asyncio
import base64
import json
import time
import zlib
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from es_dedup.errors import DedupError, reading_stored
from es_dedup.serve.problems import InvalidQuery, KeyReused

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.serve.workers import Workers

MOST_KEYS: Final = 10_000
MOST_SECONDS: Final = 86_400.0
MAX_KEY_CHARS: Final = 255
MAX_KEPT_BYTES: Final = 1_000_000
"""Packed bytes of an answer that the index keeps; a greater one is lost when the server ends."""
AT_A_TIME: Final = 500
NAME: Final = "answer-{}"


@dataclass(slots=True)
class _Known:
    """A request that came with a key.

    Attributes:
        digest: of the request.
        begun: seconds since 1970.
        slot: number of the note with the answer.
        task: makes the answer, or has it; None where it is in the index alone.
    """

    digest: str
    begun: float
    slot: int
    task: asyncio.Task[bytes] | None = None


class IdempotencyKeys:
    """Answers by key, for a day, of the newest requests. They are kept in the index, so that they outlive the server.

    Answers that tell to try again are not kept. An error is remembered until the server ends: nothing was written then, and
    the same request gets it again.

    Args:
        workers: on the index; what they have kept before is read.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._slot = 0
        for key, known in sorted(self._read(), key=lambda each: each[1].begun):
            self._known[key] = known
            self._slot = known.slot + 1

    def _read(self) -> Iterable[tuple[str, _Known]]:
        for start in range(0, MOST_KEYS, AT_A_TIME):
            names = [NAME.format(slot) for slot in range(start, start + AT_A_TIME)]
            kept = self._workers.writer.kept(names)
            for name, text in kept.items():
                key, digest, begun, _ = _unpacked(text)
                yield key, _Known(digest, begun, int(name.rpartition("-")[2]))
            if not kept:  # slots are used in order
                return

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
        digest = sha256(b"\0".join(sha256(part).digest() for part in request)).hexdigest()
        self._forget()
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known(digest, time.time(), self._slot % MOST_KEYS)
            self._slot += 1
            known.task = asyncio.ensure_future(self._kept(key, known, work))
            known.task.add_done_callback(lambda done: self._ended(key, done))
        if known.digest != digest:
            raise KeyReused
        if known.task is not None:
            return await asyncio.shield(known.task)
        stored = self._workers.submit(_stored, self._workers.writer, known.slot, (key, digest))
        answer: bytes | None = await asyncio.wrap_future(stored)
        if answer is not None:
            return answer
        if self._known.get(key) is known:
            del self._known[key]
        return await self.once(key, request, work)

    async def _kept(self, key: str, known: _Known, work: Callable[[], Coroutine[None, None, bytes]]) -> bytes:
        """The answer of ``work``, which is in the index before anybody gets it."""
        answer = await work()
        packed = base64.b64encode(zlib.compress(answer, 1)).decode()
        if len(packed) <= MAX_KEPT_BYTES:
            text = json.dumps([key, known.digest, known.begun, packed])
            keeping = self._workers.submit(self._workers.writer.keep, NAME.format(known.slot), text)
            with suppress(DedupError):  # it was written all the same
                await asyncio.wrap_future(keeping)
                known.task = None
        return answer

    def _ended(self, key: str, task: asyncio.Task[bytes]) -> None:
        """Forget what failed in a way that may succeed next time."""
        error = None if task.cancelled() else task.exception()
        failed = task.cancelled() or (error is not None and getattr(error, "retryable", True))
        if failed and key in self._known and self._known[key].task is task:
            del self._known[key]

    def _forget(self) -> None:
        """Leave out what is old, and the oldest of too many."""
        oldest = time.time() - MOST_SECONDS
        while self._known and (
            len(self._known) >= MOST_KEYS or next(iter(self._known.values())).begun < oldest
        ):
            self._known.popitem(last=False)


def _stored(writer: Deduplicator, slot: int, asked: tuple[str, str]) -> bytes | None:
    """The answer to the key and the digest that are asked for; None where another server has put its own into the slot."""
    for text in writer.kept([NAME.format(slot)]).values():
        *request, _, answer = _unpacked(text)
        if tuple(request) == asked:
            return zlib.decompress(base64.b64decode(answer))
    return None


def _unpacked(text: str) -> tuple[str, str, float, str]:
    with reading_stored("answers"):
        key, digest, begun, answer = json.loads(text)
        return str(key), str(digest), float(begun), str(answer)
