"""Write policies do not depend on the size of chunks: the index ends as when documents come one after the other, but for what ``skip`` keeps."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.errors import DuplicatePage
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index import factory
from es_dedup.index.embedded import EmbeddedIndex
from tests.hooked import FIELDS
from tests.servers import client_of, fresh_name, url_of
from tests.texts import article

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

SENTENCES = [f"{article(seed, sentences=6)}\n" for seed in range(6)]
# Stories that are the same in part: 3 holds 0 whole, 4 shares half with 0 and half with 1.
TEXTS = [
    SENTENCES[0],
    SENTENCES[1],
    SENTENCES[2],
    SENTENCES[0] + SENTENCES[3] + SENTENCES[4],
    SENTENCES[0] + SENTENCES[1],
]
POLICIES = ["mark", "skip", "overwrite", "fail"]


def some_actions(source: random.Random, count: int) -> list[dict[str, Any]]:
    """Actions on few documents with few texts, so that most of them meet others."""
    made: list[dict[str, Any]] = []
    for _ in range(count):
        text, day = source.randrange(len(TEXTS)), source.randint(1, 9)
        operation = source.choices(["index", "create", "update", "delete"], [12, 2, 2, 2])[0]
        action: dict[str, Any] = {"_op_type": operation, "_id": source.choice("abcdef")}
        fields = {"text": TEXTS[text], "title": f"Title {text}", "published": f"2024-05-{day:02}"}
        if operation == "update":
            action["doc"] = fields
        elif operation != "delete":
            action["_source"] = fields
        made.append(action)
    return made


def state(client: Elasticsearch, name: str) -> dict[str, tuple[Any, ...]]:
    """Texts and ``dedup`` fields of all documents, the page ids in them without the index."""
    client.indices.refresh(index=name, ignore_unavailable=True)
    hits = client.search(index=name, size=100, ignore_unavailable=True)["hits"]["hits"]
    found = {}
    for hit in hits:
        dedup = {key: value for key, value in hit["_source"]["dedup"].items() if value not in (None, [])}
        # A cluster keeps the id of the page that was there first: what counts is who is in it.
        dedup["cluster_id"] = sorted(
            each["_id"] for each in hits if each["_source"]["dedup"]["cluster_id"] == dedup["cluster_id"]
        )
        if "duplicate_of" in dedup:
            dedup["duplicate_of"] = dedup["duplicate_of"].rpartition("/")[2]
        if "contained_in" in dedup:
            dedup["contained_in"] = sorted(each.rpartition("/")[2] for each in dedup["contained_in"])
        found[hit["_id"]] = (hit["_source"]["text"], tuple(sorted((k, str(v)) for k, v in dedup.items())))
    return found


def written(
    hook: DedupHook, client: Elasticsearch, name: str, actions: list[dict[str, Any]], **options: Any
) -> str:
    """What becomes of actions after an earlier call; the page that policy ``fail`` refuses."""
    try:
        dedup_bulk(client, actions, index=name, hook=hook, raise_on_error=False, **options)
    except DuplicatePage as duplicate:
        return duplicate.page_id.rpartition("/")[2]
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_size_of_chunks_makes_no_difference(policy: str, seed: int) -> None:
    source = random.Random(seed)
    before, actions = some_actions(source, 3), some_actions(source, 8)
    url, name = url_of("es8"), fresh_name()
    expected = None
    with client_of(url) as client:
        for size in range(1, len(actions) + 1):
            index = EmbeddedIndex(":memory:", features={})
            source_index = factory.open_source_index(f"{url}/{name}", Settings())
            try:
                with DedupHook(index, source_index, FIELDS, Settings()) as hook:
                    written(hook, client, name, before, chunk_size=1)
                    refused = written(hook, client, name, actions, chunk_size=size, policy=policy)
                    found = refused, state(client, name)
            finally:
                client.indices.delete(index=name, ignore_unavailable=True)
            expected = expected or found
            assert found == expected, (size, [(each["_op_type"], each["_id"]) for each in actions])


@pytest.mark.parametrize("policy", ["mark", "skip", "overwrite"])
@pytest.mark.parametrize("seed", range(6))
def test_the_size_of_calls_makes_no_difference_to_a_library_index(policy: str, seed: int) -> None:
    source = random.Random(seed)
    texts = [source.randrange(len(TEXTS)) for _ in range(9)]
    pages = [
        Page(
            f"p{at}", text=TEXTS[text], title=f"Title {text}", published=f"2024-05-{source.randint(1, 9):02}"
        )
        for at, text in enumerate(texts)
    ]
    found = []
    for size in (1, 2, 4, 9):
        with Deduplicator.open(":memory:") as dedup:
            for first in range(0, len(pages), size):
                dedup.add_many(pages[first : first + size], policy=policy)
            found.append({page.id for page in pages if page.id in dedup._index.get_many([page.id])})
    assert found[1:] == found[:-1]


@pytest.mark.parametrize("chunk_size", [1, 500])
@pytest.mark.parametrize("first", ["index", "delete"])
def test_skip_keeps_a_copy_of_what_the_same_batch_deletes(
    hook: DedupHook, client: Elasticsearch, name: str, first: str, chunk_size: int
) -> None:
    """One after the other the copy goes with its original only where it comes before the delete, in a batch of its own."""
    source = {"text": TEXTS[0], "title": "Title", "published": "2024-05-01"}
    dedup_bulk(client, [{"_index": name, "_id": "original", "_source": source}], hook=hook)
    actions: list[dict[str, Any]] = [
        {"_op_type": "index", "_index": name, "_id": "copy", "_source": source},
        {"_op_type": "delete", "_index": name, "_id": "original"},
    ]
    given = actions if first == "index" else actions[::-1]
    dedup_bulk(client, given, hook=hook, policy="skip", chunk_size=chunk_size)
    assert state(client, name).keys() == (set() if (first, chunk_size) == ("index", 1) else {"copy"})
