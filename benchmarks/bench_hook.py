"""How many pages a second does the hook take on a live index, in batches of 100, and is each copy found?

The index is filled with items of broadcast-zh. Then new items and edited copies of stored ones are written by the hook: once with
features at hand, once with features computed in the same run. Answers are checked: what is a copy must be marked so in the
user's index, no page may be lost, and each cluster has one canonical document. Needs a server, see ``scripts/servers``.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from bench_check import edited
from compaction import compact
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk, scan
from harness import (
    Row,
    data_file,
    expect,
    page_of,
    parser_of,
    quantile,
    report,
    rows_of,
    server_url,
    temporary_index,
)
from traced import Trace, pid_of

from es_dedup import Page, Relation, Settings
from es_dedup.batch.featurise import FeatureMaker
from es_dedup.hook import DedupHook, HookReport, SourceFields, dedup_bulk, dedup_streaming_bulk
from es_dedup.hook.documents import item_of
from es_dedup.index.cluster_changes import Assignment
from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.elastic.locking import WriterLock
from es_dedup.index.factory import open_index, open_source_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.batch.featurise import Chunk

BATCH: Final = 100
LEAST_CHARS: Final = 200
LEAST_FOUND: Final = 0.9
GOALS: Final = {"goal, features at hand": 600, "goal, features computed": 400}
FIELDS: Final = SourceFields("text", published="published", site="site")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--stored", type=int, default=20_000, help="items stored before")
    parser.add_argument(
        "--pages", type=int, default=2_000, help="pages written in each run, a fifth of them copies"
    )
    parser.add_argument(
        "--warm", type=int, default=0, help="pages written by the hook before any is measured"
    )
    parser.add_argument("--durability", default="request", choices=("request", "async"))
    parser.add_argument("--refresh", default="1s", help="time until searches see a write of the features")
    parser.add_argument("--merge", action="store_true", help="merge the stored features into one segment")
    parser.add_argument("--processes", type=int, default=1, help="processes that write at once")
    parser.add_argument("--requests", action="store_true", help="show what each request of a batch costs")
    given = parser.parse_args(arguments)
    url = server_url()
    later = given.warm + 2 * given.pages
    rows = rows_of(data_file(given.data, "broadcast-zh.jsonl.xz"), given.stored + later)
    expect(len(rows) > later, "too few items in the set")
    pages = [page_of(row) for row in rows]
    stored, first, rest = pages[:-later], pages[-later : given.warm - later], pages[given.warm - later :]
    settings = Settings.model_validate(
        {"elastic": {"durability": given.durability, "refresh": given.refresh}}
    )
    found: list[Row] = []
    with Elasticsearch(url, request_timeout=120) as client, temporary_index(client) as name:
        with DedupHook.open(f"{url}/{name}", FIELDS, settings=settings) as hook:
            fill(f"{url}/{name}", name, stored, settings, client, merge=given.merge)
            if first:
                warm_up(first, stored, hook, client, name)
            for kind, new in (("at hand", rest[: given.pages]), ("computed", rest[given.pages :])):
                sent, trace = sent_pages(kind, new, stored), Trace(pid_of(client), whole=given.requests)
                if given.processes > 1:
                    writers = Writers(url, name, settings, given.processes)
                    found.append(writers.measured(sent, client, trace))
                    continue
                found.append(measured(kind, sent, hook, client, name, trace))
                if given.requests:
                    report(f"One batch of {BATCH}, features {kind}", trace.rows(), None)
            check_clusters(client, name)
        plain = without(rest[: given.pages], client, name)
        for row in found:
            row["of plain writing"] = round(row["pages/s"] / plain["pages/s"], 3)
        found.append(plain)
    title = f"The hook in batches of {BATCH} on a live index of {len(stored):,} pages"
    stated = {
        "translog of the features": given.durability,
        "their refresh": given.refresh,
        "warmed by": given.warm,
    }
    report(title, found, given.json, {**GOALS, **stated})
    return 0


def action_of(page: Page, name: str) -> dict[str, Any]:
    """A bulk action."""
    return {
        "_index": name,
        "_id": page.id,
        "text": page.text,
        "title": page.title,
        "published": page.published,
        "site": page.site,
    }


def fill(
    address: str,
    name: str,
    pages: Sequence[Page],
    settings: Settings,
    client: Elasticsearch,
    *,
    merge: bool = False,
) -> None:
    """Store pages, each in a cluster of its own: the hook's work is measured, not a full run's."""
    renamed = (
        Page(f"{name}/{page.id}", text=page.text, title=page.title, published=page.published, site=page.site)
        for page in pages
    )
    with closing(open_index(address, settings)) as index:
        for chunk in FeatureMaker(settings).chunks(renamed):
            index.put_batch(chunk.records)
            ids = chunk.records.ids
            index.assign_many(Assignment(each, each, each, Relation.EXACT, 1.0) for each in ids)
        index.refresh()
        if merge and isinstance(index, ElasticIndex):
            compact(index)
    with closing(open_source_index(address, settings)) as host:
        host.write_target(name)
    mark = {"canonical": True, "relation": "unique", "cluster_size": 1}
    documents = (
        {**action_of(page, name), "dedup": {**mark, "cluster_id": f"{name}/{page.id}"}} for page in pages
    )
    bulk(client, documents)


def warm_up(
    pages: Sequence[Page], stored: Sequence[Page], hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    """Write pages as those that are measured: a server compiles its own code while it gets its first thousands."""
    sent = sent_pages("warm", pages, stored)
    dedup_bulk(client, [action_of(page, name) for page, _ in sent], hook=hook, chunk_size=BATCH)


def sent_pages(kind: str, new: Sequence[Page], stored: Sequence[Page]) -> list[tuple[Page, str]]:
    """New pages, and a fifth of edited copies of stored ones with the original's id."""
    source = random.Random(kind)
    long = [page for page in stored if len(page.text or "") >= LEAST_CHARS]
    originals = source.sample(long, min(len(new) // 5, len(long)))
    copies = [(edited(f"copy-{kind}-{page.id}", page, source), page.id) for page in originals]
    sent = [(page, "") for page in new[: len(new) - len(copies)]] + copies
    source.shuffle(sent)
    return sent


def measured(
    kind: str,
    sent: Sequence[tuple[Page, str]],
    hook: DedupHook,
    client: Elasticsearch,
    name: str,
    watched: Trace,
) -> Row:
    """Write pages in batches, and check what their documents say."""
    said = HookReport()
    ends: list[float] = []
    actions = [action_of(page, name) for page, _ in sent]
    made: dict[str, Chunk | None] = {}
    if kind == "at hand":
        items = [item_of({"index": _head(each)}, _body(each), {}) for each in actions]
        made = {
            items[at].page_id: hook.featurise(items[at : at + BATCH]) for at in range(0, len(items), BATCH)
        }
    held: list[float] = []
    with timed(hook, ends, made), timed_lock(held), watched.batch(-(-len(sent) // BATCH)):
        begun = time.perf_counter()
        if watched.whole:  # what each request costs can be told only while there is one at a time
            list(dedup_streaming_bulk(client, actions, BATCH, hook=hook, report=said))
        else:
            dedup_bulk(client, actions, hook=hook, report=said, chunk_size=BATCH)
    times = [end - start for start, end in pairwise([begun, *ends])]
    expect(said.written == len(sent), f"{len(sent) - said.written} pages were not written")
    expect(not said.not_repaired, "some documents could not be marked")
    cut = len(said.inconclusive)
    expect(cut <= 0.1 * len(sent), f"{cut} pages were left undecided")
    expect(not hook.recheck(name).inconclusive, "a re-check decides on all that was cut")
    marked = copies_marked(sent, client, name)
    return {
        "features": kind,
        "pages": len(sent),
        "pages/s": round(len(sent) / sum(times), 1),
        "p50 ms a batch": round(1000 * quantile(times, 0.5), 1),
        "best batch, pages/s": round(BATCH / min(times), 1),
        "own CPU ms a page": round(1000 * watched.own / len(sent), 2),
        "server CPU ms a page": round(1000 * watched.server / len(sent), 2),
        "of it compiling": round(1000 * watched.compiling / len(sent), 2),
        "requests a batch": round(watched.requests / watched.batches, 1),
        "lock held, share": round(sum(held) / sum(times), 3),
        "copies marked": marked,
        "re-checked": cut,
        "decide s": round(said.seconds["decide"], 1),
    }


def copies_marked(sent: Sequence[tuple[Page, str]], client: Elasticsearch, name: str) -> str:
    """How many of the copies their documents say to be copies; refuses fewer than ``LEAST_FOUND``."""
    client.indices.refresh(index=name)
    copies = [page.id for page, original in sent if original]
    marked = client.mget(index=name, ids=copies, source_includes="dedup")["docs"] if copies else []
    hits = sum(not each["_source"]["dedup"]["canonical"] for each in marked)
    inside = sum(bool(each["_source"]["dedup"].get("contained_in")) for each in marked)
    expect(hits + inside >= LEAST_FOUND * len(copies), f"only {hits} of {len(copies)} copies are marked")
    return f"{hits} + {inside} inside, of {len(copies)}"


@dataclass(frozen=True, slots=True)
class Writers:
    """Processes with a hook each that write to one index at once."""

    url: str
    name: str
    settings: Settings
    count: int

    def measured(self, sent: Sequence[tuple[Page, str]], client: Elasticsearch, watched: Trace) -> Row:
        """Let each write its part of the pages, the first batch before it is measured; features are always computed in the run."""
        spawn = multiprocessing.get_context("spawn")
        started, told = spawn.Barrier(self.count + 1), spawn.Queue()
        parts = [[page for page, _ in sent[number :: self.count]] for number in range(self.count)]
        processes = [spawn.Process(target=self.write, args=(part, started, told)) for part in parts]
        for process in processes:
            process.start()
        started.wait()
        count = len(sent) - self.count * BATCH
        with watched.batch(-(-count // BATCH)):
            begun = time.perf_counter()
            answers = [told.get() for _ in processes]
            took = time.perf_counter() - begun
        for process in processes:
            process.join()
        written, own, requests, again = map(sum, zip(*answers, strict=True))
        expect(written == len(sent), f"{len(sent) - written} pages were not written")
        return {
            "features": f"computed, {self.count} processes",
            "pages": count,
            "pages/s": round(count / took, 1),
            "own CPU ms a page": round(1000 * own / count, 2),
            "server CPU ms a page": round(1000 * watched.server / count, 2),
            "of it compiling": round(1000 * watched.compiling / count, 2),
            "requests a batch": round(requests / watched.batches, 1),
            "copies marked": copies_marked(sent, client, self.name),
            "re-checked": again,
        }

    def write(self, pages: Sequence[Page], started: Any, told: Any) -> None:
        """One process: pages written, seconds of processor time, requests, and pages that were decided on again."""
        address = f"{self.url}/{self.name}"
        with (
            Elasticsearch(self.url, request_timeout=120) as client,
            DedupHook.open(address, FIELDS, settings=self.settings) as hook,
        ):
            actions = [action_of(page, self.name) for page in pages]
            said = dedup_bulk(client, actions[:BATCH], hook=hook, chunk_size=BATCH).report
            started.wait()
            watched = Trace(None)
            with watched.batch(1):
                dedup_bulk(client, actions[BATCH:], hook=hook, chunk_size=BATCH, report=said)
            again = len(said.inconclusive)
            if again:
                hook.recheck(self.name)
        told.put((said.written, watched.own, watched.requests, again))


@contextmanager
def timed(hook: DedupHook, ends: list[float], made: Mapping[str, Chunk | None]) -> Iterator[None]:
    """Note when each batch is finished, and let the hook take features that were made before."""
    finish, featurise = hook.finish, hook.featurise

    def finished(*given: Any, **more: Any) -> Any:
        again = finish(*given, **more)
        ends.append(time.perf_counter())
        return again

    hook.finish = finished  # type: ignore[method-assign]
    if made:
        hook.featurise = lambda items, *_: made[items[0].page_id]  # type: ignore[method-assign]
    try:
        yield
    finally:
        hook.finish, hook.featurise = finish, featurise  # type: ignore[method-assign]


@contextmanager
def timed_lock(held: list[float]) -> Iterator[None]:
    """Note for how long the writer lock is held each time."""
    take = WriterLock.held

    @contextmanager
    def taken(lock: WriterLock, seconds: float) -> Iterator[None]:
        with take(lock, seconds):
            begun, outermost = time.perf_counter(), lock._depth == 1  # noqa: SLF001
            try:
                yield
            finally:
                if outermost:
                    held.append(time.perf_counter() - begun)

    with patch.object(WriterLock, "held", taken):
        yield


def without(new: Sequence[Page], client: Elasticsearch, name: str) -> Row:
    """The same writes without the hook, into an index beside."""
    watched, times = Trace(pid_of(client)), []
    for at in range(0, len(new), BATCH):
        mark = {"canonical": True, "relation": "unique", "cluster_size": 1}
        actions = [
            {**action_of(page, f"{name}-plain"), "dedup": {**mark, "cluster_id": page.id}}
            for page in new[at : at + BATCH]
        ]
        with watched.batch(1):
            begun = time.perf_counter()
            bulk(client, actions)
            times.append(time.perf_counter() - begun)
    return {
        "features": "no hook",
        "pages": len(new),
        "pages/s": round(len(new) / sum(times), 1),
        "p50 ms a batch": round(1000 * quantile(times, 0.5), 1),
        "best batch, pages/s": round(BATCH / min(times), 1),
        "own CPU ms a page": round(1000 * watched.own / len(new), 2),
        "server CPU ms a page": round(1000 * watched.server / len(new), 2),
        "of it compiling": round(1000 * watched.compiling / len(new), 2),
    }


def _head(action: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in action.items() if key.startswith("_")}


def _body(action: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in action.items() if not key.startswith("_")}


def check_clusters(client: Elasticsearch, name: str) -> None:
    """Each cluster of the user's index has one canonical document, which knows its size."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for hit in scan(client, index=name, _source=["dedup"], size=2000):
        groups.setdefault(hit["_source"]["dedup"]["cluster_id"], []).append(hit["_source"]["dedup"])
    for cluster, marks in groups.items():
        expect(sum(mark["canonical"] for mark in marks) == 1, f"{cluster} has not one canonical document")
        sizes = [mark["cluster_size"] for mark in marks if mark.get("cluster_size")]
        expect(sizes == [len(marks)], f"{cluster} has a wrong size")


if __name__ == "__main__":
    sys.exit(main())
