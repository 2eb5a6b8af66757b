"""Answers that are none of Elasticsearch's: whatever is missing in them, the adapter raises an error of ours."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from elastic_transport import ApiResponseMeta, BaseNode, HttpHeaders
from elastic_transport._node._base import NodeApiResponse
from elasticsearch import Elasticsearch

from es_dedup.errors import UnreadableAnswer
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.candidates import CandidateSearcher
from es_dedup.index.elastic.collection import Collection
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.elastic.read_your_writes import PageWriteCache
from es_dedup.index.elastic.schema import Schema
from es_dedup.index.elastic.server import Server, reason_in
from es_dedup.index.elastic.source_index import SourceIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE_INDEX: list[Callable[[SourceIndex], object]] = [
    lambda source_index: source_index.read(["i/a"], ["x"]),
    lambda source_index: source_index.shards("i"),
    lambda source_index: list(source_index.without_dedup_field("i", ["x"])),
    lambda source_index: source_index.count("i"),
    lambda source_index: source_index.server(),
    lambda source_index: source_index.check(["i"]),
]


class Answers(BaseNode):
    """Gives one answer to everything."""

    answer: Any = None

    def perform_request(self, *_: Any, **__: Any) -> NodeApiResponse:
        head = HttpHeaders({"content-type": "application/json", "x-elastic-product": "Elasticsearch"})
        return NodeApiResponse(
            ApiResponseMeta(200, "1.1", head, 0.0, self.config), json.dumps(self.answer).encode()
        )

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(
    params=[
        None,
        5,
        [1],
        "x",
        {"docs": 1, "items": 1, "nodes": 1, "responses": 1},
        {"docs": [], "items": [], "nodes": {"a": {}}, "responses": []},
    ]
)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    Answers.answer = request.param
    with patch("elasticsearch.Elasticsearch", partial(Elasticsearch, node_class=Answers)):
        made = Server(parse_address("http://localhost:9200/i"), Options(retry_seconds=0))
        yield made
        made.close()


@pytest.mark.parametrize("ask", SOURCE_INDEX)
def test_reading_documents(server: Server, ask: Callable[[SourceIndex], object]) -> None:
    with pytest.raises(UnreadableAnswer):
        ask(SourceIndex(server))


def test_writing(server: Server) -> None:
    documents = Collection(server, "i")
    with pytest.raises(UnreadableAnswer):
        documents.write([documents.put("a", {})])


def test_searching_for_candidates(server: Server) -> None:
    with pytest.raises(UnreadableAnswer):
        CandidateSearcher(Collection(server, "i"), PageWriteCache(), Schema(server, "i")).ask([], ["{}"])


@pytest.mark.parametrize(
    "error",
    [
        None,
        5,
        "x",
        [],
        {},
        {"root_cause": ["x"]},
        {"type": "a", "caused_by": "x"},
        {"type": "a", "root_cause": {"b": 1}},
        {"caused_by": [1]},
    ],
)
def test_reasons_of_any_form(error: Any) -> None:
    assert isinstance(reason_in(error), str)
