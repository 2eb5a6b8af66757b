"""CCDet: signatures, pruning and decisions, against the slow reference."""

from typing import Final

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from es_dedup.detectors import ccdet
from es_dedup.detectors.ccdet import (
    MOST_SIGNATURES,
    Ccdet,
    PeriodFeatures,
    PeriodTable,
    noise_by_site,
    period_table,
)
from es_dedup.model import Content, Relation, Skipped, Verdict
from es_dedup.settings.sections import CcdetConfig
from es_dedup.text.normalise import normalise, normalise_many
from tests.reference import ccdet as slow
from tests.texts import ZH, page_texts
from tests.twins import RELATIONS

STOP_TEXTS: Final = st.one_of(
    st.text(st.sampled_from("甲乙丙。。\n ，12"), max_size=60),
    st.lists(st.sampled_from((*ZH, "甲。", "。", "。。", "此句很短。", "　\n")), max_size=12).map("".join),
    page_texts,
)


def signatures(text: str, window: int = 10) -> list[int]:
    """Signatures of one text."""
    found: list[int] = period_table(normalise_many([text]), window).signatures.tolist()
    return found


def table_of(pages: list[frozenset[str]]) -> tuple[PeriodTable, dict[str, int]]:
    """A table of pages given as sets of signatures, and each signature's number in it."""
    numbers = {name: 7 + 13 * at for at, name in enumerate(sorted(set().union(*pages)))}
    rows = [sorted(numbers[name] for name in page) for page in pages]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return PeriodTable.whole(offsets, np.array([n for row in rows for n in row], dtype=np.uint64)), numbers


def features_of(numbers: set[int]) -> PeriodFeatures:
    """Features of these signatures."""
    return PeriodFeatures(np.array(sorted(numbers), dtype=np.uint64), len(numbers))


@settings(max_examples=300)
@given(st.lists(STOP_TEXTS, max_size=5), st.integers(2, 12))
@example(["。。甲。", "甲", "。", "", "甲\n乙 丙。"], 10)
@example(["一" * 30 + "。" + "二" * 10 + "。" + "一" * 10 + "。"], 10)
def test_signatures_of_texts_equal_the_reference(texts: list[str], window: int) -> None:
    expected = [slow.period_signatures(normalise(text), window) for text in texts]
    # signatures are looked up by normalising them once more, which a few odd letters do not survive unchanged
    assume(all(normalise(f"{name}。") == f"{name}。" for page in expected for name in page))
    check_signatures(texts, window, expected)


def check_signatures(texts: list[str], window: int, expected: list[frozenset[str]]) -> None:
    """Signatures of pages are those of the reference, each with a number of its own."""
    table = period_table(normalise_many(texts), window)
    assert np.diff(table.offsets).tolist() == [len(page) for page in expected]
    by_hash: dict[int, set[str]] = {}
    for page, (start, end) in enumerate(
        zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True)
    ):
        own = table.signatures[start:end].tolist()
        assert own == sorted(set(own))
        alone = {signatures(f"{name}。", window)[0]: name for name in expected[page]}
        assert set(own) == set(alone)
        for value, name in alone.items():
            by_hash.setdefault(value, set()).add(name)
    assert all(len(names) == 1 for names in by_hash.values())


def test_only_the_ideographic_full_stop_counts() -> None:
    assert signatures("Commas, points. And more!") == []
    assert signatures("半角｡") == signatures("半角。")
    assert signatures("上一句。 这一\n句话。") == signatures("这一句话。上一句。")


def rules(count: int) -> Content:
    """A text of so many sentences, each with a number of its own: the first of ``rules(900)`` are those of ``rules(300)``."""
    return Content("".join(f"第{at:04}条规定如下。" for at in range(count)))


def verdict_on(left: Content, right: Content) -> Verdict:
    """What the detector says of two pages, also after their features were stored."""
    detector = Ccdet(CcdetConfig())
    sides = [detector.featurise(content) for content in (left, right)]
    assert not any(isinstance(side, Skipped) for side in sides)
    stored = [detector.unpack(detector.pack(side)) for side in sides if isinstance(side, PeriodFeatures)]
    assert sides == stored
    return detector.verify(*stored)


def test_a_page_of_very_many_stops_keeps_the_smallest_signatures_and_their_number() -> None:
    count = MOST_SIGNATURES + 1_000
    text = "".join(f"{chr(0x4E00 + at)}{chr(0x5E00 + at)}。" for at in range(count))
    (features,) = Ccdet(CcdetConfig()).featurise_many([Content(text)])
    assert isinstance(features, PeriodFeatures)
    whole = sorted(signatures(f"{text[3 * at : 3 * at + 2]}。")[0] for at in range(count))
    assert features.signatures.tolist() == whole[:MOST_SIGNATURES]
    assert features.total == count


