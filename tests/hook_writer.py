"""A process that adds pages through the hook: ``python -m tests.hook_writer ADDRESS WRITER WRITERS PAGES COPIES``.

It says ``ready``, waits for a line, sends its pages in batches, and prints how many stayed inconclusive.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from tests.hooked import FIELDS, action_of
from tests.samples import story
from tests.servers import client_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup import Page


def pages_of(writer: int, writers: int, pages: int, copies: str) -> list[Page]:
    """What one of several writers sends: each page is sent by two of them, under one id or under two."""
    mine = [n for n in range(pages) if writer in (n % writers, (n + 1) % writers)]
    if copies == "same-id":
        return [story(n, f"page-{n}") for n in mine]
    return [story(n, f"page-{n}-{writer}") for n in mine]


def main(arguments: Sequence[str]) -> None:
    """Send one writer's share."""
    address, writer, writers, pages, copies = arguments
    mine = pages_of(int(writer), int(writers), int(pages), copies)
    host, _, name = address.rpartition("/")
    report = HookReport()
    with client_of(host) as client, DedupHook.open(address, FIELDS) as hook:
        print("ready", flush=True)
        sys.stdin.readline()
        actions = [action_of(page, name) for page in mine]
        dedup_bulk(client, actions, hook=hook, chunk_size=10, report=report)
    print(len(report.inconclusive), len(report.not_repaired), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
