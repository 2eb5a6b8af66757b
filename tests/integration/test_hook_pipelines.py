"""Ingest pipelines behind the hook: what they do with documents of the client's helpers, they do with ours."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.hook import DedupHook, SourceFields, dedup_bulk
from tests.servers import client_of, fresh_name, remove, url_with_processors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FOX: Final = "The quick brown fox jumps over the lazy dog. It was seen near the river at noon."
OWL: Final = "An owl sat on the old church tower. Nobody in the village had ever noticed it before."

PROCESSORS: Final[dict[str, list[dict[str, Any]]]] = {
    "drop": [{"drop": {"if": "ctx.how == 'odd'"}}],
    "fail": [{"fail": {"message": "not {{{_id}}}", "if": "ctx.how == 'odd'"}}],
    "set": [{"set": {"field": "site", "value": "{{{how}}}.example"}}],
    "rename": [{"rename": {"field": "how", "target_field": "kind"}}],
    "remove": [{"remove": {"field": ["how"]}}],
    "fingerprint": [{"fingerprint": {"fields": ["text"], "target_field": "digest"}}],
    "html_strip": [{"html_strip": {"field": "text"}}],
    "script": [{"script": {"source": "ctx.how = ctx.how + '!'", "if": "ctx.how == 'odd' || ctx.n == null"}}],
    "date_index_name": [
        {"date_index_name": {"field": "at", "index_name_prefix": "INDEX-", "date_rounding": "M"}}
    ],
    "reroute": [{"reroute": {"destination": "INDEX-elsewhere", "if": "ctx.how == 'odd'"}}],
    "pipeline": [{"pipeline": {"name": "no such", "ignore_missing_pipeline": True}}],
}
"""One pipeline a processor; ``INDEX`` stands for the name of the index."""


@contextmanager
def pipeline_of(client: Elasticsearch, index: str, processors: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A pipeline, and at the end neither it nor the indices that it wrote to are left."""
    name = f"{index}-pipeline"
    text = Elasticsearch("http://127.0.0.1:1").transport.serializers.get_serializer("application/json")
    body = text.loads(text.dumps(list(processors)).replace(b"INDEX", index.encode()))
    client.ingest.put_pipeline(id=name, processors=body)
    try:
        yield name
    finally:
        client.indices.delete(index=f"{index}*", ignore_unavailable=True)
        client.ingest.delete_pipeline(id=name)


def stories() -> list[dict[str, Any]]:
    """Two stories with a copy each."""
    texts = {"a": FOX, "b": OWL, "c": FOX, "d": OWL}
    return [
        {"_id": name, "how": "odd" if name in "ad" else "even", "at": f"2026-0{at + 1}-15", "text": text}
        for at, (name, text) in enumerate(texts.items())
    ]


def statuses(errors: Any) -> list[tuple[str, int]]:
    """The ``_id`` and status of each failed action."""
    return [(said["_id"], said["status"]) for error in errors for said in error.values()]


def found_in(client: Elasticsearch, index: str) -> dict[tuple[str, str], dict[str, Any]]:
    """All documents of indices whose names begin so: what is behind that name and ``_id``, with their sources."""
    client.indices.refresh(index=f"{index}*")
    hits = client.search(index=f"{index}*", size=1000)["hits"]["hits"]
    return {(hit["_index"].removeprefix(index), hit["_id"]): hit["_source"] for hit in hits}


@pytest.fixture(scope="module", params=["es8", "es9"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Elasticsearch, str]]:
    """A client, and the address of the server."""
    url = url_with_processors(request.param)
    with client_of(url) as client:
        yield client, url


@pytest.mark.parametrize("processor", PROCESSORS)
def test_each_processor_does_the_same_behind_the_hook(
    server: tuple[Elasticsearch, str], processor: str
) -> None:
    client, url = server
    theirs, ours = fresh_name(), fresh_name()
    processors = PROCESSORS[processor]
    with (
        pipeline_of(client, theirs, processors) as plain,
        pipeline_of(client, ours, processors) as hooked,
        DedupHook.open(f"{url}/{ours}-features", SourceFields("text")) as hook,
    ):
        try:
            expected = bulk(client, stories(), index=theirs, pipeline=plain, raise_on_error=False)
            result = dedup_bulk(
                client, stories(), index=ours, pipeline=hooked, raise_on_error=False, hook=hook
            )
            assert (result[0], statuses(result[1])) == (expected[0], statuses(expected[1]))
            found = found_in(client, ours)
            marks = {place: source.pop("dedup") for place, source in found.items()}
            assert found == found_in(client, theirs)
            for place, mark in marks.items():
                kept = {other for other, source in found.items() if source["text"] == found[place]["text"]}
                assert mark["cluster_size"] == len(kept)
                assert mark["canonical"] == (mark["relation"] == "unique")
                assert mark["cluster_id"] in {f"{ours}{name}/{_id}" for name, _id in kept}
        finally:
            remove(f"{url}/{ours}-features")


def test_documents_that_are_moved_renamed_and_dropped(server: tuple[Elasticsearch, str]) -> None:
    client, url = server
    index = fresh_name()
    processors = [
        {"drop": {"if": "ctx.how == 'drop'"}},
        {"set": {"field": "_index", "value": "INDEX-moved", "if": "ctx.how == 'move'"}},
        {"script": {"source": "ctx._id = ctx._id + '-new'", "if": "ctx.how == 'rename'"}},
    ]
    how = ["stay", "drop", "move", "rename"]
    actions = [{"_id": each, "how": each, "text": f"{each} is a story. It is told."} for each in how]
    with (
        pipeline_of(client, index, processors) as pipeline,
        DedupHook.open(f"{url}/{index}-features", SourceFields("text")) as hook,
    ):
        try:
            assert tuple(dedup_bulk(client, actions, index=index, hook=hook, pipeline=pipeline)) == (4, [])
            places = [(index, "stay"), (f"{index}-moved", "move"), (index, "rename-new")]
            assert {
                (f"{index}{name}", _id): source["dedup"]["cluster_id"]
                for (name, _id), source in found_in(client, index).items()
            } == {place: "/".join(place) for place in places}
            assert hook._index.get_many([f"{index}/{each}" for each in how]).keys() == {f"{index}/stay"}
        finally:
            remove(f"{url}/{index}-features")
