"""A small TCP proxy of our own that can be told to refuse, stall, cut or delay: faults between client and server."""

import socket
import threading
import time
from contextlib import suppress
from typing import Self

PIECE = 65_536


class Proxy:
    """Forwards connections on a local port to a server.

    Attributes:
        delay: seconds that each piece of an answer is held back.
        stalled: nothing is forwarded any more, and nothing is closed.
        cut_after: bytes of answers after which a connection is cut; None never.
        refusing: new connections are closed at once, and open ones cut.
        connections: how many were made.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self._open: list[socket.socket] = []
        self._done = False
        self.delay = 0.0
        self.stalled = False
        self.cut_after: int | None = None
        self._refusing = False
        self.connections = 0
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where clients connect to."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def refusing(self) -> bool:
        return self._refusing

    @refusing.setter
    def refusing(self, value: bool) -> None:
        self._refusing = value
        if value:
            self._cut_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._done = True
        self._thread.join()
        self._listener.close()
        self._cut_all()

    def _listen(self) -> None:
        while not self._done:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            self.connections += 1
            if self._refusing:
                client.close()
                continue
            server = socket.create_connection(self._target)
            self._open += [client, server]
            threading.Thread(target=self._forward, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._forward, args=(server, client, True), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, answer: bool) -> None:
        sent = 0
        with suppress(OSError):
            while data := source.recv(PIECE):
                if answer and self.delay:
                    time.sleep(self.delay)
                while self.stalled and not self._done:
                    time.sleep(0.02)
                if answer and self.cut_after is not None and sent + len(data) > self.cut_after:
                    target.sendall(data[: max(0, self.cut_after - sent)])
                    break
                target.sendall(data)
                sent += len(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _cut_all(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()
