"""How fast is an attached index backfilled by worker processes of one machine, and how fast are later writes followed?

Broadcast items (zh), written to an index of their own, are brought in by as many processes as are asked for, without Celery: what is
measured is the work. The answer is checked by an audit, and by clusters that equal those of a scan into an embedded index. Then further
items are written without a hook, some stored ones are deleted, and one process follows; an audit checks that, too.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk
from harness import Row, data_file, expect, page_of, parser_of, report, rows_of, server_url, temporary_index

from es_dedup import Deduplicator
from es_dedup.index.source_index import SourceFields
from es_dedup.maintenance.attach import attach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.runner import Runner, parts_by_stage, start_follow
from es_dedup.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from es_dedup.index.jobs import Job
    from es_dedup.maintenance.context import MaintenanceContext

GOALS: Final = {"pages/s": 800}
FIELDS: Final = SourceFields("text", title="title", url="url", published="time", site="site")
SHARDS: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--followed", type=int, default=2_000, help="items written afterwards")
    given = parser.parse_args(arguments)
    data, count = data_file(given.data, "broadcast-zh.jsonl.xz"), given.pages + given.followed
    rest = {row["id"]: row for row in items(data, count)}
    found = {key: rest.pop(key) for key in list(rest)[: given.pages]}
    url = server_url()
    with Elasticsearch(url, request_timeout=60) as client, temporary_index(client) as name:
        create(client, name)
        try:
            write(client, name, found)
            rows = measured(f"{url}/{name}", name, found, given.workers)
            write(client, name, rest)
            gone = list(found)[:: max(1, len(found) // 20)]
            bulk(client, ({"_op_type": "delete", "_index": name, "_id": key} for key in gone))
            rows.append(followed(f"{url}/{name}", len(rest), len(gone)))
        finally:
            client.indices.delete(index=name, ignore_unavailable=True)
    title = f"backfill of {len(found):,} broadcast items by {given.workers} processes"
    report(title, rows, given.json, {"goals": GOALS})
    return 0


def items(path: Path, count: int) -> Iterator[Row]:
    """So many items; where there are not enough, once more without their last fifth."""
    rows = rows_of(path, count)
    yield from rows
    for row in rows[: count - len(rows)]:
        yield row | {"id": f"{row['id']}-again", "text": row["text"][: len(row["text"]) * 4 // 5]}


def create(client: Elasticsearch, name: str) -> None:
    """The source index, as its owner would make it."""
    shape = {"dynamic": False, "properties": {"title": {"type": "keyword", "ignore_above": 500}}}
    client.indices.create(index=name, settings={"number_of_shards": SHARDS}, mappings=shape)


def write(client: Elasticsearch, name: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Documents, as their owner would write them."""
    actions = (
        {"_index": name, "_id": key, "_source": {part: row.get(part) for part in FIELDS.names}}
        for key, row in found.items()
    )
    bulk(client, actions, refresh=True, chunk_size=1000)


def measured(place: str, name: str, found: Mapping[str, Any], workers: int) -> list[Row]:
    """One line per stage, and one for all of it."""
    settings = Settings.model_validate(
        {"maintenance": {"part_documents": max(100, len(found) // (4 * workers))}}
    )
    with open_context(place, settings) as site:
        attach(site, name, FIELDS)
        begun, cpu = time.perf_counter(), children_seconds()
        job = Runner(site).start("backfill", {"target": None})
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(target=help_with, args=(place, settings, job.id)) for _ in range(workers)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        seconds, cpu = time.perf_counter() - begun, children_seconds() - cpu
        ended = site.jobs.job(job.id)
        assert ended is not None
        rows = stages(site, ended[0])
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        whole = {
            "stage": "all, start of processes included",
            "pages": len(found),
            "seconds": round(seconds, 1),
        }
        whole |= {"CPU s of the processes": round(cpu, 1), "pages a CPU s": round(len(found) / cpu)}
        rows.append({**whole, "pages/s": round(len(found) / seconds), "peak MiB of a process": round(peak)})
        check(site, name, found)
    return rows


def followed(place: str, written: int, deleted: int) -> Row:
    """One line for one process that follows what was written and deleted since."""
    with open_context(place, Settings()) as site:
        begun, cpu = time.perf_counter(), time.process_time()
        job = Runner(site).run(start_follow(site, once=True)[0].id)
        seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
        expect(job.counts.get("gone", 0) == deleted, f"{job.counts} of {deleted} deletions")
        looked = audit(site)
        expect(looked.clean, f"the audit found {looked.found}")
    row = {"stage": "followed by one process", "pages": written, "seconds": round(seconds, 1)}
    row |= {"CPU s of the processes": round(cpu, 1), "pages a CPU s": round(written / max(cpu, 0.001))}
    return {**row, "pages/s": round(written / seconds), "compared": job.counts.get("compared", 0)}


def children_seconds() -> float:
    """CPU seconds of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def help_with(place: str, settings: Settings, job: str) -> None:
    """What one worker process does."""
    with open_context(place, settings) as site:
        Runner(site).run(job)


def stages(site: MaintenanceContext, job: Job) -> list[Row]:
    """Process seconds of each stage that had something to do."""
    rows: list[Row] = []
    for stage, stored in parts_by_stage(site, job):
        seconds, done = sum(part.seconds for part, _ in stored), sum(part.done for part, _ in stored)
        rows.append({"stage": stage.name, "pages": done, "process seconds": round(seconds, 1)})
    return rows


def check(site: MaintenanceContext, name: str, found: Mapping[str, Any]) -> None:
    """Nothing for an audit to find, and the clusters of a plain scan."""
    looked = audit(site)
    expect(looked.clean and looked.documents == looked.pages == len(found), f"the audit found {looked.found}")
    with Deduplicator.open(":memory:") as plain:
        # the same ids: the statistics sample pages by a hash of them
        plain.scan(replace(page_of(row), id=f"{name}/{key}") for key, row in found.items())
        wanted = {
            frozenset((each.canonical, *(m.page_id for m in each.members))) for each in plain.clusters()
        }
    ours = {frozenset(member.page_id for member in group) for group in site.index.clusters()}
    expect(ours == wanted, f"{len(ours ^ wanted):,} clusters differ from those of a scan")


if __name__ == "__main__":
    sys.exit(main())
