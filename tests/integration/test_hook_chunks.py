"""Write policies do not depend on the size of chunks: the index ends as when documents come one after the other, but for what ``skip`` keeps."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.errors import DuplicatePage
from es_dedup.hook import DedupHook, dedup_bulk, dedup_streaming_bulk
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
@pytest.mark.parametrize("policy", ["mark", "overwrite", "fail"])
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


EDITED = TEXTS[0].rstrip() + " It was sunny."
LATER: dict[str, tuple[dict[str, Any], set[str]]] = {
    "delete": ({"_op_type": "delete"}, {"copy"}),
    "other text": ({"_op_type": "index", "_source": {"text": TEXTS[1]}}, {"copy", "original"}),
    "other text by an update": ({"_op_type": "update", "doc": {"text": TEXTS[1]}}, {"copy", "original"}),
    "an edit": ({"_op_type": "index", "_source": {"text": EDITED}}, {"original"}),
    "an update of another field": ({"_op_type": "update", "doc": {"views": 1}}, {"original"}),
    "a copy of another document": ({"_op_type": "index", "_source": {"text": TEXTS[2]}}, {"copy"}),
}
"""What a batch does to an original, and the documents that are left of it and of a copy of its old text."""


@pytest.mark.parametrize("between", [False, True], ids=["", "update-between"])
@pytest.mark.parametrize("first", ["copy", "original"])
@pytest.mark.parametrize("later", LATER)
def test_skip_keeps_a_copy_of_what_the_same_batch_replaces(
    hook: DedupHook, client: Elasticsearch, name: str, later: str, first: str, between: bool
) -> None:
    """One after the other the text of the copy is lost where its original comes later, in a batch of its own."""
    stored = [("original", TEXTS[0]), ("third", TEXTS[2])]
    dedup_bulk(
        client, [{"_index": name, "_id": each, "_source": {"text": text}} for each, text in stored], hook=hook
    )
    change, expected = LATER[later]
    actions = [{"_id": "copy", "_source": {"text": TEXTS[0]}}, {"_id": "original", **change}]
    actions = actions if first == "copy" else actions[::-1]
    if between:
        actions.insert(1, {"_op_type": "update", "_id": "third", "doc": {"views": 1}})
    dedup_bulk(client, actions, index=name, hook=hook, policy="skip")
    if (first, later) == ("copy", "an edit"):
        expected = {"copy"}  # the edit comes after the copy, and gives way to it
    assert state(client, name).keys() == {"third", *expected}


@pytest.mark.parametrize("seed", range(8))
def test_skip_loses_no_text_that_a_batch_brings(
    hook: DedupHook, client: Elasticsearch, name: str, seed: int
) -> None:
    source = random.Random(seed)
    first = {each["_id"]: each for each in some_actions(source, 9) if each["_op_type"] == "index"}
    dedup_bulk(client, first.values(), index=name, hook=hook)
    actions = {each["_id"]: each for each in some_actions(source, 12)}
    given: dict[str, Any] = {"index": name, "policy": "skip", "raise_on_error": False}
    done = dedup_streaming_bulk(client, actions.values(), hook=hook, **given)
    taken = [actions[answer["_id"]] for ok, result in done if ok for answer in result.values()]
    brought = [(each.get("_source") or each.get("doc") or {"text": ""})["text"] for each in taken]
    left = [text for text, _ in state(client, name).values()]
    assert all(any(text in other for other in left) for text in brought), (seed, actions)
