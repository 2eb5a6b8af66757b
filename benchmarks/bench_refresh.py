"""Are the clusters that the hook makes of a growing index those of a scan, and what does it cost that statistics follow?

Each set is written by the hook in batches of 100 into an empty index, once as it is and once without learning statistics again, and
scanned into an index in memory. Shares of equal clusters of the first run must be at least those of the second. Needs a server, see
``scripts/servers``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from elasticsearch import Elasticsearch
from harness import Row, data_file, expect, page_of, parser_of, report, rows_of, server_url, temporary_index

from es_dedup import Deduplicator, Settings
from es_dedup.batch.deciding import BatchDecider
from es_dedup.hook import DedupHook, HookReport, SourceFields, dedup_bulk
from es_dedup.index.factory import open_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup import Page

SETS: Final = ("broadcast-zh", "manual-zh", "news-zh-2025", "news-en", "portal-zh")
BATCH: Final = 100
FIELDS: Final = SourceFields("text", title="title", url="url", published="published", site="site")
GOALS: Final = {"equal clusters": 0.999}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--pages", type=int, default=10_000, help="most pages of a set")
    given = parser.parse_args(arguments)
    rows: list[Row] = []
    with Elasticsearch(server_url(), request_timeout=120) as client:
        for name in given.sets:
            read = rows_of(data_file(given.data, f"{name}.jsonl.xz"), given.pages)
            pages = list({row["id"]: page_of(row) for row in read}.values())
            without = measured(client, pages, learns=False)
            row = measured(client, pages, learns=True)
            expect(row["equal clusters"] >= without["equal clusters"], f"{name}: {row}, before {without}")
            rows.append({"set": name, "pages": len(pages), **row, "equal without": without["equal clusters"]})
    report(f"Clusters of the hook and of a scan, in batches of {BATCH}", rows, given.json, {"goals": GOALS})
    return 0


def measured(client: Elasticsearch, pages: Sequence[Page], *, learns: bool) -> Row:
    """Write pages by the hook, to the end of its block, and compare the clusters with those of a scan."""
    said = HookReport()
    with temporary_index(client) as name, Deduplicator.open(":memory:") as plain:
        # The same ids: which pages statistics are sampled from hangs on them.
        plain.scan(replace(page, id=f"{name}/{page.id}") for page in pages)
        begun = time.perf_counter()
        kept = BatchDecider.outgrown if learns else lambda *_, **__: False
        with (
            patch.object(BatchDecider, "outgrown", kept),
            DedupHook.open(f"{server_url()}/{name}", FIELDS) as hook,
        ):
            actions = (action_of(page, name) for page in pages)
            dedup_bulk(client, actions, chunk_size=BATCH, hook=hook, report=said)
            hook.refresh_statistics(said)
        seconds = time.perf_counter() - begun
        with open_index(f"{server_url()}/{name}", Settings(), read_only=True) as live:
            live.refresh_clusters()
            ours = {frozenset(each.page_id for each in group) for group in live.clusters()}
        wanted = {
            frozenset((each.canonical, *(m.page_id for m in each.members))) for each in plain.clusters()
        }
    return {
        "clusters": len(wanted),
        "equal clusters": round(len(ours & wanted) / len(wanted), 5),
        "seconds": round(seconds, 1),
        "of these for statistics": round(said.seconds["statistics"], 1),
        "documents corrected": said.repaired,
    }


def action_of(page: Page, name: str) -> dict[str, Any]:
    """A bulk action."""
    fields = ("text", "title", "url", "published", "site")
    return {"_index": name, "_id": page.id, "_source": {field: getattr(page, field) for field in fields}}


if __name__ == "__main__":
    sys.exit(main())
