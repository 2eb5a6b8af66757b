"""A command on a terminal of its own: what it shows there, and how it takes Ctrl-C."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

CTRL_C: Final = b"\x03"
_STEERING: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_START: Final = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "es_dedup", *sys.argv[1:]])
"""


class Terminal:
    """``es-dedup`` on a pseudo-terminal that it controls; a context manager.

    Attributes:
        text: all that was shown so far, without the characters that steer a terminal.
    """

    def __init__(self, *words: str, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._end, inner = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, *words],
            cwd=folder,
            env={**os.environ, "COLUMNS": "150", "TERM": "xterm", **(environment or {})},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        self.text = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._end)

    def press(self, keys: bytes) -> None:
        """Type something."""
        os.write(self._end, keys)

    def until(self, pattern: str, seconds: float = 60) -> re.Match[str]:
        """Wait until something is shown, and give it."""
        end = time.monotonic() + seconds
        while (found := re.search(pattern, self.text)) is None:
            assert time.monotonic() < end, f"{pattern} is not shown: {self.text[-2000:]}"
            assert self._read(), f"it ended without {pattern}: {self.text[-2000:]}"
        return found

    def finish(self, seconds: float = 60) -> int:
        """The exit code; all that was shown is in ``text`` then."""
        end = time.monotonic() + seconds
        while self._read():
            assert time.monotonic() < end, f"it does not end: {self.text[-2000:]}"
        return self.process.wait(5)

    def _read(self) -> bool:
        """Take what is shown; False when the command has ended."""
        if not select.select([self._end], [], [], 0.1)[0]:
            return True
        try:
            shown = os.read(self._end, 65536)
        except OSError:  # Linux: all other ends are closed
            return False
        self.text += _STEERING.sub("", shown.decode(errors="replace"))
        return bool(shown)
