"""How long does one check take against N pages on Elasticsearch, and how much is stored for each?

Stored are the items of broadcast-zh, then pages made of their clauses until there are N. Asked, one page at a time: edited
copies of stored items, and made pages that are new. All is asked once before, to warm the server. The index is removed at the end.
"""

from __future__ import annotations

import json
import random
import sys
import time
import urllib.request
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from bench_check import LEAST_CHARS, WARM, ask, edited, times_of
from elasticsearch import Elasticsearch
from harness import Row, data_file, expect, page_of, parser_of, quantile, report, rows_of
from traced import Trace, pid_of

from es_dedup import Deduplicator, Page
from es_dedup.batch.featurise import chunks
from es_dedup.batch.ingest import joined
from es_dedup.settings import Settings, load_settings

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_dedup.batch.featurise import Chunk

CHUNKS_A_WRITE: Final = 16  # of 256 pages
GOAL_MS: Final = 15.0
GOAL_BYTES: Final = 1_700
FULL_STOPS: Final = "。！？"
MAX_DF: Final = Settings().index.max_df
AS_IT_IS: Final = 0.1  # of the sentences of a made page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    given = options().parse_args(arguments)
    real = [page_of(row) for row in rows_of(data_file(given.data, "broadcast-zh.jsonl.xz"), given.stored)]
    clauses = clauses_of(real)
    asked = questions(real, clauses, given.pages)
    settings = settings_of(given)
    with Deduplicator.open(given.address, settings=settings) as dedup:
        begun = time.perf_counter()
        if not dedup.stats()["pages"]:
            fill(dedup, real, made(given.stored - len(real), clauses, seed=13, name="made"), settings)
        seconds = time.perf_counter() - begun
        expect(dedup.stats()["pages"] == given.stored, "the index holds other pages: name another")
        if given.compact:
            dedup._index.compact()  # type: ignore[attr-defined]  # noqa: SLF001 - only an index on a server can
        facts = stored_facts(dedup, given.address, given.stored, seconds)
        for _ in range(given.warm):  # the server's compiler works for the first thousands of requests
            ask(dedup, asked)
        with Elasticsearch(given.address.rpartition("/")[0]) as client:
            watched = Trace(pid_of(client))
        rounds: list[list[float]] = [[] for _ in range(given.rounds)]
        collected = collections(given.address)
        with requests_of(dedup) as (sent, walked), watched.batch(given.rounds * (len(asked) + WARM)):
            for each in rounds:
                found = ask(dedup, asked, each)
        checks = watched.batches
        facts |= {
            "own processor time, ms a check": round(1000 * watched.own / checks, 2),
            "server's, ms a check": round(1000 * watched.server / checks, 2),
            "of it compiling": round(1000 * watched.compiling / checks, 2),
            "its pauses for garbage, ms a check": round((collections(given.address) - collected) / checks, 3),
        }
    if not given.keep:
        remove(given.address)
    if given.rounds > 1:
        found.append(times_of(f"all {given.rounds} rounds", [ms for each in rounds for ms in each]))
        found.append(times_of("quickest round of each", [min(times) for times in zip(*rounds, strict=True)]))
    report("What a check asks for", asks(walked), None)
    report("What a check waits for", waits(sent, checks), None)
    report(
        f"One check against {given.stored:,} pages on Elasticsearch",
        found,
        given.json,
        {"goal, p95 in ms": GOAL_MS, **facts, "goal, bytes a page": GOAL_BYTES},
    )
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
    parser.add_argument("--method", default="judge", help="who decides: the judge, or one of the methods")
    return parser


def settings_of(given: Namespace) -> Settings:
    """The settings of the index: what was asked for, and no texts."""
    return load_settings(
        overrides={
            "elastic.durability": given.durability,
            "elastic.named_fields": not given.hashed,
            "elastic.also_stored": given.also.split(",") if given.also else [],
            "index.keep_text": False,
            "detectors": given.detectors.split(","),
            "judge.method": given.method,
        },
        environ={},
    )


