"""Tokens, clauses and grams: the same sequences as the slow reference, and hashes that tell exactly them apart."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.text.normalise import TextBatch, normalise, normalise_many
from es_dedup.text.ragged import run_starts
from es_dedup.text.tokens import (
    TokenBatch,
    characters_apart,
    clause_hashes,
    clause_lengths,
    gram_hashes,
    segment_hashes,
    tokenise,
)
from tests.reference import coverage as slow
from tests.texts import SENTENCES, page_texts, pages_of_texts


def cut(text: str) -> tuple[TextBatch, TokenBatch]:
    """One text, normalised and tokenised."""
    batch = normalise_many([text])
    return batch, tokenise(batch)


def strings(batch: TextBatch, tokens: TokenBatch) -> list[str]:
    """The tokens as strings."""
    raw = "".join(map(chr, batch.codes.tolist()))
    return [raw[start:end] for start, end in zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)]


def clauses_of(batch: TextBatch, tokens: TokenBatch) -> list[tuple[str, ...]]:
    """The clauses as tuples of strings."""
    found: list[list[str]] = [[] for _ in range(tokens.clause_count)]
    for number, word in zip(tokens.clause.tolist(), strings(batch, tokens), strict=True):
        found[number].append(word)
    return [tuple(clause) for clause in found]


def other_digits(text: str) -> bool:
    """Digits beyond ASCII: the reference joins numbers of them, the kernel (by design) does not."""
    return any(c.isdigit() and not c.isascii() for c in normalise(text))


def assert_same_partition(items: Iterable[Any], hashes: Iterable[int]) -> None:
    """Equal items have equal hashes and different items different ones."""
    pairs = set(zip(items, hashes, strict=True))
    assert max(Counter(item for item, _ in pairs).values(), default=1) == 1
    assert max(Counter(value for _, value in pairs).values(), default=1) == 1


@settings(max_examples=200)
@given(page_texts | st.sampled_from(SENTENCES))
def test_tokens_equal_the_reference(text: str) -> None:
    batch, tokens = cut(text)
    expected = slow.tokens(normalise(text))
    assert strings(batch, tokens) == expected
    assert tokens.single.tolist() == [slow.is_cjk(token[0]) for token in expected]
    assert_same_partition(expected, tokens.hashes.tolist())


@settings(max_examples=200)
@given(page_texts.filter(lambda text: not other_digits(text)))
def test_clauses_equal_the_reference(text: str) -> None:
    batch, tokens = cut(text)
    expected = slow.clauses(normalise(text))
    assert clauses_of(batch, tokens) == expected
    assert clause_lengths(tokens).tolist() == [slow.clause_length(clause) for clause in expected]
    assert_same_partition(expected, clause_hashes(tokens).tolist())


@settings(max_examples=200)
@given(page_texts, st.integers(1, 6), st.integers(1, 6))
def test_grams_equal_the_reference(text: str, cjk: int, word: int) -> None:
    _, tokens = cut(text)
    hashes, first = gram_hashes(tokens, cjk, word)
    expected = slow.grams(normalise(text), cjk, word)
    assert len(hashes) == len(expected)
    assert first.tolist() == sorted(set(first.tolist()))
    assert_same_partition(expected, hashes.tolist())


@settings(max_examples=100)
@given(pages_of_texts)
def test_offsets_cut_the_batch_into_its_pages(texts: list[str]) -> None:
    tokens = tokenise(normalise_many(texts))
    counts = [len(slow.tokens(normalise(text))) for text in texts]
    assert np.diff(tokens.offsets).tolist() == counts
    assert np.bincount(tokens.pages, minlength=len(texts)).tolist() == counts
    for page, (start, end) in enumerate(
        zip(tokens.clause_offsets[:-1].tolist(), tokens.clause_offsets[1:].tolist(), strict=True)
    ):
        inside = tokens.clause[tokens.offsets[page] : tokens.offsets[page + 1]]
        assert sorted(set(inside.tolist())) == list(range(start, end))


@pytest.mark.parametrize("text", ["", " \n", "。，！", "-- //"])
def test_text_without_words_has_no_tokens_and_no_clauses(text: str) -> None:
    _, tokens = cut(text)
    assert (len(tokens), tokens.clause_count, tokens.clause_offsets.tolist()) == (0, 0, [0, 0])
    assert len(gram_hashes(tokens)[0]) == len(clause_hashes(tokens)) == len(clause_lengths(tokens)) == 0


def test_a_run_longer_than_the_table_of_powers_is_one_token() -> None:
    hashes = [int(cut(letter * 200_000)[1].hashes[0]) for letter in "ab"]
    batch, tokens = cut("a" * 200_000)
    assert (len(tokens), int(tokens.ends[0])) == (1, 200_000)
    assert hashes[0] != hashes[1]
    assert len(batch) == 1


def test_segment_hashes_depend_on_the_segment_alone() -> None:
    values = np.arange(1, 9, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    twice = np.concatenate((values, values))
    starts, ends = np.array([0, 1, 3]), np.array([1, 3, 8])
    base = 0xC2B2AE3D27D4EB4F
    alone = segment_hashes(values, starts, ends, base)
    assert segment_hashes(twice, starts + 8, ends + 8, base).tolist() == alone.tolist()
    assert len(set(alone.tolist())) == 3
    assert len(segment_hashes(values, starts[:0], ends[:0], base)) == 0


def test_runs_of_equal_numbers_begin_where_the_number_changes() -> None:
    assert run_starts(np.array([4, 4, 2, 2, 2, 9])).tolist() == [0, 2, 5]
    assert run_starts(np.array([], dtype=np.int64)).tolist() == []


@given(st.lists(st.text("a1 中国かタ한ไ\U00020000é.", max_size=8), max_size=5))
def test_characters_of_unspaced_scripts_stand_apart(texts: list[str]) -> None:
    batch = normalise_many(texts)
    for page, text in enumerate(characters_apart(texts)):
        pieces = re.findall(r"[中国かタ한ไ\U00020000]|[^ 中国かタ한ไ\U00020000]+", batch.string(page))
        assert text.split() == pieces
