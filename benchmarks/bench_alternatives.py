"""What do features of Elasticsearch find of the same duplicates? Each on the same 10,000 pages of one server.

Approaches: the ingest processor ``fingerprint`` and ``collapse`` on its field; ``collapse`` on the title; ``more_like_this``; the token
filter ``min_hash``; and es-dedup with its default settings. Pairs of the labelled sets portal-zh, news-zh-2025 and news-en: *same*
are duplicate and containing pairs, *different* those of different articles. A pair counts as found where both pages are in one
group (fingerprint, collapse) or where either page is among the ten best hits of the other (more_like_this, min_hash);
es-dedup finds a pair by a stored relation or a common cluster. Bytes are those of the approach's index less those of an index
that holds the pages alone, both merged to one segment. Processor seconds are those of this process and of the server's.

The value of the processor (SHA-1 of the field's text) is computed here: the servers of ``scripts/servers`` have no ingest processors.
``min_hash`` needs the module ``analysis-common``, which ``scripts/servers up bundled`` has; elsewhere it is left out. Its tokens
stand at one position, where ``match`` ignores ``minimum_should_match``: each is a clause of a ``bool`` query here.
"""

from __future__ import annotations

import hashlib
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from compaction import compact
from elasticsearch import ApiError, Elasticsearch
from elasticsearch.helpers import bulk
from harness import Row, cpu_seconds, expect, parser_of, report, server_url, share
from labelled import PairSet, pair_sets

from es_dedup import Deduplicator
from es_dedup.index.factory import open_index
from es_dedup.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup import Page

    Pair = tuple[str, str]

SETS: Final = ("portal-zh", "news-zh-2025", "news-en")
PAGES: Final = 10_000
HITS: Final = 10
MINIMUMS: Final = ("30%", "60%", "90%")
HASHES: Final = 128
INDEX: Final = "bench-alternatives"
MIN_HASH: Final[dict[str, Any]] = {
    "filter": {
        "five": {"type": "shingle", "min_shingle_size": 5, "max_shingle_size": 5, "output_unigrams": False},
        "hashes": {
            "type": "min_hash",
            "hash_count": 1,
            "bucket_count": HASHES,
            "hash_set_size": 1,
            "with_rotation": True,
        },
    },
    "analyzer": {"min_hash": {"tokenizer": "standard", "filter": ["lowercase", "five", "hashes"]}},
}
TEXT: Final = {"type": "text"}
KEYWORD: Final = {"type": "keyword", "ignore_above": 8000}


@dataclass
class Cost:
    """What a step took."""

    client: float = 0.0
    server: float = 0.0
    wall: float = 0.0


