"""A corpus on a real server whose groups are known, for all files of collapsed searches."""

from collections.abc import Iterator

import pytest
from elasticsearch import Elasticsearch

from es_dedup.collapse import DedupSearch
from tests.collapsing import Corpus, create, fill, invented
from tests.servers import client_of, fresh_name, url_of


@pytest.fixture(scope="session")
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture(scope="session", params=[0.0, 0.3], ids=["all marked", "some unmarked"])
def corpus(client: Elasticsearch, request: pytest.FixtureRequest) -> Iterator[Corpus]:
    """Two thousand pages; a third of them have no field ``late``."""
    index = fresh_name()
    create(client, index, shards=2)
    pages = list(invented(2000, 7, unmarked=request.param))
    for number, page in enumerate(pages):
        if number % 3:
            page.source["late"] = number % 7
    yield fill(client, index, pages)
    client.indices.delete(index=index)


@pytest.fixture
def search(client: Elasticsearch, corpus: Corpus) -> DedupSearch:
    return DedupSearch(client, corpus.index)


@pytest.fixture
def index(client: Elasticsearch) -> Iterator[str]:
    """An empty index."""
    name = fresh_name()
    create(client, name)
    yield name
    client.indices.delete(index=name)
