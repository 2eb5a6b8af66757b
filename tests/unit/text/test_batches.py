"""A page's tokens, hashes and features never depend on its neighbours in a batch."""

import random
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_dedup.detectors.features import featurise, pack, stored_terms
from es_dedup.settings import Settings
from es_dedup.settings.sections import SimhashConfig
from es_dedup.text.normalise import normalise_many
from es_dedup.text.numbers import masked_clause_hashes, number_runs, number_tokens
from es_dedup.text.tokens import clause_hashes, clause_lengths, gram_hashes, tokenise
from tests.texts import SENTENCES, article, page_texts

SEED: Final = 20261121
GRAMS, WORDS = Settings(), Settings(simhash=SimhashConfig(max_hamming_distance=3, features="words"))
PAGES = st.lists(st.tuples(page_texts, st.one_of(st.just(""), page_texts)), max_size=6)


def token_columns(texts: list[str]) -> list[tuple[list[object], ...]]:
    """Per page: tokens, clauses, grams, masked clauses and numbers, with places relative to the page."""
    batch = normalise_many(texts)
    tokens = tokenise(batch)
    grams, first = gram_hashes(tokens)
    figures = number_tokens(batch, tokens)
    masked, numeric = masked_clause_hashes(tokens, figures)
    runs, run_pages = number_runs(batch, tokens, figures)
    found: list[tuple[list[object], ...]] = []
    for page in range(len(texts)):
        own = slice(int(tokens.offsets[page]), int(tokens.offsets[page + 1]))
        clauses = slice(int(tokens.clause_offsets[page]), int(tokens.clause_offsets[page + 1]))
        begun = (first >= own.start) & (first < own.stop)
        found.append(
            (
                tokens.hashes[own].tolist(),
                tokens.single[own].tolist(),
                (tokens.starts[own] - batch.offsets[page]).tolist(),
                (tokens.ends[own] - batch.offsets[page]).tolist(),
                (tokens.clause[own] - clauses.start).tolist(),
                clause_hashes(tokens)[clauses].tolist(),
                clause_lengths(tokens)[clauses].tolist(),
                grams[begun].tolist(),
                (first[begun] - own.start).tolist(),
                figures[own].tolist(),
                masked[clauses].tolist(),
                numeric[clauses].tolist(),
                runs[run_pages == page].tolist(),
            )
        )
    return found


def features(pages: list[tuple[str, str]], settings: Settings) -> list[tuple[bytes, list[int]]]:
    """Per page: packed features and stored terms."""
    table = featurise([text for text, _ in pages], [title for _, title in pages], settings)
    terms, offsets = stored_terms(table, settings)
    return [
        (payload, terms[offsets[page] : offsets[page + 1]].tolist())
        for page, payload in enumerate(pack(table))
    ]


@settings(max_examples=100)
@given(st.lists(page_texts, max_size=6))
@example(["第3", ".5元", "", "新社3月5日", "电话"])
@example(["a", "b", "\u0301", "ab.", "c", "1.", "2"])
def test_tokens_and_hashes_are_those_of_the_page_alone(texts: list[str]) -> None:
    assert token_columns(texts) == [token_columns([text])[0] for text in texts]


@pytest.mark.parametrize("settings_", [GRAMS, WORDS], ids=["grams", "words"])
@settings(max_examples=100)
@given(pages=PAGES)
@example(pages=[("共计5", ""), ("日电", ""), ("", "标题"), ("甲", "")])
def test_features_and_terms_are_those_of_the_page_alone(
    settings_: Settings, pages: list[tuple[str, str]]
) -> None:
    assert features(pages, settings_) == [features([page], settings_)[0] for page in pages]


def test_features_of_long_and_short_pages_do_not_depend_on_the_cut_of_the_batch() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    pages = [(article(seed, sentences=rng.choice((1, 5, 60, 300))), "") for seed in range(25)]
    pages += [(article(seed, sentences=40, language="en"), "") for seed in range(10)]
    pages += [(rng.choice(SENTENCES) * rng.choice((1, 40, 700)), "") for _ in range(10)]
    rng.shuffle(pages)
    whole = features(pages, GRAMS)
    cut = rng.randrange(1, len(pages))
    assert whole == features(pages[:cut], GRAMS) + features(pages[cut:], GRAMS)
    assert whole == [features([page], GRAMS)[0] for page in pages]
