"""Features as bytes: round trips of every value, and refusal of bytes that were not made here."""

import random
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.detectors import coverage_codec, features
from es_dedup.detectors.ccdet import without_white_space
from es_dedup.detectors.features import FeatureTable, content_hashes, featurise, stored_terms
from es_dedup.errors import DamagedData
from es_dedup.settings import Settings
from es_dedup.text.normalise import normalise_many
from tests.coverage_tables import rows_lists, table_of
from tests.texts import SENTENCES, article, page_texts

SEED: Final = 20261121
SETTINGS: Final = Settings()
NAMES: Final = ("ccdet", "simhash", "coverage")
PAGES: Final = st.lists(st.tuples(page_texts, page_texts), max_size=5)


def assert_same(left: Any, right: Any) -> None:
    """Equal columns of equal kinds."""
    for column in fields(left):
        mine, other = getattr(left, column.name), getattr(right, column.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == other.dtype, column.name
            assert mine.tolist() == other.tolist(), column.name
        elif is_dataclass(mine):
            assert_same(mine, other)
        else:
            assert mine == other, column.name


def table_of_pages(pages: list[tuple[str, str]], settings_: Settings = SETTINGS) -> FeatureTable:
    """Features of pages given as text and title."""
    return featurise([text for text, _ in pages], [title for _, title in pages], settings_)


@settings(max_examples=150)
@given(rows_lists)
def test_random_coverage_tables_come_back(rows: Any) -> None:
    table = table_of(rows)
    payloads = coverage_codec.pack(table)
    assert len(payloads) == len(table)
    assert_same(coverage_codec.unpack_many(payloads), table)


@settings(max_examples=100)
@given(PAGES)
def test_features_of_random_pages_come_back(pages: list[tuple[str, str]]) -> None:
    table = table_of_pages(pages)
    assert_same(features.unpack(features.pack(table)), table)


def test_features_of_long_pages_come_back_in_any_order() -> None:
    pages = [(article(seed, sentences=400), article(seed)[:60]) for seed in range(4)]
    table = table_of_pages([*pages, ("", ""), ("数字1，" * 50 + "".join(f"{n}元，" for n in range(400)), "")])
    order = np.array([5, 0, 4, 2], dtype=np.int64)
    payloads = features.pack(table)
    assert_same(features.unpack([payloads[row] for row in order]), table.take(order))


@settings(max_examples=100)
@given(page_texts, st.data())
def test_cut_and_lengthened_bytes_are_refused(text: str, data: st.DataObject) -> None:
    payload = features.pack(table_of_pages([(text, "标题")]))[0]
    cut = data.draw(st.integers(0, len(payload) - 1))
    for damaged in (payload[:cut], payload + b"\0", payload[:cut] + payload[cut + 1 :]):
        with pytest.raises(ValueError, match=r"features|signatures"):
            features.unpack([damaged])


def test_flipped_bytes_raise_nothing_but_value_errors() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    payloads = features.pack(
        table_of_pages([(SENTENCES[at] * (at + 1), SENTENCES[at - 1]) for at in range(8)])
    )
    refused = 0
    for _ in range(1000):
        damaged = bytearray(rng.choice(payloads))
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            features.unpack([bytes(damaged)])
        except ValueError:
            refused += 1
    assert 0 < refused < 1000


def test_bytes_of_another_version_are_refused_with_both_versions_named() -> None:
    payload = features.pack(table_of_pages([("泵站", "")]))[0]
    with pytest.raises(ValueError, match=r"version 9, this release reads version \d+"):
        features.unpack([b"\x09" + payload[1:]])
    with pytest.raises(ValueError, match="version none"):
        features.unpack([b""])


def test_a_place_beyond_its_column_is_refused() -> None:
    table = table_of_pages([("泵站检修", "泵站检修")]).coverage
    payload = bytearray(coverage_codec.pack(table)[0])
    assert table.clause_masks.tolist() != [0]
    payload[-6:-4] = b"\xff\xff"
    with pytest.raises(ValueError, match="place 65535 of a column of 1"):
        coverage_codec.unpack_many([bytes(payload)])


@pytest.mark.parametrize("off", NAMES)
def test_a_detector_that_is_off_leaves_no_terms_and_the_rest_as_it_is(off: str) -> None:
    pages = [(article(1), "标题"), ("", ""), (article(2), "")]
    some = Settings(detectors=tuple(name for name in NAMES if name != off))
    only = Settings(detectors=(off,))
    whole, part, rest = (stored_terms(table_of_pages(pages, each), each) for each in (SETTINGS, some, only))
    assert sorted([*part[0].tolist(), *rest[0].tolist()]) == sorted(whole[0].tolist())
    assert whole[1].tolist() == (part[1] + rest[1]).tolist()
    assert whole[1][1] == whole[1][2]


def test_content_hashes_ignore_white_space_alone() -> None:
    same = content_hashes(
        without_white_space(normalise_many(["泵站 检修\n完成", "泵站检修完成", "泵站检　修完成\t"]))
    )
    assert len(set(same.tolist())) == 1
    assert (
        len(set(content_hashes(without_white_space(normalise_many(["泵站", "站泵", "泵站。", ""]))).tolist()))
        == 4
    )
    hashes = table_of_pages([(text, "") for text in ("", " ", "。", "。\n", "！")]).hashes.tolist()
    assert hashes[:2] == [0, 0]
    assert len({*hashes}) == 3  # a short text keeps its marks


def test_damaged_features_are_an_error_of_ours() -> None:
    payload = features.pack(table_of_pages([("泵站", "")]))[0]
    for stored in ([payload[:3]], [payload, bytes([features.WITH_OTHERS]) + b"\1\0\0\0\5"], [7]):
        with pytest.raises(DamagedData, match="stored features are damaged"):
            features.unpack(stored)  # type: ignore[arg-type]  # a damaged cell of a table may hold a number
