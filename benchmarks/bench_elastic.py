"""How long does one check take against N pages on Elasticsearch, and how much is stored for each?

Stored are the items of broadcast-zh, then pages made of their clauses until there are N. Asked, one page at a time: edited
copies of stored items, and made pages that are new. All is asked once before, to warm the server. The index is removed at the end.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections import defaultdict
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from bench_check import Answer, ask, rows_of_answers, times_of
from compaction import compact
from elasticsearch import Elasticsearch
from harness import Row, data_file, expect, page_of, parser_of, quantile, report, rows_of
from made_pages import clauses_of, made, questions
from traced import Trace, pid_of

from es_dedup import Deduplicator, Page
from es_dedup.batch.featurise import FeatureMaker, joined
from es_dedup.model.batches import chunked
from es_dedup.settings import Settings, load_settings

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from es_dedup.batch.featurise import Chunk

CHUNKS_A_WRITE: Final = 16  # of 256 pages
GOAL_MS: Final = 15.0
GOAL_BYTES: Final = 1_700
MAX_DF: Final = Settings().index.max_df
ASKED_AT_A_TIME: Final = 50  # pages


@dataclass(slots=True)
class Side:
    """One of the indices that are compared.

    Attributes:
        name: what it stores.
        address, settings, dedup: the index.
        watched: processor time of checks.
        filled: seconds in which it was filled; features of made pages are made before.
        rounds: answers of each round.
        sent, walked: see ``requests_of``.
    """

    name: str
    address: str
    settings: Settings
    dedup: Deduplicator
    watched: Trace
    filled: float = 0.0
    rounds: list[list[Answer]] = field(default_factory=list)
    sent: dict[str, list[float]] = field(default_factory=dict)
    walked: dict[str, list[int]] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    given = options().parse_args(arguments)
    real = [page_of(row) for row in rows_of(data_file(given.data, "broadcast-zh.jsonl.xz"), given.stored)]
    clauses = clauses_of(real)
    asked = questions(real, clauses, given.pages)
    with ExitStack() as stack:
        sides = [stack.enter_context(side) for side in sides_of(given)]
        making = fill(sides, real, made(given.stored - len(real), clauses, seed=13, name="made"))
        notes: dict[str, Any] = {"goal, p95 in ms": GOAL_MS, "goal, bytes a page": GOAL_BYTES}
        notes |= {"features made in s": round(making, 1)}
        for side in sides:
            expect(side.dedup.stats()["pages"] == given.stored, "the index holds other pages: name another")
            if given.compact:
                compact(side.dedup._index)  # noqa: SLF001
        facts = {side.name: stored_facts(side, given.stored) for side in sides}
        for _ in range(given.warm):  # the server's compiler works for the first thousands of requests
            for side in sides:
                ask(side.dedup, asked)
        collected = collections(given.address)
        ask_in_turn(sides, asked, given.rounds)
        checks = sum(side.watched.batches for side in sides)
        pauses = (collections(given.address) - collected) / checks
        notes |= {"server's pauses for garbage, ms a check": round(pauses, 3)}
    for side in sides:
        if not given.keep:
            remove(side.address)
        report(f"What a check asks for, {side.name}", asks(side.walked), None)
        report(f"What a check waits for, {side.name}", waits(side.sent, side.watched.batches), None)
        told = facts[side.name] | processor_times(side.watched)
        notes |= {f"{side.name}: {fact}": value for fact, value in told.items()}
    found = [{"stored": side.name, **row} for side in sides for row in rows_of_side(side)]
    report(f"One check against {given.stored:,} pages on Elasticsearch", found, given.json, notes)
    return 0


def options() -> ArgumentParser:
    """What may be asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--address", required=True, help="http://host:9200/name; the name must be new")
    parser.add_argument("--stored", type=int, default=100_000, help="pages stored")
    parser.add_argument("--pages", type=int, default=400, help="pages asked, half of them copies")
    parser.add_argument("--warm", type=int, default=1, help="times that all is asked before it is measured")
    parser.add_argument("--rounds", type=int, default=1, help="times that all is asked and measured")
    parser.add_argument("--compact", action="store_true", help="merge into one segment first")
    parser.add_argument("--durability", default="request", choices=("request", "async"))
    parser.add_argument("--keep", action="store_true", help="leave the index, and use one that is there")
    parser.add_argument(
        "--detectors", default=",".join(Settings().detectors), help="methods whose features are stored"
    )
    parser.add_argument("--also", default="", help="methods that are only stored and shown, such as dwdcs")
    parser.add_argument(
        "--hashed", action="store_true", help="store hashes alone, as elastic.named_fields = false does"
    )
    parser.add_argument(
        "--both",
        action="store_true",
        help="one index with named fields and one with hashes alone, filled with the same features and asked in turn",
    )
    parser.add_argument(
        "--workers", type=int, default=0, help="processes that make features; 0: one per core"
    )
    parser.add_argument(
        "--method", default="rules", help="who decides: the decision rules, or one of the methods"
    )
    return parser


