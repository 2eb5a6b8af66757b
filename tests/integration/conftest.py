"""Places on real servers, and a hook on one, for the files that test them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from elasticsearch import Elasticsearch

from es_dedup.hook import DedupHook
from tests.hooked import FIELDS
from tests.servers import client_of, empty, fresh_name, remove, url_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of an index in a file."""
    return tmp_path / "pages.db"


@pytest.fixture(scope="module", params=["es8", "es9"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Features and a source index of one name."""
    place = f"{url_of(request.param)}/{fresh_name()}"
    yield place
    host, _, name = place.rpartition("/")
    remove(place)
    with client_of(host) as client:
        client.indices.delete(index=f"{name}*", ignore_unavailable=True)


@pytest.fixture(params=["es8", "es9"])
def own_address(request: pytest.FixtureRequest) -> Iterator[str]:
    """An index of one test alone."""
    place = f"{url_of(request.param)}/{fresh_name()}"
    yield place
    remove(place)


@pytest.fixture
def client(address: str) -> Iterator[Elasticsearch]:
    with client_of(address.rpartition("/")[0]) as client:
        yield client


@pytest.fixture
def name(address: str) -> str:
    return address.rpartition("/")[2]


@pytest.fixture
def hook(address: str, client: Elasticsearch, name: str) -> Iterator[DedupHook]:
    with DedupHook.open(address, FIELDS) as hook:
        yield hook
    empty(address)
    client.indices.delete(index=name, ignore_unavailable=True)
