# mypy: ignore-errors
"""What the drivers share: the given site, the pages of a thread, and printing."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

GIVEN: dict[str, Any] = json.load(sys.stdin)
RNG = random.Random(GIVEN["seed"])  # noqa: S311 - texts, no secrets


def starts(count: int, step: int) -> list[int]:
    """Indexes of the first posts of the first page of a thread and of another one."""
    return sorted({0, RNG.choice(range(0, max(count, 1), step))})


def emit(slug: str, path: str, answer: str, shown: list[int]) -> None:
    """Print one page with the indexes of the posts on it."""
    print(json.dumps({"slug": slug, "path": path, "html": answer, "shown": shown}))


def emit_thread(client: Any, thread: dict[str, Any], path: str, step: int, parameter: str = "page") -> None:
    """Ask a test client for pages of a thread and print them; a page that fails is reported."""
    count = len(thread["posts"])
    for start in starts(count, step):
        address = f"{path}?{parameter}={start // step + 1}" if start else path
        answer = client.get(address)
        if answer.status_code == 200:
            emit(
                thread["slug"], address, answer.content.decode(), list(range(start, min(count, start + step)))
            )
        else:
            print(address, answer.status_code, file=sys.stderr)
