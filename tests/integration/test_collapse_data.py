"""Collapsed searches over 10,000 real pages with the clusters es-dedup finds, against plain counting in Python."""

from __future__ import annotations

import json
import lzma
import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.collapse import DedupSearch
from tests.collapsing import Corpus, Stored, create, fill, first_of_each, ranked
from tests.servers import client_of, fresh_name, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch

pytestmark = [pytest.mark.slow, pytest.mark.data]
SETS = {"portal-zh": 1_768, "news-zh-2025": 5_000, "broadcast-zh": 3_232}
QUERIES = ["发展 经济", "记者", "台风", "救援 现场", "铁路", "总统 会谈", "没有此词语"]


def rows() -> Iterator[dict[str, Any]]:
    folder = Path(os.environ.get("ES_DEDUP_DATA", "nowhere"))
    if not folder.is_dir():
        pytest.skip("ES_DEDUP_DATA names no folder")
    for name, count in SETS.items():
        with lzma.open(folder / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            yield from (json.loads(line) | {"set": name} for line in islice(lines, count))


@pytest.fixture(scope="module")
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture(scope="module")
def corpus(client: Elasticsearch) -> Iterator[Corpus]:
    every = list(rows())
    names = [f"p{number}" for number in range(len(every))]
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(
            Page(id=name, text=row["text"], title=row.get("title") or "")
            for name, row in zip(names, every, strict=True)
        )
        found = {each.page_id: group for group in dedup._index.clusters() for each in group}
    pages = []
    for number, (name, row) in enumerate(zip(names, every, strict=True)):
        own = next(each for each in found[name] if each.page_id == name)
        canonical = own.canonical == name
        source = {
            "n": number,
            "body": row["text"],
            "site": row["set"],
            "day": "2026-01-01",
            "length": len(row["text"]) // 500,
            "dedup": {
                "cluster_id": own.cluster_id,
                "canonical": canonical,
                "relation": "unique" if canonical else str(own.relation),
                "cluster_size": len(found[name]),
            },
        }
        pages.append(Stored(name, source, own.cluster_id, canonical, marked=True))
    index = fresh_name()
    create(client, index, shards=2)
    yield fill(client, index, pages)
    client.indices.delete(index=index)


def test_there_is_something_to_collapse(corpus: Corpus) -> None:
    assert len(corpus.documents) == sum(SETS.values())
    assert len({page.group for page in corpus.documents.values()}) < 0.95 * len(corpus.documents)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("mode", ["canonical", "collapse"])
def test_pages_totals_and_facets_are_right(
    client: Elasticsearch, corpus: Corpus, mode: str, text: str
) -> None:
    body = {
        "query": {"match": {"body": {"query": text, "operator": "and"}}},
        "sort": ["_score", {"n": "asc"}],
        "track_total_hits": True,
        "aggs": {"sets": {"terms": {"field": "site"}}},
    }
    found = ranked(client, corpus.index, body)
    canonical = [hit for hit in found if corpus.documents[hit["_id"]].canonical]
    best = first_of_each(found, lambda hit: corpus.documents[hit["_id"]].group)
    wanted = [hit["_id"] for hit in (canonical if mode == "canonical" else best)]
    search = DedupSearch(client, corpus.index)
    for first in (0, 30, 500):
        page = search.search(body | {"from": first, "size": 30}, mode=mode, group_total="exact")
        assert [group.hit["_id"] for group in page.groups] == wanted[first : first + 30]
        totals = [page.total_documents, page.total_groups]
        assert [(total.value, total.exact) for total in totals if total] == [
            (len(found), True),
            (len(wanted), True),
        ]
    shown = canonical if mode == "canonical" else found
    groups: dict[str, set[str]] = {}
    for hit in shown:
        groups.setdefault(hit["_source"]["site"], set()).add(corpus.documents[hit["_id"]].group)
    counted = {bucket["key"]: bucket["doc_count"] for bucket in page.facets["sets"]["buckets"]}
    # two cluster ids of thousands may share a hash
    assert counted == pytest.approx({name: len(members) for name, members in groups.items()}, rel=0.005)
    walked = [
        group.hit["_id"] for page in search.pages(body | {"size": 250}, mode=mode) for group in page.groups
    ]
    assert walked == wanted
