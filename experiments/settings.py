"""Settings of the comparators: published methods that es-dedup is measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from es_dedup.settings import Settings
from es_dedup.settings.sections import SHAPES, Section, feature_setting

if TYPE_CHECKING:
    from collections.abc import Mapping

ShingleChars = Annotated[
    int, Field(ge=2, le=20, description="number of characters in a Chinese shingle", json_schema_extra=SHAPES)
]
ShingleWords = Annotated[
    int,
    Field(
        ge=1, le=20, description="number of words in a shingle of other languages", json_schema_extra=SHAPES
    ),
]
Bands = Annotated[
    int, Field(ge=1, le=64, description="number of bands of a signature", json_schema_extra=SHAPES)
]
Rows = Annotated[int, Field(ge=1, le=16, description="number of minima in a band", json_schema_extra=SHAPES)]


class ShinglingConfig(Section):
    """Shingling: sampled shingles, and super-shingles."""

    detector = ("shingling", "shingling_containment", "supershingles")

    chars: ShingleChars = 5
    words: ShingleWords = 5
    modulus: int = feature_setting(8, ge=1, le=100, description="one of this many shingles is kept")
    min_shingles: int = feature_setting(
        4, ge=1, le=100, description="minimum number of kept shingles of a page"
    )
    min_resemblance: float = Field(0.5, gt=0, le=1, description="minimum resemblance")
    min_containment: float = Field(
        0.6, gt=0, le=1, description="minimum containment of the better covered page"
    )
    min_both: float = Field(
        0.5, ge=0, le=1, description="minimum containment of the other page for a duplicate"
    )
    min_groups: int = Field(2, ge=1, le=6, description="minimum number of equal super-shingles, of 6")


class MinhashConfig(Section):
    """MinHash with bands."""

    detector = "minhash"

    chars: ShingleChars = 5
    words: ShingleWords = 3
    bands: Bands = 32
    rows: Rows = 4
    min_shingles: int = feature_setting(4, ge=1, le=100, description="minimum number of shingles of a page")
    min_similarity: float = Field(0.5, gt=0, le=1, description="minimum share of equal minima")


class SpotsigsConfig(Section):
    """Spot signatures; also used by I-Match-S and LSH-S."""

    detector = ("spotsigs", "imatch_s", "lsh_s")

    antecedents: tuple[str, ...] = feature_setting(
        (), description="words that start a signature; empty: the built-in Chinese and English lists"
    )
    distance: int = feature_setting(1, ge=1, le=10, description="distance in words between links of a chain")
    chain: int = feature_setting(2, ge=1, le=6, description="number of words in a chain")
    min_idf: float = Field(
        0.2, ge=0, le=1, description="signatures below this normalised idf are dropped; needs statistics"
    )
    max_idf: float = Field(
        1.0, ge=0, le=1, description="signatures above this normalised idf are dropped; needs statistics"
    )
    min_signatures: int = feature_setting(
        4, ge=1, le=100, description="minimum number of signatures of a page"
    )
    min_similarity: float = Field(0.5, gt=0, le=1, description="minimum multiset Jaccard similarity")


class ImatchConfig(Section):
    """I-Match and its variants."""

    detector = ("imatch", "imatch_random", "imatch_s", "imatch_p")

    min_idf: float = Field(
        0.2, ge=0, le=1, description="words below this normalised idf are left out; needs statistics"
    )
    max_idf: float = Field(
        0.8, ge=0, le=1, description="words above this normalised idf are left out; needs statistics"
    )
    lexicons: int = feature_setting(10, ge=1, le=50, description="number of random lexicons of imatch_random")
    kept: float = feature_setting(
        0.7, gt=0, lt=1, description="share of the lexicon that each random lexicon keeps"
    )
    min_terms: int = feature_setting(
        4, ge=1, le=100, description="minimum number of terms; pages with fewer have no signature"
    )


class LshConfig(Section):
    """LSH-S and LSH-P: banded minima over spot signatures, or over period signatures."""

    detector = ("lsh_s", "lsh_p")

    bands: Bands = 64
    rows: Rows = 3
    min_similarity: float = Field(0.5, gt=0, le=1, description="minimum Jaccard similarity")


class CodetConfig(Section):
    """CoDet-like: rare words of each sentence as paths of a tree."""

    detector = "codet_like"

    depth: int = feature_setting(4, ge=2, le=8, description="number of words of a sentence in its path, β")
    min_sentences: int = feature_setting(2, ge=1, le=100, description="minimum number of sentences of a page")
    min_similarity: float = Field(0.5, ge=0.34, le=1, description="minimum share of the shorter page")
    min_ratio: float = Field(0.5, ge=0, le=1, description="length ratio below which a match is containment")


class FeatureSentenceConfig(Section):
    """The sentence around a page's weightiest word, compared by longest common subsequence."""

    detector = "feature_sentence"

    frequency: float = feature_setting(0.4, ge=0, le=1, description="weight of the frequency of a word")
    location: float = feature_setting(0.2, ge=0, le=1, description="weight of an early first occurrence")
    in_title: float = feature_setting(0.3, ge=0, le=1, description="weight of an occurrence in the title")
    length: float = feature_setting(0.1, ge=0, le=1, description="weight of the word's length")
    min_chars: int = feature_setting(
        8, ge=2, le=100, description="minimum number of characters of a feature sentence"
    )
    min_similarity: float = Field(
        0.8,
        gt=0,
        le=1,
        description="minimum length of the common subsequence, relative to the longer sentence",
    )


class PunctuationConfig(Section):
    """The characters around each punctuation mark, as one string."""

    detector = "punctuation"

    before: int = feature_setting(2, ge=0, le=10, description="number of characters before a mark")
    after: int = feature_setting(2, ge=1, le=10, description="number of characters after a mark")
    min_marks: int = feature_setting(3, ge=1, le=100, description="minimum number of marks of a page")
    min_similarity: float = Field(
        0.8, gt=0, le=1, description="minimum length of the common subsequence, relative to the longer string"
    )


COMPARATORS: Final = (
    "codet_like",
    "feature_sentence",
    "imatch",
    "imatch_p",
    "imatch_random",
    "imatch_s",
    "lsh_p",
    "lsh_s",
    "minhash",
    "punctuation",
    "shingling",
    "shingling_containment",
    "spotsigs",
    "supershingles",
)
"""Names of the comparators, in alphabetical order."""


class ExperimentSettings(Settings):
    """The settings of es-dedup, with those of the comparators."""

    shingling: ShinglingConfig = ShinglingConfig()
    minhash: MinhashConfig = MinhashConfig()
    spotsigs: SpotsigsConfig = SpotsigsConfig()
    imatch: ImatchConfig = ImatchConfig()
    lsh: LshConfig = LshConfig()
    codet: CodetConfig = CodetConfig()
    feature_sentence: FeatureSentenceConfig = FeatureSentenceConfig()
    punctuation: PunctuationConfig = PunctuationConfig()


def settings_of(changes: Mapping[str, Any]) -> ExperimentSettings:
    """The default settings with some values changed, by dotted key.

    Raises:
        pydantic.ValidationError: a key is unknown or a value is out of its range.
    """
    nested: dict[str, Any] = {}
    for key, value in changes.items():
        *sections, name = key.split(".")
        place = nested
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return ExperimentSettings.model_validate(nested)


def with_comparators(settings: Settings) -> ExperimentSettings:
    """These settings, with the defaults of the comparators where they have none."""
    if isinstance(settings, ExperimentSettings):
        return settings
    return ExperimentSettings.model_validate(settings.model_dump())