@contextmanager
def opened(name: str, address: str, settings: Settings) -> Iterator[Side]:
    """One side, ready to be filled or asked."""
    with (
        Deduplicator.open(address, settings=settings) as dedup,
        Elasticsearch(address.rpartition("/")[0]) as client,
    ):
        yield Side(name, address, settings, dedup, Trace(pid_of(client)))


def sides_of(given: Namespace) -> list[AbstractContextManager[Side]]:
    """The index that was asked for, or with ``--both`` one with named fields and one without."""
    if not given.both:
        name = "hashes alone" if given.hashed else "named fields"
        return [opened(name, given.address, settings_of(given, hashed=given.hashed))]
    return [
        opened("named fields", f"{given.address}-named", settings_of(given, hashed=False)),
        opened("hashes alone", f"{given.address}-hashed", settings_of(given, hashed=True)),
    ]


def settings_of(given: Namespace, *, hashed: bool) -> Settings:
    """The settings of an index: what was asked for, and no texts."""
    return load_settings(
        overrides={
            "elastic.durability": given.durability,
            "elastic.named_fields": not hashed,
            "elastic.also_stored": given.also.split(",") if given.also else [],
            "index.keep_text": False,
            "workers": given.workers,
            "detectors": given.detectors.split(","),
            "decision.method": given.method,
        },
        environ={},
    )


def fill(sides: Sequence[Side], real: Sequence[Page], more: Iterator[Page]) -> float:
    """Scan the real pages, with statistics and clusters; add the others' features in batches, each to all sides in turn.

    A side that holds pages is left as it is.

    Returns:
        Seconds for which writing waited for features of the others.
    """
    empty = [side for side in sides if not side.dedup.stats()["pages"]]
    if not empty:
        return 0.0
    for side in empty:
        with filling(side):
            side.dedup.scan(real)
    settings = empty[0].settings
    named = any(side.settings.elastic.named_fields for side in empty)
    making, begun = 0.0, time.perf_counter()
    for some in chunked(FeatureMaker(settings, named=named).chunks(more), CHUNKS_A_WRITE):
        making += time.perf_counter() - begun
        for side in empty:
            with filling(side):
                put(side.dedup, some)
        empty.reverse()
        begun = time.perf_counter()
    for side in empty:
        with filling(side):
            side.dedup._index.refresh()  # noqa: SLF001 - so that all are counted
    return making


@contextmanager
def filling(side: Side) -> Iterator[None]:
    """Count the time of what is done inside as filling."""
    begun = time.perf_counter()
    yield
    side.filled += time.perf_counter() - begun


def put(dedup: Deduplicator, some: Sequence[Chunk]) -> None:
    """Write features alone, as a backfill does."""
    failed = dedup._index.put_batch(joined(some).records)  # noqa: SLF001 - no public name writes features alone
    expect(not failed, "some pages were not stored")


def ask_in_turn(sides: Sequence[Side], asked: Sequence[tuple[Page, str]], rounds: int) -> None:
    """Ask all pages of all sides, some pages at a time, so that other work on the machine falls on all alike."""
    order = list(sides)
    with ExitStack() as stack:
        for side in sides:
            side.sent, side.walked = stack.enter_context(requests_of(side.dedup))
        for number in range(rounds):
            for side in sides:
                side.rounds.append([])
            for some in chunked(asked, ASKED_AT_A_TIME):
                for side in order:
                    with side.watched.batch(len(some)):
                        side.rounds[number] += ask(side.dedup, some)
                order.reverse()


def rows_of_side(side: Side) -> list[Row]:
    """Times of the last round; of several those of all, and of the quickest answer to each page."""
    found = rows_of_answers(side.rounds[-1])
    if len(side.rounds) > 1:
        times = [[each.ms for each in answers] for answers in side.rounds]
        found.append(times_of(f"all {len(times)} rounds", list(chain.from_iterable(times))))
        found.append(times_of("quickest round of each", [min(some) for some in zip(*times, strict=True)]))
    return found


def processor_times(watched: Trace) -> dict[str, float]:
    """Processor time of a check, in milliseconds."""
    checks = watched.batches
    return {
        "own processor time, ms a check": round(1000 * watched.own / checks, 2),
        "server's, ms a check": round(1000 * watched.server / checks, 2),
        "of it compiling": round(1000 * watched.compiling / checks, 2),
    }


