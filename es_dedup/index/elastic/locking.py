"""One writer at a time, across processes and machines: a document that its holder keeps touching, and says when it is free.

Whoever waits watches the document's sequence number. When it has not changed for as long as a lease lasts, by the waiter's own
clock, the holder is taken to be dead and the document is taken over. No two machines' clocks are compared. When the server, or the waiter's
own machine, stood still meanwhile, the holder's touches stood still too: then the waiter begins to watch anew. Who finds the document as
he left it knows that nobody has held it since.

Who takes it many times in a row (``keep_writer_lock``) keeps it in between, which saves three requests each time: until somebody else waits, who says
so in a second document, or it is not taken for a while.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexError_, IndexLocked
from es_dedup.index.elastic.server import CONFLICT, NOT_FOUND, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_dedup.index.elastic.collection import Collection

    Seen = tuple[int, int]

POLL_SECONDS: Final = 0.1
STILL_SECONDS: Final = 1.0  # between two looks; a few of them leave room for touches within a lease
IDLE_SECONDS: Final = 3.0  # that it is kept without being taken
SHARED_SECONDS: Final = 30.0  # after others have held it or waited, in which it is not kept
PATIENT_SECONDS: Final = 0.4  # of waiting before it is said: one that is not kept is free sooner as a rule
KEY: Final = "lock:writer"
WAITING: Final = "lock:waiting"  # written by each who waits
NOBODY: Final = ""  # owner of a document that is free


class WriterLock:
    """The lock of one index; may be nested within one thread.

    Args:
        documents: where the document is.

    Attributes:
        lease: seconds without a touch after which the holder is taken to be dead.
        touch: seconds between touches.
    """

    lease, touch = 8.0, 2.0

    def __init__(self, documents: Collection) -> None:
        self._server, self._index = documents.server, documents.name
        self._token = secrets.token_hex(8)
        self._thread = threading.RLock()
        self._depth = 0
        self._seen: Seen | None = None
        self._lost = False
        self._left: tuple[Seen, str] | None = None  # as it was when we let go of it, and where
        self._holder = 0
        self._users: set[object] = set()  # of ``keep_writer_lock``
        self._kept_by = 0  # the process that keeps it between two sessions
        self._keeper: tuple[threading.Thread, threading.Event] | None = None
        self._touched = self._used = 0.0
        self._waiting: Seen | None = None
        self._shared = -SHARED_SECONDS
        self.alone = False  # nobody else has held it since we did before
        self.place = ""  # the real index that the lock was last taken in

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Keep other writers out.

        Args:
            seconds: how long to wait for another writer.

        Raises:
            IndexLocked: another writer did not finish in time, or has taken over because this one seemed dead.
        """
        if not self._thread.acquire(timeout=seconds):
            raise IndexLocked(self._server.name, seconds)
        try:
            if not self._depth:
                self._begin(seconds)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self._holder, self._used = 0, time.monotonic()
                    if self._users and not self._lost and self._used - self._shared > SHARED_SECONDS:
                        self._kept_by = os.getpid()
                    else:
                        self._end()
        finally:
            self._thread.release()

    def _begin(self, seconds: float) -> None:
        if self._still_ours():
            self.alone = True
        else:
            self._end()
            before = self._left
            self._take(seconds)
            if before is not None and not self.alone:
                self._shared = time.monotonic()
            stop = threading.Event()
            keeper = threading.Thread(target=self._keep, args=(stop,), daemon=True, name="es-dedup-lock")
            self._keeper = keeper, stop
            keeper.start()
        self._holder, self._kept_by = threading.get_ident(), 0

    @contextmanager
    def keep_writer_lock(self) -> Iterator[None]:
        """Keep it from one ``held`` inside to the next, as long as nobody else waits for it; may be nested."""
        user = object()
        self._users.add(user)
        try:
            yield
        finally:
            self._users.discard(user)
            if not self._users:
                self.give_up()

    @property
    def kept(self) -> bool:
        """Whether it is ours between two sessions, as far as is known: then look for ``WAITING`` now and then, see ``saw``."""
        return self._kept_by == os.getpid() and not self._lost

    def saw(self, waiting: Mapping[str, Any] | None) -> None:
        """Let go of it when somebody has begun to wait, by the document ``WAITING`` as it was read."""
        seen = None if waiting is None else (waiting["_seq_no"], waiting["_primary_term"])
        if seen != self._waiting:
            self._waiting, self._shared = seen, time.monotonic()
            self.give_up()

    def check(self) -> None:
        """Refuse to go on when this thread held the lock and has lost it.

        Raises:
            IndexLocked: another writer has taken over.
        """
        if self.inside() and self._lost:
            raise IndexLocked(self._server.name, self.lease)

    def inside(self) -> bool:
        """Whether this thread holds it."""
        return self._holder == threading.get_ident()

    def untouched(self) -> bool:
        """Whether nobody has held it since we did."""
        left = self._left
        return self._still_ours() or (left is not None and self._read()[0] == left[0])

    def _still_ours(self) -> bool:
        """Whether it is kept, and was touched so lately that nobody can have taken it over; what went wrong the keeper finds out."""
        return self.kept and time.monotonic() - self._touched < self.lease / 2

    def _end(self) -> None:
        """Let go of what is held or kept; for the thread that has ``_thread``."""
        if self._keeper is None:
            return
        (keeper, stop), self._keeper = self._keeper, None
        ours, self._kept_by = self._kept_by in (0, os.getpid()), 0
        if not ours:
            return  # of the process that this one was forked from
        stop.set()
        if keeper is not threading.current_thread():
            keeper.join()
        if not self._lost and self._seen is not None:
            with suppress(IndexError_):  # it runs out by itself
                if self._put(self._seen, free=True):
                    self._left = self._seen, self.place

    def give_up(self) -> None:
        """Let go of it if it is kept; who is in a session with it does so at its end."""
        if self._thread.acquire(blocking=False):
            try:
                if not self._depth:
                    self._end()
            finally:
                self._thread.release()

    def _take(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        left, self._left, self.alone = self._left, None, False
        if left is not None and self._put(left[0]):
            self.alone = self.place == left[1]
            return
        watched: tuple[Seen | None, float] = (None, time.monotonic())
        begun = looked = watched[1]
        said = False
        while True:
            seen, owner = self._read()
            if seen is None or owner == NOBODY:
                if self._put(seen):
                    return
                continue  # somebody else was faster
            if owner == self._owner:  # our own write, whose answer was lost
                self._seen = seen
                return
            now = time.monotonic()
            if not said and now - begun > PATIENT_SECONDS:
                said = self._write(WAITING, self._owner) is not None
            stood_still, looked = now - looked > STILL_SECONDS, now
            if seen != watched[0] or stood_still:
                watched = (seen, now)
            elif now - watched[1] >= self.lease and self._put(seen):
                return
            if now >= end:
                raise IndexLocked(self._server.name, seconds)
            time.sleep(min(POLL_SECONDS, max(0.0, end - now)))

    @property
    def _owner(self) -> str:
        return f"{self._token}-{os.getpid()}"

    def _put(self, seen: Seen | None, *, free: bool = False) -> bool:
        """Write the document if it is not there, or if it is as it was seen; whether that was so."""
        condition: dict[str, Any] = (
            {"op_type": "create"} if seen is None else {"if_seq_no": seen[0], "if_primary_term": seen[1]}
        )
        asked = time.monotonic()
        done = self._write(KEY, NOBODY if free else self._owner, **condition)
        if done is None:
            return False
        with reading(self._server.name):
            self._seen, self.place = (done["_seq_no"], done["_primary_term"]), done["_index"]
        self._lost, self._touched = False, asked
        return True

    def _write(self, key: str, owner: str, **condition: Any) -> Any:
        """Write a document of the lock; returns the server's answer, or None where the stored one is not as ``condition`` says."""
        document = {"kind": "lock", "owner": owner, "at": int(time.time() * 1000)}
        return self._server.call_unless(
            lambda client: client.index(
                index=self._index, id=key, document=document, require_alias=True, **condition
            ),
            CONFLICT,
            writing=True,
        )

    def _read(self) -> tuple[Seen | None, str]:
        found = self._server.call_unless(lambda client: client.get(index=self._index, id=KEY), NOT_FOUND)
        if found is None:
            return None, ""
        with reading(self._server.name):
            return (found["_seq_no"], found["_primary_term"]), found["_source"]["owner"]

    def _keep(self, stop: threading.Event) -> None:
        """Touch the document until told to stop; let go of it when it is kept and not taken again."""
        while not stop.wait(min(self.touch, IDLE_SECONDS / 2)):
            if self._kept_by and time.monotonic() - self._used > IDLE_SECONDS:
                self.give_up()
            if stop.is_set():
                return
            if time.monotonic() - self._touched < self.touch:
                continue
            with suppress(IndexError_):  # the next touch may reach the server again
                if not self._put(self._seen) and self._read()[1] != self._owner:
                    self._lost = True
                    return