@pytest.mark.parametrize(
    ("left", "right", "relation"),
    [
        (300, 900, Relation.CONTAINED),
        (900, 300, Relation.CONTAINS),
        (400, 700, Relation.DUPLICATE),
        (6_000, 9_000, Relation.DUPLICATE),
        (9_000, 200, Relation.CONTAINS),
    ],
)
def test_pages_of_many_stops_are_compared_by_all_of_them_and_of_very_many_by_a_fair_sample(
    left: int, right: int, relation: Relation
) -> None:
    verdict = verdict_on(rules(left), rules(right))
    assert (verdict.relation, verdict.score) == (relation, 1.0)
    shown = ("clr", "common", "left_signatures", "right_signatures")
    ratio = min(left, right) / max(left, right)
    assert [verdict.evidence[name] for name in shown] == [round(ratio, 4), min(left, right), left, right]
    if max(left, right) <= MOST_SIGNATURES:
        assert "sampled_common" not in verdict.evidence
        return
    sampled = verdict.evidence["left_sampled" if left < right else "right_sampled"]
    assert verdict.evidence["sampled_common"] == sampled == pytest.approx(MOST_SIGNATURES * ratio, rel=0.3)


SETS: Final = st.frozensets(st.integers(0, 15), max_size=12)


@settings(max_examples=150)
@given(SETS, SETS, st.sampled_from((0.0, 0.3, 0.5, 0.6, 1.0)), st.integers(1, 4), st.integers(1, 4))
def test_decisions_equal_the_reference(
    left: frozenset[int], right: frozenset[int], limit: float, min_features: int, min_common: int
) -> None:
    config = CcdetConfig(min_ccs=limit, min_clr=limit, min_features=min_features, min_common=min_common)
    verdict = Ccdet(config).verify(features_of(set(left)), features_of(set(right)))
    expected = slow.decide_pages(
        frozenset(map(str, left)),
        frozenset(map(str, right)),
        limits=slow.Limits(limit, limit, min_features, min_common),
    )
    assert verdict.relation is RELATIONS[expected.relation]
    assert verdict.score == expected.ccs
    assert verdict.evidence["common"] == expected.common
    assert verdict.evidence["ccs"] == round(expected.ccs, 4)
    assert verdict.evidence["clr"] == round(expected.clr, 4)
    assert (verdict.evidence["left_signatures"], verdict.evidence["right_signatures"]) == (
        len(left),
        len(right),
    )


@settings(max_examples=200)
@given(SETS, SETS, SETS)
def test_noise_counts_on_neither_side(
    left: frozenset[int], right: frozenset[int], noise: frozenset[int]
) -> None:
    detector = Ccdet(CcdetConfig(), noise=np.array([*noise], dtype=np.uint64))
    verdict = detector.verify(features_of(set(left)), features_of(set(right)))
    pages = [frozenset(map(str, page)) for page in (left, right, noise)]
    expected = slow.decide_pages(pages[0], pages[1], pages[2], recount=True)
    assert verdict.relation is RELATIONS[expected.relation]
    assert (verdict.score, verdict.evidence["common"]) == (expected.ccs, expected.common)


PAGES: Final = st.lists(
    st.frozensets(st.sampled_from("甲乙丙丁戊己庚辛"), max_size=6), min_size=1, max_size=14
)


@settings(max_examples=300)
@given(PAGES, st.data(), st.integers(2, 5))
def test_pruning_by_site_equals_the_reference(
    pages: list[frozenset[str]], data: st.DataObject, min_pages: int
) -> None:
    sites = data.draw(st.lists(st.sampled_from(["", "a", "b"]), min_size=len(pages), max_size=len(pages)))
    table, numbers = table_of(pages)
    found = noise_by_site(table, sites, min_pages).tolist()
    expected = slow.pruned_by_site(
        {str(at): page for at, page in enumerate(pages)},
        {str(at): site for at, site in enumerate(sites) if site},
        min_pages,
    )
    assert found == sorted(numbers[name] for name in expected)


@pytest.mark.parametrize(("text", "needed"), [("甲。乙。", 3), ("甲。乙。丙。", 4), ("", 1)])
def test_too_few_signatures_are_skipped_with_the_number_needed(text: str, needed: int) -> None:
    skipped = Ccdet(CcdetConfig(min_features=needed)).featurise(Content(text))
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "few-full-stops"
    assert skipped.detail.endswith(f"of {needed} signatures")


def test_bytes_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="5 bytes each"):
        ccdet.unpack_signatures([b"1234567"])
    assert ccdet.unpack_signatures([b""]).row(0) == features_of(set())
    many = PeriodFeatures(np.arange(MOST_SIGNATURES, dtype=np.uint64), MOST_SIGNATURES + 7)
    packed = Ccdet(CcdetConfig()).pack(many)
    assert ccdet.unpack_signatures([packed, packed[:5]]).totals.tolist() == [MOST_SIGNATURES + 7, 1]
    for damaged in (packed[:-4] + b"\x03\0\0\0", packed[5:], b"\x09\0\0\0"):
        with pytest.raises(ValueError, match="are kept of"):
            ccdet.unpack_signatures([damaged])


def test_a_detector_learns_the_noise_of_its_pages() -> None:
    shell = "版权所有不得转载。"
    contents = [Content(text + shell, site="a.com") for text in (*ZH[:2], ZH[1] + ZH[0])]
    config = CcdetConfig(min_features=1, min_common=1)
    plain, learned = Ccdet(config), Ccdet(config).learned(contents)
    one, other = plain.featurise_many(contents[:2])
    assert isinstance(one, PeriodFeatures)
    assert isinstance(other, PeriodFeatures)
    assert plain.verify(one, other).evidence["common"] == 1
    assert learned.verify(one, other).evidence["common"] == 0
