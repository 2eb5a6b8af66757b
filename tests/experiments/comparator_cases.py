"""What tests of several comparators share: detectors by name, real pages, words as the reference reads them."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from es_dedup.detectors.port import Detector
from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content
from es_dedup.text.normalise import normalise
from es_dedup.text.segment import segmenter
from experiments.settings import settings_of
from tests.reference.words import PlacedWord, placed_words

TRUTH: Final = Path(__file__).parents[2] / "samples" / "truth.jsonl"
_WORDS: Final = (
    "泵站 检修 了 的 是 在 和 与 也 就 都 。 ， ！ 雨季 设备 记者 版本2.1 1,250 图书馆 \n the a is was harbour quay of "
    "Ferry 3.5% . ? ; council … 甲 the的"
).split(" ")

worded_texts: Final = st.lists(st.sampled_from([*_WORDS, " "]), max_size=60).map("".join)
"""Texts of words, function words and marks, run together or spaced."""


def detector(name: str, **settings: Any) -> Detector[Any]:
    """A method built with these settings of its section (``section.key`` written ``section__key``)."""
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    return create_detectors(settings_of({**overrides, "detectors": (name,)}))[name]


def features(method: Detector[Any], *texts: str) -> list[Any]:
    """Features of texts without titles."""
    return method.featurise_many([Content(text) for text in texts])


@cache
def real_pages() -> dict[str, Content]:
    """The sample pages' main texts and titles, by id."""
    rows = [json.loads(line) for line in TRUTH.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: Content(row["text"], title=row["title"], language=row["lang"]) for row in rows}


def pieces(text: str) -> list[str]:
    """The segmenter's pieces of a text in its normalised form."""
    return segmenter().cut(normalise(text))


def words(text: str) -> list[str]:
    """Words of a text as the reference reads them."""
    return [each.word for each in placed(text)]


def placed(text: str) -> list[PlacedWord]:
    """The same with the sentence of each."""
    return placed_words(pieces(text))


def close(measured: float, expected: Any) -> bool:
    """Equal but for rounding."""
    return abs(measured - float(expected)) < 1e-9


def scores(method: Detector[Any], pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Score of each pair of sample pages that both have features."""
    pages = real_pages()
    found = dict(zip(pages, method.featurise_many(list(pages.values())), strict=True))
    having = {page: each for page, each in found.items() if not hasattr(each, "reason")}
    return {
        (left, right): method.verify(having[left], having[right]).score
        for left, right in pairs
        if left in having and right in having
    }
