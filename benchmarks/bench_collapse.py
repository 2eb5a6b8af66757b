"""What does it cost to show one hit per cluster, in each mode, beside the same search without?

The index holds items of broadcast-zh and, of every fifth, one to three copies without a part of its end, which make a cluster
with it. Each query is asked in every mode in turn, many times; of each the quickest time counts, for what else the machine does
only adds to it. *Cold* are searches before each of which the server's caches of the index were emptied; its cache of whole answers is off
throughout. Facets are asked for apart. Before any time is taken each mode's first page and totals are checked
against plain counting.

Needs a server: ``scripts/servers run es8 -- python benchmarks/bench_collapse.py``, or ``ES_DEDUP_ES_URL``.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk
from harness import Row, data_file, expect, parser_of, quantile, report, rows_of, server_url, temporary_index

from es_dedup.collapse import DedupSearch
from es_dedup.index.elastic.schema import load_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


QUERIES: Final = ("中国", "经济发展", "记者 今天", "总书记", "台风", "铁路 建设", "会议")
ROUNDS: Final = 15
COLD_ROUNDS: Final = 3
SIZE: Final = 10
WINDOW: Final = 60
ALL: Final = 500_000
"""``index.max_result_window``, so that the check can read all hits at once."""
GOALS: Final = {"canonical": 1.4, "collapse": 2.0, "collapse, groups exact": 3.0}
MODES: Final[dict[str, dict[str, Any]]] = {
    "canonical": {"mode": "canonical", "document_total": False},
    "canonical, both totals": {"mode": "canonical"},
    "collapse": {"mode": "collapse", "group_total": "none"},
    "collapse, groups estimated": {"mode": "collapse", "group_total": "estimate"},
    "collapse, groups exact": {"mode": "collapse", "group_total": "exact"},
    "group": {"mode": "group", "window": WINDOW},
}
FACETS: Final = {"months": {"date_histogram": {"field": "published", "calendar_interval": "month"}}}


@dataclass(frozen=True, slots=True)
class Book:
    """Cluster of each page and whether the page is its canonical document, by page id; known without the server."""

    cluster: dict[str, str]
    canonical: dict[str, bool]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--items", type=int, default=0, help="first so many items are used; 0: all")
    parser.add_argument("--shards", type=int, default=1, help="of the index")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each search is made")
    parser.add_argument("--queries", nargs="+", default=list(QUERIES), help="all their words have to match")
    given = parser.parse_args(arguments)
    url = server_url()
    rows = rows_of(data_file(given.data, "broadcast-zh.jsonl.xz"), given.items or None)
    with Elasticsearch(url, request_timeout=120) as client, temporary_index(client) as index:
        book = fill(client, index, rows, given.shards)
        found = []
        for facets in ({}, FACETS):
            found += measure(client, index, book, given.queries, given.rounds, facets)
    report(
        f"Collapsed search over {len(book.cluster):,} pages in {len(rows):,} clusters, shards: {given.shards}",
        found,
        given.json,
        {f"goal, {name}, x plain": goal for name, goal in GOALS.items()},
    )
    return 0


def with_copies(rows: Sequence[Row]) -> Iterator[tuple[Row, str, int]]:
    """Items and their copies, each with the id of its canonical item and the size of its cluster."""
    source = random.Random(17)
    for row in rows:
        copies = source.randint(1, 3) if source.random() < 0.2 else 0
        yield row, row["id"], 1 + copies
        for number in range(copies):
            text = row["text"][: round(len(row["text"]) * source.uniform(0.67, 0.95))]
            yield row | {"id": f"{row['id']}-copy{number}", "text": text}, row["id"], 1 + copies


def fill(client: Elasticsearch, index: str, rows: Sequence[Row], shards: int) -> Book:
    """Write the items with their ``dedup`` objects to a new index; clusters and canonical documents of what was written."""
    book = Book({}, {})
    properties = load_mapping("host")["template"]["mappings"]["properties"]
    properties |= {"text": {"type": "text"}, "title": {"type": "text"}, "published": {"type": "date"}}
    client.indices.create(
        index=index,
        mappings={"properties": properties},
        settings={
            "number_of_shards": shards,
            "number_of_replicas": 0,
            "max_result_window": ALL,
            "requests.cache.enable": False,
        },
    )

    def documents() -> Iterator[Row]:
        for row, item, size in with_copies(rows):
            name = row["id"]
            book.cluster[name], book.canonical[name] = item, name == item
            mark = {"cluster_id": item, "canonical": name == item, "cluster_size": size}
            day = str(row.get("time") or "20120101")
            published = f"{day[:4]}-{day[4:6]}-{day[6:8]}"
            source = {"text": row["text"], "title": row.get("title") or "", "published": published}
            yield {"_index": index, "_id": name, "_source": source | {"dedup": mark}}

    bulk(client, documents(), chunk_size=1000)
    client.indices.forcemerge(index=index, max_num_segments=1)
    client.indices.refresh(index=index)
    return book


def measure(
    client: Elasticsearch, index: str, book: Book, queries: Sequence[str], rounds: int, facets: dict[str, Any]
) -> list[Row]:
    """One row a mode: times over all queries, and how many times as long as without."""
    search = DedupSearch(client, index)
    asked = {
        text: {"query": {"match": {"text": {"query": text, "operator": "and"}}}, "size": SIZE}
        | ({"aggs": facets} if facets else {})
        for text in queries
    }
    for body in asked.values():
        check(client, search, book, body)

    def timed(rounds: int, before: Callable[[], Any]) -> dict[str, dict[str, float]]:
        times: dict[str, dict[str, float]] = {name: {} for name in ("plain", *MODES)}
        for _ in range(rounds):
            for text, body in asked.items():
                before()
                keep_least(times["plain"], text, partial(client.search, index=index, body=body))
                for name, changes in MODES.items():
                    before()
                    keep_least(times[name], text, partial(search.search, body, **changes))
        return times

    cold = timed(min(rounds, COLD_ROUNDS), partial(client.indices.clear_cache, index=index))
    times = timed(rounds, lambda: None)
    plain = times["plain"]
    return [
        {
            "search": name + (" + facets" if facets else ""),
            "queries": len(found),
            "p50 ms": round(quantile(list(found.values()), 0.5), 2),
            "slowest ms": round(max(found.values()), 2),
            "x plain": round(sum(found.values()) / sum(plain.values()), 2),
            "x, worst query": round(max(found[text] / plain[text] for text in plain), 2),
            "x plain, cold": round(sum(cold[name].values()) / sum(cold["plain"].values()), 2),
        }
        for name, found in times.items()
    ]


def keep_least(times: dict[str, float], text: str, ask: Callable[[], Any]) -> None:
    """Note the time of one search in milliseconds, if it is the quickest so far."""
    begun = time.perf_counter()
    ask()
    times[text] = min(times.get(text, float("inf")), 1000 * (time.perf_counter() - begun))


def check(client: Elasticsearch, search: DedupSearch, book: Book, body: dict[str, Any]) -> None:
    """First page and totals of each mode against plain counting over all hits."""
    every = client.search(
        index=search.index, query=body["query"], size=ALL, source=False, track_total_hits=True
    )["hits"]
    hits = every["hits"]
    best: dict[str, Any] = {}
    for hit in hits:
        best.setdefault(book.cluster[hit["_id"]], hit)
    canonical = [hit for hit in hits if book.canonical[hit["_id"]]]
    counted = body | {"track_total_hits": True}
    for name, wanted in (("collapse", list(best.values())), ("canonical", canonical)):
        page = search.search(counted, mode=name, group_total="exact")
        totals = [total and (total.value, total.exact) for total in (page.total_documents, page.total_groups)]
        expect(totals == [(len(hits), True), (len(wanted), True)], f"{name}: {totals}, {len(wanted)} groups")
        # hits of one score are in no order
        scores = [round(hit["_score"], 5) for hit in wanted[:SIZE]]
        expect([round(group.hit["_score"], 5) for group in page.groups] == scores, f"{name}: other hits")
    about = search.search(counted, mode="collapse").total_groups
    expect(about is not None and abs(about.value - len(best)) <= 0.002 * len(best) + 1, f"estimate {about}")
    other_hits = search.search(counted, mode="group", window=WINDOW)
    groups = Counter(book.cluster[hit["_id"]] for hit in hits[:WINDOW])
    total = other_hits.total_groups
    expect(total is not None and total.value == len(groups), f"group: {total} of {len(groups)}")


if __name__ == "__main__":
    sys.exit(main())
