"""``Idempotency-Key``: a write that is sent again gets the answer of the first time."""

from __future__ import annotations

import asyncio
import base64
import json
import time
import zlib
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from es_dedup.errors import DedupError, reading_stored
from es_dedup.model.batches import chunked
from es_dedup.serve.problems import InvalidQuery, KeyReused

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.serve.workers import Workers

MOST_KEYS: Final = 10_000
MOST_SECONDS: Final = 86_400.0
MAX_KEY_CHARS: Final = 255
MAX_KEPT_BYTES: Final = 1_000_000
"""Packed bytes of an answer that is kept."""
AT_A_TIME: Final = 500
FORGOTTEN_AT_A_TIME: Final = 2
"""Old answers that are removed when one is kept: they become fewer, and no request waits for the removal of thousands."""
NAME: Final = "answer-"
"""Names of kept answers begin so; the digest of the key follows, so that every server on the index finds them."""


class IdempotencyKeys:
    """Answers by key, for a day, of the newest requests. They are kept in the index: all its servers know them, also later.

    Errors are not kept: nothing was written then, and the same request is done again.

    Args:
        workers: on the index; when its answers were kept is read.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._running: dict[str, tuple[str, asyncio.Task[bytes]]] = {}
        self._kept = dict(sorted(self._read(), key=itemgetter(1)))  # time by name, the oldest first

    def _read(self) -> Iterator[tuple[str, float]]:
        writer = self._workers.writer
        for names in chunked(writer.kept_names(NAME), AT_A_TIME):
            for name, text in writer.kept(names).items():
                yield name, _unpacked(text)[1]

    async def once(
        self,
        key: str | None,
        request: tuple[bytes, ...],
        work: Callable[[], Coroutine[None, None, bytes]],
        *,
        keep: bool = True,
    ) -> bytes:
        """The answer of ``work``, which is not called where the key is known; of requests at the same time one works.

        Args:
            key: what the client sent; None: it sent none.
            request: what must be the same for the same key: method, address, body.
            work: makes the answer; goes on when the client has gone.
            keep: the answer; without, the key is known while ``work`` is at work.

        Raises:
            KeyReused: the key came with another request.
            InvalidQuery: it is too long.
        """
        if key is None:
            return await work()
        if not 0 < len(key) <= MAX_KEY_CHARS:
            raise InvalidQuery(f"an Idempotency-Key has 1 to {MAX_KEY_CHARS} characters")
        digest = sha256(b"\0".join(sha256(part).digest() for part in request)).hexdigest()
        if key not in self._running:
            task = asyncio.ensure_future(self._answer(key, digest, work) if keep else work())
            task.add_done_callback(lambda done: self._ended(key, done))
            self._running[key] = digest, task
        known, task = self._running[key]
        if known != digest:
            raise KeyReused
        return await asyncio.shield(task)

    def _ended(self, key: str, task: asyncio.Task[bytes]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # nobody may wait for it any more

    async def _answer(self, key: str, digest: str, work: Callable[[], Coroutine[None, None, bytes]]) -> bytes:
        """The kept answer, or that of ``work``, which is in the index before anybody gets it."""
        name = NAME + sha256(key.encode()).hexdigest()
        stored = await self._workers.read(kept_answer, name, digest)
        if stored:
            return stored
        answer = await work()
        packed = base64.b64encode(zlib.compress(answer, 1)).decode()
        if len(packed) <= MAX_KEPT_BYTES:
            now = time.time()
            keeping = self._workers.submit(self._keep, name, json.dumps([digest, now, packed]), now)
            with suppress(DedupError):  # it was written all the same
                await asyncio.wrap_future(keeping)
        return answer

    def _keep(self, name: str, text: str, now: float) -> None:
        """Keep an answer and remove what is too old or too many; in the thread that writes."""
        writer = self._workers.writer
        writer.keep(name, text)
        self._kept.pop(name, None)
        self._kept[name] = now
        for old in list(islice(self._kept, FORGOTTEN_AT_A_TIME)):
            if len(self._kept) > MOST_KEYS or self._kept[old] < now - MOST_SECONDS:
                writer.keep(old, None)
                del self._kept[old]


def kept_answer(reader: IndexReader, name: str, digest: str) -> bytes:
    """The answer that is kept under a name, empty where there is none.

    Raises:
        KeyReused: it is that to another request.
    """
    for text in reader.kept([name]).values():
        known, kept, answer = _unpacked(text)
        if kept > time.time() - MOST_SECONDS:
            if known != digest:
                raise KeyReused
            return zlib.decompress(base64.b64decode(answer))
    return b""


def _unpacked(text: str) -> tuple[str, float, str]:
    """Digest of the request, time in seconds since 1970, and the packed answer."""
    with reading_stored("answers"):
        *_, digest, kept, answer = json.loads(text)
        return str(digest), float(kept), str(answer)
