"""Content words: what is kept, stems, parts of speech, independence of the batch; rarity of words."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings

from es_dedup.text.hashing import hash64
from es_dedup.text.normalise import normalise, normalise_many
from es_dedup.text.segment import segmenter
from es_dedup.text.stopwords import STOP_CHARACTERS, STOP_WORDS
from es_dedup.text.words import Speech, WordBatch, content_words, distinct_words, speech_of, stem
from experiments.idf import learned
from tests.reference.words import placed_words
from tests.texts import pages_of_texts


def words_of(*texts: str) -> WordBatch:
    """Content words of raw texts."""
    return content_words(normalise_many(texts))


def test_function_words_marks_and_spaces_are_left_out() -> None:
    words = words_of("水泵的检修，已经完成了。", "The pumps of the station were repaired!", "的了。", "")
    assert [words.words(page) for page in range(4)] == [
        ["水泵", "检修", "完成"],
        ["pump", "station", "repaired"],
        [],
        [],
    ]
    assert words.offsets.tolist() == [0, 3, 6, 6, 6]


@settings(max_examples=60)
@given(pages_of_texts)
def test_words_never_depend_on_the_batch(texts: list[str]) -> None:
    together = words_of(*texts)
    for page, text in enumerate(texts):
        alone = words_of(text)
        assert alone.words(0) == together.words(page)
        own = together.ids[together.offsets[page] : together.offsets[page + 1]]
        for name in ("hashes", "speech", "sizes"):
            assert getattr(alone, name)[alone.ids].tolist() == getattr(together, name)[own].tolist()
        sentence = together.sentence[together.offsets[page] : together.offsets[page + 1]]
        assert np.diff(sentence).tolist() == np.diff(alone.sentence).tolist()


def test_facts_of_words_are_right_in_all_threads_and_of_long_words_too() -> None:
    pages = [" ".join(f"{'w' * at}{page * 7 + at} 水泵" for at in range(1, 90)) for page in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(words_of, pages))
    for page, words in zip(pages, found, strict=True):
        assert words.words(0) == page.split()
        assert words.hashes.tolist() == list(map(hash64, words.vocabulary))
        assert words.sizes.tolist() == list(map(len, words.vocabulary))
        assert words.speech.tolist() == [speech_of(segmenter().tag(word)) for word in words.vocabulary]


def test_sentences_end_where_the_reference_ends_them() -> None:
    text = normalise("水泵3.5米 设备......河流。Pumps stop. Cities grow 2.5 times! 城市…山水. 检修；完")
    words = words_of(text)
    placed = [each for each in placed_words(segmenter().cut(text)) if each.word not in STOP_WORDS]
    assert len(words.words(0)) == len(placed)
    assert words.sentence.tolist() == [each.sentence for each in placed]
    assert len({each.sentence for each in placed}) == 8


def test_distinct_words_know_their_count_and_first_place() -> None:
    words = words_of("水泵 城市 水泵", "城市 水泵")
    found = distinct_words(words)
    assert found.pages.tolist() == [0, 0, 1, 1]
    assert [words.vocabulary[at] for at in found.ids.tolist()] == ["水泵", "城市", "城市", "水泵"]
    assert found.counts.tolist() == [2, 1, 1, 1]
    assert found.first.tolist() == [0, 1, 0, 1]
    assert found.entry.tolist() == [0, 1, 0, 2, 3]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("pumps", "pump"),
        ("cities", "city"),
        ("houses", "house"),
        ("class", "class"),
        ("virus", "virus"),
        ("goes", "goes"),
        ("trees", "trees"),
        ("gas", "gas"),
        ("水泵s", "水泵s"),
        ("is", "is"),
    ],
)
def test_plurals_lose_their_ending(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("tag", "speech"),
    [
        ("n", Speech.NOUN),
        ("ns", Speech.NOUN),
        ("vn", Speech.NOUN),
        ("eng", Speech.NOUN),
        ("a", Speech.ADJECTIVE),
        ("ad", Speech.ADJECTIVE),
        ("an", Speech.NOUN),
        ("v", Speech.VERB),
        ("d", Speech.OTHER),
        ("x", Speech.OTHER),
    ],
)
def test_tags_become_parts_of_speech(tag: str, speech: Speech) -> None:
    assert speech_of(tag) is speech


def test_stop_words_are_in_the_form_of_texts() -> None:
    assert [word for word in sorted(STOP_WORDS) if normalise_many([word]).string(0) != word] == []
    assert {"的", "了"} < STOP_CHARACTERS < STOP_WORDS


def test_rarity_is_learned_from_pages() -> None:
    idf = learned([["甲", "乙", "甲"], ["甲"], []])
    assert idf.of(["甲", "乙", "丙"]).tolist() == [math.log(4 / 3) + 1, math.log(4 / 2) + 1, math.log(4) + 1]
    assert idf.version == "learned-3"


def test_words_that_were_forgotten_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"水泵 engines{number % 7} of the 城市{'长' * number}。Boxes boxes" for number in range(60)]
    expected = [words_of(text) for text in texts]
    monkeypatch.setattr("es_dedup.text.words.KEPT_CHARACTERS", 300)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(words_of, texts * 3)]
    for one, other in zip(expected * 3, found, strict=True):
        assert one.vocabulary == other.vocabulary
        for name in ("hashes", "speech", "sizes", "ids", "offsets", "sentence"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_an_interrupt_leaves_no_word_without_its_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(word: str) -> int:
        if word == "valley":
            raise KeyboardInterrupt
        return hash64(word)

    expected = words_of("harbour bridge valley market")
    monkeypatch.setattr("es_dedup.text.words.KEPT_CHARACTERS", 0)  # what was met before is forgotten
    monkeypatch.setattr("es_dedup.text.words.hash64", interrupted)
    with pytest.raises(KeyboardInterrupt):
        words_of("harbour bridge valley market")
    monkeypatch.undo()
    found = words_of("harbour bridge valley market")
    assert (found.vocabulary, found.hashes.tolist()) == (expected.vocabulary, expected.hashes.tolist())
