"""Values as other tools write them, and what paths lead to."""

from typing import Any

import pytest

from es_dedup.index.source_index import text_of
from es_dedup.model.values import value_of

PARTS = {
    "parts": [{"text": "one", "tags": ["a", "b"]}, {"text": None}, "no object", {"text": "two", "tags": "c"}],
    "deep": [{"parts": [{"text": "one"}, {"text": "two"}]}, {"parts": {"text": "three"}}],
    "empty": [{"text": []}],
    "lists": [["one", None], [["two"]], 3],
}


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("parts.text", ["one", "two"], "one\ntwo"),
        ("parts.tags", ["a", "b", "c"], "a\nb\nc"),
        ("parts[3].text", "two", "two"),
        ("parts[0].tags[1]", "b", "b"),
        ("parts[9].text", None, ""),
        ("parts[9]", None, ""),
        ("parts.none", None, ""),
        ("empty.text", [], ""),
        ("deep.parts.text", ["one", "two", "three"], "one\ntwo\nthree"),
        ("deep[0].parts[1].text", "two", "two"),
        ("lists", PARTS["lists"], "one\ntwo\n3"),
    ],
)
def test_a_path_leads_through_lists_as_in_elasticsearch(path: str, value: Any, text: str) -> None:
    assert value_of(PARTS, path) == value
    assert text_of(PARTS, path) == text


@pytest.mark.parametrize("parts", [{"text": None}, [{"text": None}, {}], [{"text": []}]])
def test_a_field_without_a_value_is_there_in_a_list_too(parts: Any) -> None:
    absent = object()
    assert value_of({"parts": parts}, "parts.text", absent) in (None, [None], [])
    assert value_of({"parts": parts}, "parts.title", absent) is absent
