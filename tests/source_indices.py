"""Source indices for tests: the sample pages and made-up ones on a real server."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.index.source_index import SourceFields
from es_dedup.maintenance.attach import attach
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.settings import Settings
from tests.samples import pages
from tests.servers import client_of, fresh_name, url_of
from tests.texts import article

FIELDS = SourceFields("html", html=True, published="at")


SMALL: Final = {"batch": 32, "part_documents": 150, "lease_seconds": 3, "tend_seconds": 1}
"""Small batches and short leases, so that a test meets many of them."""


def settings(**maintenance: Any) -> Settings:
    """Small batches and these settings of maintenance."""
    return Settings.model_validate({"maintenance": SMALL | maintenance})


def documents(made_up: int = 0, seed: int = 1) -> dict[str, dict[str, Any]]:
    """The sample pages and made-up ones."""
    found: dict[str, dict[str, Any]] = {}
    for page in pages():
        html = page.html.decode("utf-8", "replace") if isinstance(page.html, bytes) else page.html
        found[page.id] = {
            "html": html,
            "url": page.url,
            "at": str(page.published) if page.published else None,
        }
    return found | made_up_documents(made_up, seed)


def made_up_documents(count: int, seed: int = 1) -> dict[str, dict[str, Any]]:
    """Made-up pages of which every third is a copy of the one before."""
    found: dict[str, dict[str, Any]] = {}
    for number in range(count):
        text = article(100_000 * seed + number - (number % 3 == 2))
        html = f"<html><head><title>Page {number - (number % 3 == 2)}</title></head><body><p>{text}</p></body></html>"
        found[f"made-{number:05}"] = {"html": html, "at": f"2026-01-{number % 28 + 1:02}"}
    return found


@contextmanager
def source_index(
    given: Mapping[str, Mapping[str, Any]], shards: int = 2
) -> Iterator[tuple[Elasticsearch, str]]:
    """A fresh source index with these documents; it and everything named after it are removed at the end."""
    url, name = url_of("es8"), fresh_name()
    with client_of(url) as client:
        try:
            mappings = {"properties": {"html": {"type": "text", "index": False}, "at": {"type": "keyword"}}}
            client.indices.create(index=name, settings={"number_of_shards": shards}, mappings=mappings)
            put(client, name, given)
            yield client, name
        finally:
            client.indices.delete(index=f"{name}*", expand_wildcards="all", ignore_unavailable=True)


def put(client: Elasticsearch, index: str, given: Mapping[str, Mapping[str, Any]]) -> None:
    """Write documents as their owner does: without a thought of ``dedup``."""
    bulk(
        client,
        ({"_index": index, "_id": key, "_source": source} for key, source in given.items()),
        refresh=True,
    )


@contextmanager
def attached(
    name: str, given: Settings | None = None, target: str | None = None, fields: SourceFields = FIELDS
) -> Iterator[MaintenanceContext]:
    """A site of the source index's own name with the index attached."""
    with open_context(f"{url_of('es8')}/{name}", given or settings()) as site:
        attach(site, target or name, fields)
        yield site


def canonical_counts(client: Elasticsearch, index: str) -> dict[str, int]:
    """Number of canonical documents of each cluster, as a search sees it."""
    client.indices.refresh(index=index)
    answer = client.search(
        index=index,
        size=0,
        aggs={
            "clusters": {
                "terms": {"field": "dedup.cluster_id", "size": 10_000},
                "aggs": {"heads": {"filter": {"term": {"dedup.canonical": True}}}},
            }
        },
    )
    return {
        bucket["key"]: bucket["heads"]["doc_count"]
        for bucket in answer["aggregations"]["clusters"]["buckets"]
    }


def count_with_dedup_field(client: Elasticsearch, index: str) -> int:
    """Number of documents with a cluster."""
    client.indices.refresh(index=index)
    return int(client.count(index=index, query={"exists": {"field": "dedup.cluster_id"}})["count"])


def ids_of(names: Iterable[str], index: str) -> list[str]:
    """Page ids of documents without routing."""
    return [f"{index}/{name}" for name in names]
