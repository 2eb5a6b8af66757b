# mypy: ignore-errors
"""What the drivers share: the given site, the pages of a thread, and printing."""

from __future__ import annotations

import io
import json
import random
import sys
from typing import Any

GIVEN: dict[str, Any] = json.load(sys.stdin)
RNG = random.Random(GIVEN["seed"])


def starts(count: int, step: int) -> list[int]:
    """Indexes of the first posts of the first page of a thread and of another one."""
    return sorted({0, RNG.choice(range(0, max(count, 1), step))})


def emit(slug: str, path: str, answer: str, shown: list[int]) -> None:
    """Print one page with the indexes of the posts on it."""
    print(json.dumps({"slug": slug, "path": path, "html": answer, "shown": shown}))


def ask(application: Any, path: str, extra: dict[str, Any] | None = None) -> str:
    """The page of a WSGI application at a path, or nothing if there is none."""
    parts: list[bytes] = []
    statuses: list[str] = []

    def start(status: str, _headers: Any, _error: Any = None) -> Any:
        statuses.append(status)
        return parts.append

    asked = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "REQUEST_URI": path,
        "QUERY_STRING": "",
        "SERVER_NAME": GIVEN["host"],
        "SERVER_PORT": "443",
        "HTTP_HOST": GIVEN["host"],
        "HTTP_ACCEPT_LANGUAGE": {"zh-hans": "zh-CN", "zh-hant": "zh-TW"}.get(
            GIVEN["language"], GIVEN["language"]
        ),
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.url_scheme": "https",
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        **(extra or {}),
    }
    parts += list(application(asked, start) or [])
    return b"".join(parts).decode() if statuses and statuses[0].startswith("200") else ""
