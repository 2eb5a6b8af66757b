"""OpenSearch: index, hook, searches and maintenance through opensearch-py, and which servers are taken for it.

``make test-opensearch-all`` runs the other tests of this folder on OpenSearch, too.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import AsyncOpenSearch, OpenSearch

from es_dedup import Deduplicator, Page
from es_dedup.collapse import AsyncDedupSearch, DedupSearch
from es_dedup.errors import SourceIncomplete
from es_dedup.hook import DedupHook, async_dedup_bulk, dedup_bulk
from es_dedup.index.opensearch import as_elasticsearch
from es_dedup.maintenance.attach import attach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.settings import Settings
from tests.commands import rows
from tests.hooked import FIELDS, STORIES, clusters, five
from tests.samples import SAMPLES
from tests.servers import fresh_name, url_of
from tests.source_indices import documents, made_up_documents, put

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "use-opensearch.md"

pytestmark = pytest.mark.other_servers


@pytest.fixture
def client() -> Iterator[OpenSearch]:
    with OpenSearch(url_of("opensearch"), timeout=60) as client:
        yield client


@pytest.fixture
def name(client: OpenSearch) -> Iterator[str]:
    """Of an index, and of the user's index."""
    name = fresh_name()
    yield name
    client.indices.delete(index=f"{name}*", params={"expand_wildcards": "all", "ignore_unavailable": "true"})


def command(place: str, *words: str) -> list[dict[str, Any]]:
    """The rows that a command prints."""
    return rows("--quiet", "--db", place, *words)


def test_the_command_line_finds_the_same_clusters_as_in_a_file(name: str, tmp_path: Path) -> None:
    place = f"{url_of('opensearch')}/{name}"
    found = []
    for where in (place, str(tmp_path / "pages.db")):
        command(where, "scan", str(SAMPLES / "pages" / "zhportal"))
        found.append(command(where, "clusters"))
    assert found[0] == found[1] != []


def test_hook_and_search_take_clients_of_opensearch(client: OpenSearch, name: str) -> None:
    with DedupHook.open(f"{url_of('opensearch')}/{name}", FIELDS) as hook:
        assert dedup_bulk(client, five(name), hook=hook)[0] == 5
        assert clusters(as_elasticsearch(client), name) == STORIES

        async def further() -> tuple[int, set[str]]:
            async with AsyncOpenSearch(url_of("opensearch"), timeout=60) as aclient:
                actions = [{**action, "_id": f"again-{action['_id']}"} for action in five(name)]
                written, _ = await async_dedup_bulk(aclient, actions, hook=hook, refresh=True)
                found = await AsyncDedupSearch(aclient, name).search({"size": 100})
                return written, {group.hit["_id"] for group in found.groups}

        written, shown = asyncio.run(further())
    assert (written, len(shown)) == (5, 3)
    assert {group.hit["_id"] for group in DedupSearch(client, name).search(mode="collapse").groups} <= {
        hit["_id"] for hit in client.search(index=name, size=100)["hits"]["hits"]
    }


@pytest.mark.parametrize("sort", [None, ["site"], [{"late": "asc"}], "late"])
def test_a_cursor_shows_each_group_once(client: OpenSearch, name: str, sort: Any) -> None:
    """Hits with equal values and hits without a value: OpenSearch 2.19 ends a walk at the first of the latter by itself."""
    shards = {"settings": {"number_of_shards": 2, "number_of_replicas": 0}}
    client.indices.create(
        index=name, body=shards | {"mappings": {"properties": {"site": {"type": "keyword"}}}}
    )
    late = {number: {"late": number % 7} if number % 3 else {} for number in range(500)}
    put(as_elasticsearch(client), name, {f"p{n}": {"site": "a", **more} for n, more in late.items()})
    body = {"size": 23} | ({"sort": sort} if sort else {})
    for mode in ("canonical", "collapse"):
        found = list(DedupSearch(client, name).pages(body, mode=mode))
        shown = [group.hit["_id"] for page in found for group in page.groups]
        assert len(shown) == 500
        assert set(shown) == {f"p{number}" for number in late}
        if sort:
            assert {len(group.hit["sort"]) for page in found for group in page.groups} == {1}


def test_the_program_of_the_guide_runs(client: OpenSearch, name: str) -> None:
    (program,) = re.findall(
        r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    url = url_of("opensearch")
    here = (
        program.replace("http://localhost:9261", url)
        .replace("/pages", f"/{name}")
        .replace('"news"', f'"{name}-news"')
    )
    said = "print(written, errors, [group.hit['_source']['dedup']['canonical'] for group in page.groups])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", here + said], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 [] [True]\n"


def test_an_index_that_keeps_a_part_of_its_documents_is_refused(client: OpenSearch, name: str) -> None:
    client.indices.create(index=name, body={"mappings": {"_source": {"excludes": ["raw"]}}})
    put(as_elasticsearch(client), name, {"a": {"html": "<p>text</p>", "raw": "only here"}})
    place = f"{url_of('opensearch')}/{name}"
    with (
        open_context(place, Settings()) as site,
        pytest.raises(SourceIncomplete, match=r"_source\.excludes: raw"),
    ):
        attach(site, name, FIELDS)


def test_a_users_index_is_maintained(client: OpenSearch, name: str) -> None:
    place = f"{url_of('opensearch')}/{name}"
    own = as_elasticsearch(client)
    given = dict(list(documents(made_up=60).items())[-100:])
    client.indices.create(
        index=name, body={"mappings": {"properties": {"html": {"type": "text", "index": False}}}}
    )
    put(own, name, given)
    command(place, "elastic", "attach", name, "--content-field", "html", "--html")
    for job in ("backfill --inline", "recluster --inline", "reindex"):
        command(place, "elastic", *job.split())
        client.indices.refresh(index=name)
        assert (
            client.count(index=name, body={"query": {"exists": {"field": "dedup.cluster_id"}}})["count"]
            == 100
        )
    command(place, "elastic", "audit")
    with Deduplicator.open(":memory:") as plain:
        plain.scan(Page(id=f"{name}/{key}", html=source["html"]) for key, source in given.items())
        expected = {frozenset(m.page_id for m in each.members) for each in plain.clusters(min_size=2)}
    with Deduplicator.open(place, read_only=True) as stored:
        found = {frozenset(m.page_id for m in each.members) for each in stored.clusters(min_size=2)}
    assert found == expected
    assert len(found) > 10
    command(place, "elastic", "detach", name)
    client.indices.refresh(index=name)
    assert client.count(index=name, body={"query": {"exists": {"field": "dedup.cluster_id"}}})["count"] == 0


def test_what_others_write_is_followed(client: OpenSearch, name: str) -> None:
    place = f"{url_of('opensearch')}/{name}"
    own = as_elasticsearch(client)
    given = list(made_up_documents(12).items())
    put(own, name, dict(given[:6]))
    command(place, "elastic", "attach", name, "--content-field", "html", "--html")
    (first,) = command(place, "elastic", "follow", "--inline", "--once")
    put(own, name, dict(given[6:]))
    client.delete(index=name, id=given[0][0], params={"refresh": "true"})
    (second,) = command(place, "elastic", "follow", "--inline", "--once")
    assert (first["state"], second["state"]) == ("done", "done")
    assert second["counts"]["gone"] == 1
    with open_context(place, Settings()) as site:
        assert site.index.count() == 11
        assert audit(site).clean
