"""SimHash: fingerprints, bands and the guarantee of its candidate queries, against the slow reference."""

import itertools
import random
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.detectors.fingerprint import BANDS, fingerprints
from es_dedup.detectors.simhash import TAG, Fingerprint, Simhash, band_matrix, band_terms, query_terms
from es_dedup.model import Content, Relation
from es_dedup.settings.sections import SimhashConfig
from es_dedup.text.idf import Idf
from es_dedup.text.normalise import normalise
from es_dedup.text.segment import words
from tests.reference import coverage as slow_coverage
from tests.reference import simhash as slow
from tests.texts import article

SEED: Final = 20261121
VALUES: Final = st.integers(0, (1 << 64) - 1)
PAGES: Final = st.lists(st.lists(st.tuples(VALUES, st.integers(1, 40)), max_size=8), max_size=6)


def kernel(pages: list[list[tuple[int, int]]], *, weighted: bool = True) -> list[int]:
    """Fingerprints of pages given as (hash, weight)."""
    flat = [(at, *feature) for at, page in enumerate(pages) for feature in page]
    owners = np.array([at for at, _, _ in flat], dtype=np.int64)
    hashes = np.array([value for _, value, _ in flat], dtype=np.uint64)
    weights = np.array([weight for _, _, weight in flat], dtype=np.int64) if weighted else None
    found: list[int] = fingerprints(hashes, owners, len(pages), weights).tolist()
    return found


@settings(max_examples=200)
@given(PAGES)
def test_weighted_fingerprints_equal_the_reference(pages: list[list[tuple[int, int]]]) -> None:
    assert kernel(pages) == [slow.fingerprint(page) or 0 for page in pages]


@pytest.mark.parametrize("count", [255, 256, 511])
def test_pages_of_more_features_than_a_counter_holds_equal_the_reference(count: int) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED + count)
    few = [rng.getrandbits(64) for _ in range(5)]
    pages = [
        [(rng.choice(few) if at % 2 else rng.getrandbits(64), 1) for at in range(n)]
        for n in (3, count, 0, count)
    ]
    assert kernel(pages, weighted=False) == [slow.fingerprint(page) or 0 for page in pages]
    assert kernel([[((1 << 64) - 1, count)]]) == [(1 << 64) - 1]


@given(st.lists(VALUES, max_size=5))
def test_bands_equal_the_reference(values: list[int]) -> None:
    expected = [[((TAG + band) << 40) | key for band, key in slow.band_keys(value)] for value in values]
    assert [list(band_terms(value)) for value in values] == expected
    assert band_matrix(np.array(values, dtype=np.uint64)).tolist() == expected


@given(VALUES, st.integers(0, 7))
def test_queried_term_equal_the_reference(value: int, max_bits: int) -> None:
    terms = query_terms(value, max_bits)
    assert len(set(terms)) == len(terms)
    assert set(terms) == {((TAG + band) << 40) | key for band, key in slow.query_keys(value, max_bits)}


@pytest.mark.parametrize("max_bits", [1, 3])
def test_every_difference_within_the_limit_is_found(max_bits: int) -> None:
    value = random.Random(SEED).getrandbits(64)
    asked = frozenset(query_terms(value, max_bits))
    for bits in itertools.chain.from_iterable(
        itertools.combinations(range(64), n) for n in range(max_bits + 1)
    ):
        other = value ^ sum(1 << bit for bit in bits)
        assert not asked.isdisjoint(band_terms(other))


@pytest.mark.parametrize("max_bits", [4, 7])
def test_every_spread_of_differing_bits_over_the_bands_is_found(max_bits: int) -> None:
    """Whether a candidate query finds depends on the bits of each band alone: all spreads, with bits drawn inside the bands."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    value = rng.getrandbits(64)
    asked = frozenset(query_terms(value, max_bits))
    for spread in itertools.product(range(max_bits + 1), repeat=BANDS):
        if sum(spread) > max_bits:
            continue
        for _ in range(20):
            bits = [16 * band + bit for band, n in enumerate(spread) for bit in rng.sample(range(16), n)]
            assert not asked.isdisjoint(band_terms(value ^ sum(1 << bit for bit in bits))), spread


@pytest.mark.parametrize("max_bits", [0, 3, 7])
def test_the_verdict_accepts_up_to_the_limit(max_bits: int) -> None:
    detector = Simhash(SimhashConfig(max_hamming_distance=max_bits))
    for distance in range(65):
        verdict = detector.verify(Fingerprint(0), Fingerprint((1 << distance) - 1))
        assert verdict.relation is (Relation.DUPLICATE if distance <= max_bits else Relation.DIFFERENT)
        assert verdict.score == 1 - distance / 64
        assert verdict.evidence == {
            "hamming_distance": distance,
            "max_hamming_distance": max_bits,
            "of_bits": 64,
        }


def test_pages_of_one_token_have_a_fingerprint_of_that_token() -> None:
    detector = Simhash(SimhashConfig())
    found = detector.featurise_many([Content(text) for text in ("甲", "甲乙", "page", "甲。", "乙")])
    values = [one.value for one in found if isinstance(one, Fingerprint)]
    assert len(values) == 5
    assert values[0] == values[3]
    assert len(set(values)) == 4
    assert 0 not in values


def test_a_fingerprint_takes_eight_bytes() -> None:
    with pytest.raises(ValueError, match="8 bytes, got 7"):
        Simhash(SimhashConfig()).unpack(b"1234567")


TEXTS: Final = ["水泵水泵坏了，水泵！", "the pumps", "", article(3, sentences=5)]


@pytest.mark.parametrize("features", ["grams", "words", "words-tfidf"])
def test_features_vote_as_the_reference_says(features: str, monkeypatch: pytest.MonkeyPatch) -> None:
    idf = Idf({"水泵": 2.0, "坏": 3.06, "the": 0.01}, 1.5, "test")
    monkeypatch.setattr("es_dedup.detectors.simhash.chosen", lambda *_: idf)
    check_votes(TEXTS, features, idf)


def check_votes(texts: list[str], features: str, idf: Idf) -> list[int | None]:
    """Fingerprints of pages are those of the reference; gives them."""
    if features == "grams":
        tokens = [slow_coverage.tokens(normalise(text)) for text in texts]
        # a comma keeps two runs of letters apart and is no token itself
        votes = [[(f"{one},{other}", 1) for one, other in itertools.pairwise(each)] for each in tokens]
    else:
        votes = [[(word, 1) for word in words(normalise(text))] for text in texts]
    if features == "words-tfidf":
        weigh = idf.values.get
        votes = [[(word, max(1, round(8 * weigh(word, idf.unknown)))) for word, _ in each] for each in votes]
    names = sorted({name for page in votes for name, _ in page})
    # a page of one feature has its hash as its fingerprint
    alone = Simhash(SimhashConfig(features="grams" if features == "grams" else "words"))
    pages = zip(names, alone.featurise_many([Content(name) for name in names]), strict=True)
    hashes = {name: page.value for name, page in pages if isinstance(page, Fingerprint)}
    expected = [slow.fingerprint((hashes[name], weight) for name, weight in page) for page in votes]
    detector = Simhash(SimhashConfig.model_validate({"features": features}))
    found = [
        each.value if isinstance(each, Fingerprint) else None
        for each in detector.featurise_many([Content(text) for text in texts])
    ]
    assert [one for one, each in zip(found, votes, strict=True) if each] == [
        each for each in expected if each
    ]
    return found