def questions(real: Sequence[Page], clauses: Sequence[str], count: int) -> list[tuple[Page, str]]:
    """Pages to ask, each with the id of the stored page it is an edited copy of; half of them are new, with no such id."""
    source = random.Random(11)
    long = [page for page in real if len(page.text or "") >= LEAST_CHARS]
    copied = source.sample(long, count // 2)
    asked = [(edited(f"copy-of-{page.id}", page, source), page.id) for page in copied]
    asked += [(page, "") for page in made(count - len(asked), clauses, seed=12, name="new")]
    source.shuffle(asked)
    return asked


def clauses_of(pages: Sequence[Page]) -> list[str]:
    """Sentences of the pages, each once."""
    found: dict[str, None] = {}
    for page in pages:
        text = page.text or ""
        for mark in FULL_STOPS:
            text = text.replace(mark, mark + "\n")
        found.update((line, None) for line in text.split("\n") if len(line) > 8)
    return list(found)


def made(count: int, clauses: Sequence[str], *, seed: int, name: str) -> Iterator[Page]:
    """Pages of 4 to 24 sentences: one in ten is taken as it is, a few of them very often; the others are made of two.

    So most terms are rare, some are common and a few are in thousands of pages, as among real pages: of what a new page asks for,
    between a tenth and a fifth is stored among 70,000 broadcast items, and among 30,000 of these.
    """
    source = random.Random(seed)
    letters = "".join(clauses[::50])
    for number in range(count):
        sentences = (
            clauses[int(len(clauses) * source.random() ** 3)]
            if source.random() < AS_IT_IS
            else spliced(source, clauses, letters)
            for _ in range(source.randint(4, 24))
        )
        yield Page(id=f"{name}-{number:07}", text="".join(sentences), title=f"{name} {number}")


def spliced(source: random.Random, clauses: Sequence[str], letters: str) -> str:
    """The beginning of one sentence and the end of another, one character in ten replaced."""
    first, last = (clauses[int(len(clauses) * source.random())] for _ in range(2))
    at, to = (round(len(each) * source.uniform(0.25, 0.75)) for each in (first, last))
    text = list(first[:at] + last[to:])
    for _ in range(max(1, len(text) // 10)):
        text[int(len(text) * source.random())] = letters[int(len(letters) * source.random())]
    return "".join(text)


def fill(dedup: Deduplicator, real: Sequence[Page], more: Iterator[Page], settings: Settings) -> None:
    """Scan the real pages, with statistics and clusters; add the others' features in batches."""
    dedup.scan(real)
    with ThreadPoolExecutor(1) as writer:  # features are computed while the server takes those before
        writing = writer.submit(int)
        named = dedup._index.keeps_named  # noqa: SLF001 - as below
        for some in batched(chunks(more, settings, None, named=named), CHUNKS_A_WRITE):
            writing.result()
            writing = writer.submit(put, dedup, some)
        writing.result()
    dedup._index.refresh()  # noqa: SLF001 - so that all are counted


def put(dedup: Deduplicator, some: Sequence[Chunk]) -> int:
    """Write features alone, as a backfill does."""
    report = dedup._index.put_batch(joined(some).records)  # noqa: SLF001 - no public name writes features alone
    expect(not report.failed, "some pages were not stored")
    return report.written


def batched(values: Iterable[Chunk], size: int) -> Iterator[list[Chunk]]:
    """Values in lists of at most ``size``."""
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some


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


def stored_facts(dedup: Deduplicator, address: str, stored: int, seconds: float) -> dict[str, Any]:
    """Bytes a page, their parts, and the segments they lie in."""
    sizes = dedup.stats()["bytes"]
    if not isinstance(sizes, dict):
        raise TypeError(sizes)
    some = next(dedup._index.scan(batch=2_000))  # noqa: SLF001 - no public name gives payloads
    segments = call(f"{address}-dedup-features/_segments?filter_path=indices.*.shards")
    counts = [
        len(copy["segments"])
        for index in segments["indices"].values()
        for shard in index["shards"].values()
        for copy in shard
    ]
    return {
        "filled in s": round(seconds, 1),
        "segments": sum(counts),
        "bytes of a page's parts": ", ".join(
            f"{name} {round(size / stored)}"
            for name, size in sorted(parts_of(address).items(), key=lambda part: -part[1])
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
