"""The mapping files, and terms as fields of a document."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from es_dedup.detectors import ccdet, char_frequency, coverage, dwdcs, multi_simhash, simhash
from es_dedup.detectors.named_fields import field_types, term_fields
from es_dedup.index.elastic import documents
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.elastic.documents import SEARCHED, SHOWN, TermFields
from es_dedup.index.elastic.schema import KINDS, SCHEMA_VERSION, add_fields, body_of, load_mapping
from es_dedup.index.records import RecordBatch
from es_dedup.settings import Settings
from es_dedup.testing.builders import record

ROOT = Path(__file__).parents[4]
METHODS = Settings(detectors=("ccdet", "simhash", "coverage", "multi_simhash", "char_frequency", "dwdcs"))
FIELDS = TermFields(term_fields(METHODS), field_types(METHODS))
FOLDER = ROOT / "mappings" / f"v{SCHEMA_VERSION}"


def fields_of(kind: str) -> dict[str, Any]:
    loaded = json.loads((FOLDER / f"{kind}.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = (loaded.get("template") or loaded)["mappings"]["properties"]
    if kind == "host":
        return {f"dedup.{name}": field for name, field in found["dedup"]["properties"].items()}
    return found


def described(kind: str) -> list[str]:
    """Field names out of the README's table for one file, in order."""
    text = (ROOT / "mappings" / "README.md").read_text(encoding="utf-8")
    section = text.split(f"## {kind}.json")[1].split("\n## ")[0]
    return re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize("kind", [*KINDS, "host"])
def test_every_field_has_one_line_in_the_readme(kind: str) -> None:
    assert described(kind) == list(fields_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_fields_are_errors_and_marks_are_there(kind: str) -> None:
    loaded = load_mapping(kind)["mappings"]
    assert loaded["dynamic"] == "strict"
    assert loaded["_meta"]["es_dedup"] == {"schema": SCHEMA_VERSION, "kind": kind}


def test_candidates_are_found_by_lean_fields() -> None:
    found = fields_of("features")
    for name in FIELDS.searched:
        assert found[name] == {"type": "keyword", "doc_values": False}
    assert set(documents.FIELDS) <= set(found)


def test_the_fields_are_those_of_the_methods() -> None:
    loaded = load_mapping("features")["mappings"]
    loaded["_meta"]["es_dedup"]["named_fields"] = True
    before = copy.deepcopy(loaded)
    add_fields(loaded, FIELDS)
    assert loaded == before


def test_without_named_fields_no_term_is_shown() -> None:
    body = body_of("features", {}, Options(named_fields=False))
    add_fields(body["mappings"], FIELDS)
    assert set(FIELDS.searched) < set(body["mappings"]["_source"]["excludes"])
    assert body["mappings"]["_meta"]["es_dedup"]["named_fields"] is False


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        ("0-1", {"auto_expand_replicas": "0-1"}),
        ("2", {"auto_expand_replicas": "false", "number_of_replicas": 2}),
    ],
)
def test_index_settings_and_feature_settings_are_filled_in(replicas: str, expected: dict[str, Any]) -> None:
    options = Options(shards=3, replicas=replicas, refresh="5s", durability="async")
    body = body_of("features", {"ccdet.window": 10}, options)
    index = body["settings"]["index"]
    assert index["number_of_shards"] == 3
    assert index["refresh_interval"] == "5s"
    assert index["translog.durability"] == "async"
    assert expected.items() <= index.items()
    assert body["mappings"]["_meta"]["es_dedup"]["features"] == {"ccdet.window": 10}


def test_what_is_read_by_id_alone_is_never_shown_by_itself() -> None:
    shown = {
        kind: body_of(kind, {"ccdet.window": 10}, Options(refresh="5s"))["settings"]["index"]
        for kind in ("features", "clusters", "texts", "meta")
    }
    assert {kind: index["refresh_interval"] for kind, index in shown.items()} == {
        "features": "5s",
        "clusters": "5s",
        "texts": "5s",
        "meta": "-1",
    }


SIGNATURE, BAND, GRAM, KEYWORD_BAND = 1 << 40 | 77, 5 << 40 | 513, 8 << 40 | 3, 32 << 40 | 4 << 16 | 9


@pytest.mark.parametrize(
    ("term", "field"),
    [
        (ccdet.TAG << 40, "period_signatures"),
        (simhash.TAG << 40, "simhash_band_3"),
        (simhash.TAG + 3 << 40, "simhash_band_0"),
        (coverage.GRAM_TAG << 40, "coverage_grams"),
        (coverage.CLAUSE_TAG << 40, "coverage_clauses"),
        (multi_simhash.TAG << 40, "multi_simhash_text_band_3"),
        (multi_simhash.TAG << 40 | 7 << 16, "multi_simhash_keywords_band_0"),
        (char_frequency.TAG << 40, "char_frequency_characters"),
        (dwdcs.TAG << 40, "key_concepts"),
        (200 << 40, "other_terms"),
    ],
)
def test_terms_stand_in_the_fields_that_their_methods_declare(term: int, field: str) -> None:
    assert FIELDS.values_of(np.array([term], dtype=np.uint64), {}).fields == [field]


def test_fields_of_a_method_of_somebody_else_are_mapped_and_kept() -> None:
    own = TermFields({200: ("shapes",), 201: ("runs",)}, {"shapes": "keyword", "outline": "object"})
    mappings = load_mapping("features")["mappings"]
    mappings["_meta"]["es_dedup"]["named_fields"] = True
    add_fields(mappings, own)
    assert mappings["properties"]["shapes"] == mappings["properties"]["runs"] == SEARCHED
    assert mappings["properties"]["outline"] == SHOWN
    assert {"runs", "payload"} <= set(mappings["_source"]["excludes"])
    assert "shapes" not in mappings["_source"]["excludes"]
    batch = RecordBatch.of(
        [record("a", [200 << 40 | 1, 201 << 40 | 1], named={"shapes": ["o"], "outline": [{"x": 1}]})]
    )
    assert own.columns_of(batch, named=True) == [
        {"shapes": ["o"], "outline": [{"x": 1}], "runs": ["yQAAAAAB"]}
    ]


def test_the_tag_names_the_field() -> None:
    batch = RecordBatch.of([record("b"), record("a", [GRAM, 5, BAND, SIGNATURE, KEYWORD_BAND, GRAM + 1])])
    assert FIELDS.columns_of(batch, named=True) == [
        {},
        {
            "period_signatures": ["AQAAAABN"],
            "simhash_band_0": 513,
            "multi_simhash_keywords_band_3": 9,
            "coverage_grams": ["CAAAAAAD", "CAAAAAAE"],
            "other_terms": ["AAAAAAAF"],
        },
    ]


def test_named_fields_take_the_place_of_hashes_where_they_are_kept() -> None:
    shown = {"period_signatures": ["水位上升"], "simhash": "0" * 16, "of no field": 1}
    batch = RecordBatch.of([record("a", [SIGNATURE, GRAM], named=shown)])
    (kept,) = FIELDS.columns_of(batch, named=True)
    assert kept == {"period_signatures": ["水位上升"], "simhash": "0" * 16, "coverage_grams": ["CAAAAAAD"]}
    (hashed,) = FIELDS.columns_of(batch, named=False)
    assert hashed == {"period_signatures": ["AQAAAABN"], "coverage_grams": ["CAAAAAAD"]}
