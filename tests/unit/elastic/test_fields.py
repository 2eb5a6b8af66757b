"""Terms as fields of a document."""

from __future__ import annotations

import json

import pytest

from es_dedup.detectors import ccdet, char_frequency, coverage, dwdcs, multi_simhash, simhash
from es_dedup.index.columns import RecordBatch
from es_dedup.index.elastic.fields import MULTI_TAG, TERM_FIELDS, columns_of, values_of
from es_dedup.testing.builders import record

SIGNATURE, BAND, GRAM, KEYWORD_BAND = 1 << 40 | 77, 5 << 40 | 513, 8 << 40 | 3, 32 << 40 | 4 << 16 | 9


@pytest.mark.parametrize(
    ("tag", "field"),
    [
        (ccdet.TAG, "period_signatures"),
        (simhash.TAG, "simhash_band_3"),
        (simhash.TAG + 3, "simhash_band_0"),
        (coverage.GRAM_TAG, "coverage_grams"),
        (coverage.CLAUSE_TAG, "coverage_clauses"),
        (char_frequency.TAG, "char_frequency_characters"),
        (dwdcs.TAG, "key_concepts"),
        (dwdcs.WORD_TAG, "dwswn_key_concepts"),
    ],
)
def test_tags_are_those_of_the_methods(tag: int, field: str) -> None:
    assert TERM_FIELDS[tag] == field
    assert multi_simhash.TAG == MULTI_TAG


def test_the_tag_names_the_field() -> None:
    batch = RecordBatch.of([record("a", [GRAM, 5, BAND, SIGNATURE, KEYWORD_BAND, GRAM + 1]), record("b")])
    assert columns_of(batch, [1, 0], named=True) == [
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
    (kept,) = columns_of(batch, [0], named=True)
    assert kept == {
        "period_signatures": ["水位上升"],
        "simhash": "0" * 16,
        "coverage_grams": ["CAAAAAAD"],
    }
    (hashed,) = columns_of(batch, [0], named=False)
    assert hashed == {"period_signatures": ["AQAAAABN"], "coverage_grams": ["CAAAAAAD"]}


def test_terms_are_asked_for_as_they_are_stored() -> None:
    found = values_of([SIGNATURE, BAND, GRAM, 5], {SIGNATURE: '水"位', GRAM: "x"})
    assert [json.loads(each.query) for each in found] == [
        {"period_signatures": '水"位'},
        {"simhash_band_0": "513"},
        {"coverage_grams": "CAAAAAAD"},
        {"other_terms": "AAAAAAAF"},
    ]
    assert [(each.field, each.text) for each in found] == [
        (field, text) for each in found for field, text in json.loads(each.query).items()
    ]
