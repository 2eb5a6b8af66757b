"""Merges pages of an index on Elasticsearch into one segment, which makes candidate queries several times cheaper."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from es_dedup.index.port import Index

MERGE_SECONDS: Final = 3600.0
LEASE_SECONDS: Final = 45.0  # longer than the server takes from one look at its copies to the next
FEW_WRITES: Final = 5_000  # not worth waiting for


def compact(index: Index) -> None:
    """Merge, and wait for it, when no copy of a shard may ask for what is written so far; else a merge keeps it all a second time."""
    client = index._server.client  # type: ignore[attr-defined]  # noqa: SLF001 - only an index on a server has one
    pages = index._pages.name  # type: ignore[attr-defined]  # noqa: SLF001
    client.indices.flush(index=pages, wait_if_ongoing=True)
    end = time.monotonic() + LEASE_SECONDS
    while time.monotonic() < end:
        stats = client.indices.stats(index=pages, level="shards")["indices"].values()
        copies = [copy for each in stats for shard in each["shards"].values() for copy in shard]
        if not any(
            copy["seq_no"]["max_seq_no"] - lease["retaining_seq_no"] >= FEW_WRITES
            for copy in copies
            for lease in copy.get("retention_leases", {}).get("leases", ())
        ):
            break
        time.sleep(1.0)
    patient = client.options(request_timeout=MERGE_SECONDS)
    patient.indices.forcemerge(index=pages, max_num_segments=1, flush=True)
