"""Character frequency: numbering, strings, similarities and both searches, against the slow reference."""

import random
from functools import cache
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.detectors.char_frequency import CharFrequency, needed
from es_dedup.detectors.char_frequency_features import CODES, WORD, FrequentUnits, gb_code
from es_dedup.model import Content, Relation
from es_dedup.settings.sections import CharFrequencyConfig
from es_dedup.text.characters import PLANE
from es_dedup.text.normalise import normalise, normalise_many
from es_dedup.text.stopwords import STOP_CHARACTERS
from experiments.self_join import self_join
from tests.reference import char_frequency as slow
from tests.samples import truths
from tests.texts import EN

SEED: Final = 20261121
CONFIG: Final = CharFrequencyConfig()
LEVEL_1: Final = 3755
STOP: Final = frozenset(STOP_CHARACTERS)


def strings(text: str, above: int = 3, *, adjacent: bool = True) -> slow.Strings:
    """Both strings of a Chinese text by the reference."""
    return slow.strings(normalise(text), above, LEVEL_1, adjacent=adjacent)


@cache
def letters() -> dict[int, str]:
    """Character of each code; those without a number in GB 2312 follow in the order of Unicode."""
    characters = [chr(code) for code in range(PLANE)]
    coded = {slow.row_cell_code(character): character for character in characters}
    others = [character for character in characters if slow.row_cell_code(character) < 0]
    return coded | dict(enumerate(others, CODES))


def as_strings(page: FrequentUnits) -> slow.Strings:
    """Features of a page in characters, in the form of the reference."""
    letter = letters()
    aux = {
        letter[unit]: [letter[each] for each in page.followers[low:high].tolist()]
        for unit, low, high in zip(
            page.units.tolist(), page.offsets[:-1].tolist(), page.offsets[1:].tolist(), strict=True
        )
    }
    return slow.Strings(frozenset(aux), aux, page.length)


def test_codes_are_dense_and_equal_the_reference() -> None:
    found = {gb_code(chr(code)) for code in range(PLANE) if not 0xD800 <= code < 0xE000}
    assert found == {-1, *range(CODES)}
    assert [gb_code(c) for c in "啊座亍齄09az"] == [0, 3754, 3755, 6762, 6763, 6772, 6773, 6798]
    for code in range(PLANE):
        if not 0xD800 <= code < 0xE000:
            assert gb_code(chr(code)) == slow.row_cell_code(chr(code))


def repeated(rng: random.Random, alphabet: str, size: int) -> str:
    return "".join(rng.choices(alphabet, weights=range(len(alphabet), 0, -1), k=size))


@pytest.mark.parametrize("above", [1, 3])
def test_random_pages_equal_the_reference(above: int) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    alphabet = "的一是水泵站完成检修设备亍丌兀齄，。 \n12ab大年中皮其"
    texts = [repeated(rng, alphabet, rng.randrange(200)) for _ in range(150)] + ["", "水" * 5, "水水水水泵"]
    config = CharFrequencyConfig(count_above=above)
    found = CharFrequency(config).strings(normalise_many(texts))
    for text, page in zip(texts, found, strict=True):
        assert as_strings(page) == strings(text, above)


def test_real_pages_and_pairs_equal_the_reference() -> None:
    assert check_pairs([truth.text for truth in truths()[:30]]) > 12


def check_pairs(texts: list[str]) -> int:
    """Chinese pages and all pairs of them are what the reference says; how many pages there are."""
    method = CharFrequency(CONFIG)
    found = method.strings(normalise_many(texts))
    wanted = [strings(text) for text in texts]
    chinese = [at for at, page in enumerate(found) if not (page.units >= WORD).any() and len(page.units)]
    for at in chinese:
        assert as_strings(found[at]) == wanted[at]
        for other in chinese:
            assert method.covers(found[at], found[other]) == slow.covers(wanted[at], wanted[other], STOP)
            measures = method.measure(found[at], found[other])
            assert measures.main[0] == slow.main_similarity(wanted[at].main - STOP, wanted[other].main - STOP)
            if measures.main[0] > 0.3:  # the rest takes minutes and decides nothing
                assert measures.aux[0] == slow.aux_similarity(wanted[at], wanted[other])
    return len(chinese)