def collections(address: str) -> int:
    """Milliseconds for which the server has stood still to collect garbage."""
    nodes = call(f"{address.rpartition('/')[0]}/_nodes/stats/jvm?filter_path=nodes.*.jvm.gc")["nodes"]
    return sum(
        kind["collection_time_in_millis"]
        for node in nodes.values()
        for kind in node["jvm"]["gc"]["collectors"].values()
    )


@contextmanager
def requests_of(dedup: Deduplicator) -> Iterator[tuple[dict[str, list[float]], dict[str, list[int]]]]:
    """Of each request that is sent meanwhile its seconds, by its last word, and how much it asks for.

    Searches for the benchmark's own check are among them.
    """
    client = dedup._index._server.client  # type: ignore[attr-defined]  # noqa: SLF001 - only an index on a server has one
    send = client.transport.perform_request
    found, walked = defaultdict[str, list[float]](list), defaultdict[str, list[int]](list)

    def timed(method: str, target: str, **more: Any) -> Any:
        kind = target.partition("?")[0].rpartition("/")[2]
        begun = time.perf_counter()
        try:
            answer = send(method, target, **more)
        finally:
            found[kind].append(time.perf_counter() - begun)
        for name, count in walked_by(kind, more.get("body"), answer.body):
            walked[name].append(count)
        return answer

    client.transport.perform_request = timed
    try:
        yield found, walked
    finally:
        client.transport.perform_request = send


def asks(walked: Mapping[str, Sequence[int]]) -> list[Row]:
    """A row for each kind of thing that the server goes through for a check."""
    return [
        {"of a check": kind, "p50": quantile(counts, 0.5), "p95": quantile(counts, 0.95), "most": max(counts)}
        for kind, counts in walked.items()
    ]


def waits(sent: Mapping[str, Sequence[float]], checks: int) -> list[Row]:
    """A row for each kind of request: how many a check sends, and how long they take."""
    return [
        {
            "request": kind,
            "a check": round(len(times) / checks, 2),
            "p50 ms": round(1000 * quantile(times, 0.5), 2),
            "p95 ms": round(1000 * quantile(times, 0.95), 2),
            "ms a check": round(1000 * sum(times) / checks, 2),
        }
        for kind, times in sent.items()
    ]


def walked_by(kind: str, body: Any, answer: Any) -> Iterator[tuple[str, int]]:
    """What a request makes the server go through."""
    if kind == "_mtermvectors":
        yield "terms", sum(len(terms) for each in body["docs"] for terms in each["doc"].values())
        fields = [field for each in answer["docs"] for field in each.get("term_vectors", {}).values()]
        carried = [term["doc_freq"] for field in fields for term in field.get("terms", {}).values()]
        yield "terms that any page carries", len(carried)
        yield "pages that carry those asked for", sum(each for each in carried if each <= MAX_DF)
    elif kind == "_mget":
        yield "documents read by id", len(answer["docs"])


def parts_of(address: str) -> dict[str, int]:
    """Bytes of features by what they are for; empty where the server cannot tell."""
    found = call(f"{address}-dedup-features/_disk_usage?run_expensive_tasks=true", "POST")
    fields = next(each["fields"] for name, each in found.items() if name != "_shards")
    return {name: each["total_in_bytes"] for name, each in fields.items()}


def stored_facts(side: Side, stored: int) -> dict[str, Any]:
    """Bytes a page, their parts, the segments they lie in, and what filling took."""
    sizes = side.dedup.stats()["bytes"]
    if not isinstance(sizes, dict):
        raise TypeError(sizes)
    some = next(side.dedup._index.scan(batch=2_000))  # noqa: SLF001 - no public name gives payloads
    place = f"{side.address}-dedup-features"
    of_server = call(f"{place}/_stats/indexing,merge,segments")["_all"]["total"]
    return {
        "filled in s": round(side.filled, 1),
        "of it the server's indexing": round(of_server["indexing"]["index_time_in_millis"] / 1000, 1),
        "server's merging, s": round(of_server["merges"]["total_time_in_millis"] / 1000, 1),
        "segments": of_server["segments"]["count"],
        "bytes of a page's parts": ", ".join(
            f"{name} {round(size / stored)}"
            for name, size in sorted(parts_of(side.address).items(), key=lambda part: -part[1])
            if size >= stored
        ),
        "bytes of features a page": round(sizes["features"] / stored),
        "mean payload, bytes": round(sum(len(each.payload) for each in some) / len(some)),
    }


def call(url: str, method: str = "GET") -> Any:
    """The JSON answer of a request."""
    request = urllib.request.Request(url, method=method)  # noqa: S310 - the address the user gave
    with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310 - as above
        return json.loads(answer.read())


def remove(address: str) -> None:
    """Remove all indices of the name."""
    host, _, name = address.rpartition("/")
    call(f"{host}/{name}-dedup-*?expand_wildcards=all", "DELETE")


if __name__ == "__main__":
    sys.exit(main())