class Corpus:
    """The server, its documents, and the cost of what is done there."""

    def __init__(self, client: Elasticsearch, pages: Sequence[Page]) -> None:
        self.client, self.pages = client, pages
        self.asked: dict[str, list[str]] = {}

    def _server_seconds(self) -> float:
        nodes = self.client.nodes.stats(metric="process")["nodes"].values()
        return float(sum(node["process"]["cpu"]["total_in_millis"] for node in nodes)) / 1000

    @contextmanager
    def measured(self) -> Iterator[Cost]:
        """Fills the cost when the block ends."""
        cost, before = Cost(), (cpu_seconds(), self._server_seconds(), time.perf_counter())
        yield cost
        after = (cpu_seconds(), self._server_seconds(), time.perf_counter())
        cost.client, cost.server, cost.wall = (
            round(new - old, 1) for new, old in zip(after, before, strict=True)
        )

    def fill(self, fields: dict[str, Any], analysis: dict[str, Any] | None = None) -> tuple[int, Cost]:
        """An index of the pages with some fields; its bytes in one segment, and the cost of writing."""
        self.client.indices.delete(index=INDEX, ignore_unavailable=True)
        settings = {
            "number_of_replicas": 0,
            "refresh_interval": -1,
            **({"analysis": analysis} if analysis else {}),
        }
        self.client.indices.create(
            index=INDEX, settings=settings, mappings={"properties": fields, "dynamic": False}
        )
        with self.measured() as cost:
            bulk(self.client, self._actions(fields), chunk_size=500)
            self.client.indices.refresh(index=INDEX)
        self.client.options(request_timeout=600).indices.forcemerge(index=INDEX, max_num_segments=1)
        self.client.indices.flush(index=INDEX)
        stats = self.client.indices.stats(index=INDEX, metric="store,docs")["_all"]["primaries"]
        expect(stats["docs"]["count"] == len(self.pages), "pages are missing")
        return int(stats["store"]["size_in_bytes"]), cost

    def _actions(self, fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for page in self.pages:
            source = {"text": page.text or "", "title": page.title or ""}
            if "fingerprint" in fields:
                source["fingerprint"] = hashlib.sha1(
                    (page.text or "").encode(), usedforsecurity=False
                ).hexdigest()
            yield {"_index": INDEX, "_id": page.id, "_source": source}

    def grouped_by(self, field: str) -> dict[str, str]:
        """The group of each page by a keyword field, as ``collapse`` makes them; pages without a value are in none."""
        found: dict[str, str] = {}
        after: list[Any] | None = None
        while True:
            answer = self.client.search(
                index=INDEX,
                sort=["_doc"],
                size=1000,
                source=False,
                docvalue_fields=[{"field": field}],
                search_after=after,
            )
            hits = answer["hits"]["hits"]
            if not hits:
                return found
            values = ((hit["_id"], hit.get("fields", {}).get(field, [""])[0]) for hit in hits)
            found |= {page_id: value for page_id, value in values if value}
            after = hits[-1]["sort"]

    def nearest(self, page_ids: Sequence[str], query: Any) -> dict[str, list[str]]:
        """The ten best hits of a query for each page, without the page itself."""
        found = {}
        for page_id in page_ids:
            answer = self.client.search(index=INDEX, query=query(page_id), size=HITS + 1, source=False)
            hits = [hit["_id"] for hit in answer["hits"]["hits"] if hit["_id"] != page_id]
            found[page_id] = hits[:HITS]
        return found


def pages_and_pairs(sets: Sequence[PairSet]) -> tuple[list[Page], list[PairSet]]:
    """The labelled pages of all sets and others, ten thousand together."""
    labelled = {page_id for each in sets for pair in [*each.same, *each.other] for page_id in pair}
    every = {page.id: page for each in sets for page in each.pages}
    expect(labelled <= every.keys(), "a labelled page is missing")
    first = [every[page_id] for page_id in sorted(labelled)]
    rest = islice((page for page_id, page in every.items() if page_id not in labelled), PAGES - len(first))
    return [*first, *rest], list(sets)


def rows_for(name: str, sets: Sequence[PairSet], found: Any, facts: Row) -> list[Row]:
    """One row for each set."""
    rows = []
    for each in sets:
        same, other = ([pair for pair in pairs if found(pair)] for pairs in (each.same, each.other))
        rows.append(
            {
                "approach": name,
                "set": each.name,
                "recall": share(len(same), len(each.same)),
                "same found": f"{len(same)} of {len(each.same)}",
                "different found": f"{len(other)} of {len(each.other)}",
                "precision": share(len(same), len(same) + len(other)),
                **facts,
            }
        )
    return rows


def cost_facts(size: int | None, writing: Cost, asking: Cost | None, asked: int) -> Row:
    """Columns of cost: bytes for each page, processor seconds of writing all pages, milliseconds for each page asked about."""
    total = writing.client + writing.server
    each = round((asking.client + asking.server) / asked * 1000, 1) if asking and asked else None
    return {"bytes/page": size, "write cpu s": round(total, 1), "ask cpu ms/page": each}


def in_one_group(groups: dict[str, str]) -> Any:
    """Whether both pages of a pair are in one group."""
    return lambda pair: pair[0] in groups and groups[pair[0]] == groups.get(pair[1])


def among_hits(hits: dict[str, list[str]]) -> Any:
    """Whether a page of a pair is among the hits of the other."""
    return lambda pair: pair[1] in hits[pair[0]] or pair[0] in hits[pair[1]]


def of_elasticsearch(corpus: Corpus, sets: Sequence[PairSet]) -> list[Row]:
    """Rows of what Elasticsearch has itself."""
    rows, plain = [], corpus.fill({"text": TEXT, "title": {"type": "text"}})
    asked = sorted({page_id for each in sets for pair in [*each.same, *each.other] for page_id in pair})

    def extra(size: int) -> int:
        return max(size - plain[0], 0) // len(corpus.pages)

    for name, field in (
        ("fingerprint of the text, collapse", "fingerprint"),
        ("collapse on the title", "title"),
    ):
        size, writing = corpus.fill({"text": TEXT, "title": {"type": "text"}} | {field: KEYWORD})
        found = in_one_group(corpus.grouped_by(field))
        rows += rows_for(name, sets, found, cost_facts(extra(size), writing, None, 0))
    corpus.fill({"text": TEXT, "title": {"type": "text"}})
    for least in MINIMUMS:

        def like(page_id: str, least: str = least) -> dict[str, Any]:
            given = {"fields": ["text"], "like": [{"_index": INDEX, "_id": page_id}], "min_term_freq": 1}
            return {"more_like_this": {**given, "minimum_should_match": least}}

        with corpus.measured() as asking:
            hits = corpus.nearest(asked, like)
        facts = cost_facts(0, plain[1], asking, len(asked))
        rows += rows_for(f"more_like_this, {least} of 25 terms", sets, among_hits(hits), facts)
    return [*rows, *of_min_hash(corpus, sets, asked, extra)]


def of_min_hash(corpus: Corpus, sets: Sequence[PairSet], asked: Sequence[str], extra: Any) -> list[Row]:
    """Rows of the token filter, where the server has it."""
    rows: list[Row] = []
    hashed = {"type": "text", "analyzer": "min_hash", "index_options": "docs", "norms": False}
    text = {**TEXT, "fields": {"hashes": hashed}}
    try:
        size, writing = corpus.fill({"text": text, "title": {"type": "text"}}, MIN_HASH)
    except ApiError as error:
        print(f"min_hash is left out: {error}")
        return rows
    for least in MINIMUMS:

        def like(page_id: str, least: str = least) -> dict[str, Any]:
            vectors = corpus.client.termvectors(
                index=INDEX, id=page_id, fields=["text.hashes"], positions=False
            )
            terms = vectors["term_vectors"].get("text.hashes", {}).get("terms", {})
            return {
                "bool": {
                    "should": [
                        {"constant_score": {"filter": {"term": {"text.hashes": term}}}} for term in terms
                    ],
                    "minimum_should_match": least if terms else 1,
                }
            }

        with corpus.measured() as asking:
            hits = corpus.nearest(asked, like)
        facts = cost_facts(extra(size), writing, asking, len(asked))
        rows += rows_for(f"min_hash, {least} of {HASHES} hashes", sets, among_hits(hits), facts)
    return rows


def of_es_dedup(corpus: Corpus, sets: Sequence[PairSet], url: str) -> list[Row]:
    """Rows of es-dedup on the same server: a scan of all pages."""
    address, settings = f"{url}/{INDEX}-es-dedup", Settings(workers=1)
    corpus.client.indices.delete(index=f"{INDEX}-es-dedup-*", ignore_unavailable=True, expand_wildcards="all")
    with corpus.measured() as writing, Deduplicator.open(address, settings=settings) as dedup:
        done = dedup.scan(corpus.pages)
    expect(not done.failed, "pages failed")
    with open_index(address, settings) as index:
        compact(index)
        labelled = {page_id for each in sets for pair in [*each.same, *each.other] for page_id in pair}
        related = {(edge.left, edge.right) for edge in index.edges_of(labelled)}
        clusters = {page_id: each.cluster_id for page_id, each in index.assignments(labelled).items()}
        sizes = index.sizes()
    grouped = in_one_group(clusters)

    def found(pair: Pair) -> bool:
        return tuple(sorted(pair)) in related or grouped(pair)

    without_texts = (sizes["total"] - sizes["texts"]) // len(corpus.pages)
    corpus.client.indices.delete(index=f"{INDEX}-es-dedup-*", ignore_unavailable=True, expand_wildcards="all")
    return rows_for("es-dedup", sets, found, cost_facts(without_texts, writing, None, 0))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    given = parser.parse_args(arguments)
    url = server_url("ES_DEDUP_BUNDLED_URL")
    pages, sets = pages_and_pairs(pair_sets(given.data, SETS))
    with Elasticsearch(url, request_timeout=120) as client:
        corpus = Corpus(client, pages)
        rows = of_es_dedup(corpus, sets, url)
        rows += of_elasticsearch(corpus, sets)
        client.indices.delete(index=INDEX, ignore_unavailable=True)
        nodes = client.nodes.info(metric="os")[
            "nodes"
        ].values()  # a server without its root module has no `GET /`
    version = ", ".join(sorted({node["version"] for node in nodes}))
    notes = {"pages": len(pages), "server": version}
    report("Features of Elasticsearch and es-dedup on the same pages", rows, given.json, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