def test_pages_of_letters_are_compared_by_words() -> None:
    text = " ".join(EN) * 5
    method = CharFrequency(CONFIG)
    one, copy = method.strings(normalise_many([text, text + " More."]))
    assert (one.units >= WORD).all()
    words = normalise(text).replace("'", " ").replace("-", " ").split()
    frequent = {word.strip(".,()!:%?") for word in words if words.count(word) > 3}
    assert len(one.units) >= len(frequent) > 20
    assert method.verify(one, copy).relation is Relation.DUPLICATE
    assert len(one.compared) < len(one.units)


def test_followers_do_not_decide_alone() -> None:
    method = CharFrequency(CONFIG)
    follow = np.arange(11, dtype=np.int64), np.full(10, 7, dtype=np.uint32)
    one, other = (
        FrequentUnits(900, np.arange(first, first + 10, dtype=np.uint32), *follow) for first in (60, 65)
    )
    assert method.measure(one, other).aux[0] == 1.0
    assert (method.verify(one, other).relation, method.verify(one, other).score) == (Relation.DIFFERENT, 0.5)


@pytest.mark.parametrize(
    ("left", "right", "followers"),
    [
        (500, 500, False),
        (501, 400, True),
        (501, 501, True),
        (100, 29, True),
        (100, 30, False),
        (400, 501, True),
    ],
)
def test_followers_decide_on_long_or_unequal_pages(left: int, right: int, followers: bool) -> None:
    assert CharFrequency(CONFIG).compares_followers(left, right) == followers
    assert slow.compares_followers(left, right) == followers


def units(*codes: int, length: int = 100) -> FrequentUnits:
    """A page with these frequent characters, none of which has followers."""
    return FrequentUnits(
        length,
        np.array(sorted(codes), dtype=np.uint32),
        np.zeros(len(codes) + 1, dtype=np.int64),
        np.zeros(0, dtype=np.uint32),
    )


def test_a_part_is_contained_and_equality_is_enough() -> None:
    method = CharFrequency(CONFIG)
    whole, part = units(*range(100, 120)), units(*range(100, 110))
    assert method.verify(part, whole).relation is Relation.CONTAINED
    assert method.verify(whole, part).relation is Relation.CONTAINS
    assert method.verify(whole, units(*range(97, 117))).relation is Relation.DUPLICATE
    assert method.verify(whole, units(*range(96, 116))).relation is Relation.DIFFERENT  # .8 is not passed
    long = units(*range(100, 120), length=5000)
    assert method.verify(long, long).relation is Relation.DUPLICATE
    assert method.verify(long, units(*range(100, 121), length=5000)).relation is Relation.DIFFERENT


@given(st.integers(1, 300), st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95]))
def test_the_number_needed_is_the_smallest_that_passes(size: int, share: float) -> None:
    least = needed(size, share)
    assert least / size > share
    assert (least - 1) / size <= share
    if share == 0.8:
        assert least == slow.least_shared(size)


def test_the_query_finds_all_that_a_scan_finds_and_nothing_else() -> None:
    method = CharFrequency(CONFIG)
    found = [
        page
        for page in method.featurise_many([Content(truth.text) for truth in truths()[:50]])
        if isinstance(page, FrequentUnits)
    ]
    for page in found:
        group = method.candidate_query(page).groups[0]
        for base in found:
            asked = len(set(group.terms) & set(method.terms(base))) >= group.min_shared
            assert asked == (method.measure(page, base).main[0] > 0.8)


def test_wide_payloads_come_back() -> None:
    method = CharFrequency(CONFIG)
    page = method.strings(normalise_many([" ".join(EN) * 5]))[0]
    assert method.unpack(method.pack(page)) == page
    assert method.unpack(method.pack(units(3, 5))) == units(3, 5)
    with pytest.raises(ValueError, match="do not take"):
        method.unpack(method.pack(page) + b"\0")


def test_characters_of_more_than_a_thousand_pages_are_asked_for_too() -> None:
    source = random.Random(SEED)
    own = [letter for code, letter in sorted(letters().items()) if 100 <= code < 3000]
    sets = [source.sample(own, 8) for _ in range(1100)]
    sets.append(sets[0][:7] + sets[1][:1])
    detector = CharFrequency(CONFIG)
    texts = ["。".join(("山水", *(letter * 2 for letter in each))) * 4 for each in sets]
    features = detector.featurise_many([Content(text=text, title="") for text in texts])
    kept = [each if isinstance(each, FrequentUnits) else None for each in features]
    found = self_join(detector, kept)
    assert found.capped_terms == 0
    assert (0, 1100) in set(zip(found.left.tolist(), found.right.tolist(), strict=True))
