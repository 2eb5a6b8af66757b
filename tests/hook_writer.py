"""A process that adds pages through the hook: ``python -m tests.hook_writer ADDRESS WRITER WRITERS PAGES COPIES [BATCH [REDIS]]``.

It says ``ready``, waits for a line, sends its pages in batches, and prints how many stayed inconclusive.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from es_dedup.hook import DedupHook, HookReport, RedisWindow, SourceFields, dedup_bulk
from tests.samples import story
from tests.servers import client_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup import Page

BATCH = "10"


def action_of(page: Page, name: str) -> dict[str, object]:
    """A bulk action that indexes a page."""
    return {
        "_index": name,
        "_id": page.id,
        "text": page.text,
        "title": page.title,
        "published": page.published,
    }


def pages_of(writer: int, writers: int, pages: int, copies: str) -> list[Page]:
    """What one of several writers sends: each page is sent by two of them, under one id or under two."""
    mine = [n for n in range(pages) if writer in (n % writers, (n + 1) % writers)]
    if copies == "same-id":
        return [story(n, f"page-{n}") for n in mine]
    return [story(n, f"page-{n}-{writer}") for n in mine]


def main(arguments: Sequence[str]) -> None:
    """Send one writer's share."""
    address, writer, writers, pages, copies, *more = arguments
    batch = more[0] if more else BATCH
    redis = more[1] if len(more) > 1 else ""
    mine = pages_of(int(writer), int(writers), int(pages), copies)
    host, _, name = address.rpartition("/")
    report = HookReport()
    fields = SourceFields("text", url="", published="published")
    window = RedisWindow.open(redis, name) if redis else None
    with (
        client_of(host) as client,
        DedupHook.open(address, fields, window=window) as hook,
    ):
        print("ready", flush=True)
        sys.stdin.readline()
        actions = [action_of(page, name) for page in mine]
        dedup_bulk(client, actions, hook=hook, chunk_size=int(batch), report=report)
    print(len(report.inconclusive), len(report.not_repaired), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
