"""Coverage features: samples that are complete below their threshold, and what that is good for."""

import random
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings

from es_dedup.detectors import coverage, coverage_features
from es_dedup.detectors.coverage import Coverage
from es_dedup.detectors.coverage_features import CLAUSES_MOST, COMPLETE, SKETCH_MOST, CoverageTable
from es_dedup.detectors.coverage_pairs import measure, uniform_weights
from es_dedup.model import Content, Relation
from es_dedup.settings.sections import CoverageConfig
from es_dedup.text.normalise import normalise_many
from es_dedup.text.numbers import number_runs, number_tokens
from es_dedup.text.tokens import clause_hashes, clause_lengths, gram_hashes, tokenise
from tests.texts import article, page_texts

SEED: Final = 20261121
SENTENCE: Final = "泵站昨日完成检修，雨季前可全部投用12台。"


def build(text: str, title: str = "") -> CoverageTable:
    """Features of one page."""
    return coverage_features.build([text], [title])


def check_samples(text: str) -> CoverageTable:
    """Every sample of a page holds exactly its distinct hashes up to the threshold."""
    table = build(text)
    batch = normalise_many([text])
    tokens = tokenise(batch)
    runs, _ = number_runs(batch, tokens, number_tokens(batch, tokens))
    for name, hashes, most in (
        ("gram", gram_hashes(tokens)[0], SKETCH_MOST),
        ("clause", clause_hashes(tokens), CLAUSES_MOST),
        ("number", runs, coverage_features.NUMBERS_MOST),
    ):
        every = np.unique(hashes >> np.uint64(32)).astype(np.uint32)
        kept, threshold = getattr(table, f"{name}s"), int(getattr(table, f"{name}_threshold")[0])
        assert kept.tolist() == every[every <= threshold].tolist()
        assert len(kept) <= most
        assert len(kept) == len(every) or threshold == int(kept[-1])
    return table


@settings(max_examples=100)
@given(page_texts)
def test_samples_of_random_texts_are_complete_below_their_threshold(text: str) -> None:
    check_samples(text)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("sentences", [3, 100, 1500])
def test_samples_of_articles_are_complete_below_their_threshold(sentences: int, language: str) -> None:
    table = check_samples(article(sentences, sentences=sentences, language=language))
    assert (sentences < 20) <= (table.gram_threshold[0] == COMPLETE)


def test_samples_of_pages_that_repeat_themselves_are_complete_below_their_threshold() -> None:
    for seed in (493, 573, 611, 619, 621, 646):  # as many hashes near the threshold as the sample takes
        text = article(seed, sentences=60)[:600]
        check_samples(text + text[: int(600 * (seed - 300) / 400)])


def test_a_page_that_repeats_one_sentence_has_the_features_of_a_few() -> None:
    once, often = check_samples(SENTENCE * 3), check_samples(SENTENCE * 10_000)
    assert often.grams.tolist() == once.grams.tolist()
    assert often.clauses.tolist() == once.clauses.tolist()
    assert int(often.gram_threshold[0]) == int(often.clause_threshold[0]) == int(COMPLETE)
    assert int(often.tokens[0]) > 100_000
    detector = Coverage(CoverageConfig())
    left, right = once, often
    assert detector.verify(left, right).relation is Relation.DUPLICATE
    assert detector.terms(left) == detector.terms(right)


def test_lengths_count_an_ideograph_once_and_a_word_twice() -> None:
    assert build("泵站 two words。").tokens.tolist() == [6]
    assert build("").tokens.tolist() == [0]
    lengths = build("泵站，" + "长" * 300).clause_lengths.tolist()
    assert sorted(lengths) == [2, 255]


def test_clauses_keep_their_length_whatever_their_hash() -> None:
    text = article(5, sentences=40)
    tokens = tokenise(normalise_many([text]))
    expected = dict(
        zip((clause_hashes(tokens) >> np.uint64(32)).tolist(), clause_lengths(tokens).tolist(), strict=True)
    )
    table = build(text)
    assert dict(zip(table.clauses.tolist(), table.clause_lengths.tolist(), strict=True)) == expected


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_a_part_is_covered_by_the_whole_whatever_the_lengths(share: float, language: str) -> None:
    whole = article(11, sentences=1000, language=language)
    part = whole[: int(len(whole) * share)]
    detector = Coverage(CoverageConfig())
    left, right = build(part), build(whole)
    row = np.zeros(1, dtype=np.int64)
    measures = measure(left, row, right, row, uniform_weights(left), uniform_weights(right))
    assert measures.left.gram_cover[0] > 0.95
    assert measures.right.gram_cover[0] == pytest.approx(share, abs=0.08)
    verdict = detector.verify(left, right)
    assert verdict.relation is (Relation.CONTAINED if share < 0.5 else verdict.relation)
    assert verdict.relation is not Relation.DIFFERENT


def test_parts_and_wholes_find_each_other() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    detector = Coverage(CoverageConfig())
    missed = 0
    for seed in range(60):
        language = ("zh", "en")[seed % 2]
        whole = article(seed, sentences=rng.choice((10, 40, 160)), language=language)
        length = int(len(whole) * rng.uniform(0.3, 0.9))
        start = rng.randrange(len(whole) - length)
        sides = [build(text) for text in (whole[start : start + length], whole)]
        for asking, stored in (sides, sides[::-1]):
            candidate_query = detector.candidate_query(asking)
            terms = set(detector.terms(stored))
            assert candidate_query
            missed += not any(
                len(terms & set(group.terms)) >= group.min_shared for group in candidate_query.groups
            )
    assert missed == 0


@pytest.mark.parametrize("sentences", [1, 5, 40, 400])
def test_selections_are_the_smallest_hashes_and_what_is_queried_covers_what_is_stored(sentences: int) -> None:
    table = build(article(sentences, sentences=sentences))
    for column, stored, queried in (
        (table.grams, coverage.stored_grams(table), coverage.query_grams(table)),
        (table.clauses, coverage.stored_clauses(table), coverage.query_clauses(table)),
    ):
        for chosen in (stored, queried):
            values = chosen.values.tolist()
            assert chosen.offsets.tolist() == [0, len(values)]
            assert values == sorted(set(values) & set(column.tolist()))
            assert int(chosen.bound[0]) == int(COMPLETE) or values[-1] <= int(chosen.bound[0])
        assert set(stored.values.tolist()) <= set(queried.values.tolist())
    assert stored_limit_holds(table)


def stored_limit_holds(table: CoverageTable) -> bool:
    """At most 48 grams and 6 clauses are stored, at least 12 grams where the page has them."""
    grams, clauses = len(coverage.stored_grams(table).values), len(coverage.stored_clauses(table).values)
    return min(12, len(table.grams)) <= grams <= 48 and clauses <= coverage.STORED_CLAUSES


def test_short_clauses_are_not_queried() -> None:
    table = build("短句，短句二，这一个小句超过了八个字。")
    assert len(coverage.query_clauses(table).values) == 1
    assert len(table.clauses) == 3


def test_a_page_of_few_grams_asks_for_one() -> None:
    detector = Coverage(CoverageConfig())
    features = detector.featurise(Content("价格上涨了"))
    assert isinstance(features, CoverageTable)
    candidate_query = detector.candidate_query(features)
    assert candidate_query
    assert [group.min_shared for group in candidate_query.groups] == [1]
    assert detector.candidate_query(build("你好")) is None
