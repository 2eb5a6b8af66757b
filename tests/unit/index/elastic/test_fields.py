"""Terms as fields of a document."""

from __future__ import annotations

import pytest

from es_dedup.detectors import ccdet, char_frequency, coverage, dwdcs, multi_simhash, simhash
from es_dedup.detectors.named_fields import field_types, term_fields
from es_dedup.index.elastic.fields import SEARCHED, SHOWN, TermFields
from es_dedup.index.elastic.mappings import add_fields, load_mapping
from es_dedup.index.records import RecordBatch
from es_dedup.settings import Settings
from es_dedup.testing.builders import record

METHODS = ("ccdet", "simhash", "coverage", "multi_simhash", "char_frequency", "dwdcs")
EVERY = Settings(detectors=METHODS)
FIELDS = TermFields(term_fields(EVERY), field_types(EVERY))
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
    assert [name for name, _ in FIELDS.values_of([term], {})] == [field]


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
    assert own.columns_of(batch, [0], named=True) == [
        {"shapes": ["o"], "outline": [{"x": 1}], "runs": ["yQAAAAAB"]}
    ]


def test_the_tag_names_the_field() -> None:
    batch = RecordBatch.of([record("a", [GRAM, 5, BAND, SIGNATURE, KEYWORD_BAND, GRAM + 1]), record("b")])
    assert FIELDS.columns_of(batch, [1, 0], named=True) == [
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
    (kept,) = FIELDS.columns_of(batch, [0], named=True)
    assert kept == {
        "period_signatures": ["水位上升"],
        "simhash": "0" * 16,
        "coverage_grams": ["CAAAAAAD"],
    }
    (hashed,) = FIELDS.columns_of(batch, [0], named=False)
    assert hashed == {"period_signatures": ["AQAAAABN"], "coverage_grams": ["CAAAAAAD"]}
