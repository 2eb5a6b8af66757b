"""Hostile texts against normalising, tokens and features: no exception, no hang, valid results.

``ES_DEDUP_FUZZ=100000 pytest tests/unit/text/test_text_fuzz.py`` runs that many inputs instead of 1,000;
``ES_DEDUP_FUZZ_SEED`` changes the seed. A failure names the numbers of its batch: inputs depend on the seed alone.
"""

import os
import random
import time
from typing import Final

import pytest

from es_dedup.detectors.coverage_features import CLAUSES_MOST, NUMBERS_MOST, SKETCH_MOST
from es_dedup.detectors.features import featurise, pack, stored_terms, unpack
from es_dedup.settings import Settings
from es_dedup.settings.sections import SimhashConfig
from es_dedup.text.normalise import normalise_many
from tests.texts import MIXED_ALPHABET, SENTENCES, SURROGATES

COUNT: Final = int(os.environ.get("ES_DEDUP_FUZZ", "1000"))
SEED: Final = int(os.environ.get("ES_DEDUP_FUZZ_SEED", "20261121"))
BATCH: Final = 500
MAX_SECONDS: Final = 20.0  # of processor time for a batch; it takes about one
ALPHABETS: Final = (
    MIXED_ALPHABET,
    MIXED_ALPHABET + SURROGATES,
    "0123456789.,:-",
    "。，\n 。",
    "\x00\x01\x1f\x7f\x80\x9f\u200b\ufeff",
    "一二三百万年月日电讯0",
    "e\u0301\u0327\u0345",
    "aA ",
    "\U0001f600\u200d\U0001f1e8\ufe0f\U000e0067",
)
SETTINGS: Final = (Settings(), Settings(simhash=SimhashConfig(max_hamming_distance=7, features="words")))


def hostile(number: int) -> tuple[str, str]:
    """Text and title of input ``number``: pieces of every kind, repeated, cut and spliced."""
    rng = random.Random(f"{SEED}/{number}")
    pieces = []
    for _ in range(rng.choice((0, 1, 1, 2, 5, 20))):
        match rng.randrange(6):
            case 0:
                pieces.append(rng.choice(SENTENCES))
            case 1:
                pieces.append("".join(rng.choices(rng.choice(ALPHABETS), k=rng.randrange(40))))
            case 2:
                pieces.append("".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(12))))
            case 3:
                pieces.append(rng.choice(rng.choice(ALPHABETS)) * rng.choice((1, 3, 50, 600)))
            case 4:
                sentence = rng.choice(SENTENCES)
                pieces.append(sentence[rng.randrange(len(sentence)) :])
            case _:
                pieces.append(rng.choice(SENTENCES) * rng.choice((1, 1, 1, 30)))
    text = "".join(pieces)
    if number % 997 == 0:
        text = (text or "甲") * max(1, 100_000 // max(len(text), 1))
    return text, rng.choice(("", text[:40], rng.choice(SENTENCES), "".join(reversed(pieces))[:2000]))


@pytest.mark.timeout(3600)
def test_hostile_texts_give_valid_features() -> None:
    print(f"seed {SEED}, {COUNT} inputs")
    for start in range(0, COUNT, BATCH):
        numbers = range(start, min(start + BATCH, COUNT))
        try:
            check(numbers)
        except Exception as error:
            raise AssertionError(f"inputs {numbers.start}-{numbers.stop - 1} of seed {SEED}") from error


def check(numbers: range) -> None:
    """One batch through the text steps, both kinds of features, and the stored form and back."""
    texts, titles = map(list, zip(*(hostile(number) for number in numbers), strict=True))
    settings = SETTINGS[numbers.start // BATCH % len(SETTINGS)]
    begun = time.process_time()
    table = featurise(texts, titles, settings)
    terms, offsets = stored_terms(table, settings)
    payloads = pack(table)
    assert time.process_time() - begun < MAX_SECONDS
    forms = normalise_many(texts)
    assert table.lengths.tolist() == [len(forms.string(page)) for page in range(len(texts))]
    assert pack(unpack(payloads)) == payloads
    assert offsets[0] == 0
    assert offsets[-1] == len(terms)
    assert not len(terms) or int(terms.max()) < 1 << 48
    kept = table.coverage
    for column, most in (
        ("gram", SKETCH_MOST),
        ("clause", CLAUSES_MOST),
        ("title", 32),
        ("number", NUMBERS_MOST),
    ):
        edges = getattr(kept, f"{column}_offsets")
        assert int((edges[1:] - edges[:-1]).max()) <= most
    alone = random.Random(numbers.start).randrange(len(texts))
    single = featurise([texts[alone]], [titles[alone]], settings)
    assert pack(single) == [payloads[alone]]
