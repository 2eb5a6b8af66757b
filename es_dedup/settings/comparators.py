"""Settings of the comparators: published methods that es-dedup is measured against."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from es_dedup.settings.sections import SHAPES, Section


class ShinglingConfig(Section):
    """Shingling: sampled shingles, and super-shingles."""

    detector = ("shingling", "shingling_containment", "supershingles")

    chars: int = Field(
        5, ge=2, le=20, description="characters of a Chinese shingle", json_schema_extra=SHAPES
    )
    words: int = Field(5, ge=1, le=20, description="words of any other shingle", json_schema_extra=SHAPES)
    modulus: int = Field(
        8, ge=1, le=100, description="one shingle in so many is kept", json_schema_extra=SHAPES
    )
    min_shingles: int = Field(
        4, ge=1, le=100, description="kept shingles a page needs to be compared", json_schema_extra=SHAPES
    )
    min_resemblance: float = Field(0.5, gt=0, le=1, description="resemblance that accepts")
    min_containment: float = Field(
        0.6, gt=0, le=1, description="containment of the better covered page that accepts"
    )
    min_both: float = Field(
        0.5, ge=0, le=1, description="containment of the other page that makes a duplicate"
    )
    min_groups: int = Field(2, ge=1, le=6, description="equal super-shingles of 6 that accept")


class MinhashConfig(Section):
    """MinHash with bands."""

    detector = "minhash"

    chars: int = Field(
        5, ge=2, le=20, description="characters of a Chinese shingle", json_schema_extra=SHAPES
    )
    words: int = Field(3, ge=1, le=20, description="words of any other shingle", json_schema_extra=SHAPES)
    bands: int = Field(32, ge=1, le=64, description="bands of a signature", json_schema_extra=SHAPES)
    rows: int = Field(4, ge=1, le=16, description="minima of a band", json_schema_extra=SHAPES)
    min_shingles: int = Field(
        4, ge=1, le=100, description="shingles a page needs to be compared", json_schema_extra=SHAPES
    )
    min_similarity: float = Field(0.5, gt=0, le=1, description="share of equal minima that accepts")


class SpotsigsConfig(Section):
    """Spot signatures; also used by I-Match-S and LSH-S."""

    detector = ("spotsigs", "imatch_s", "lsh_s")

    antecedents: tuple[str, ...] = Field(
        (),
        description="words that start a signature; empty: the built-in Chinese and English lists",
        json_schema_extra=SHAPES,
    )
    distance: int = Field(
        1, ge=1, le=10, description="words from one link of a chain to the next", json_schema_extra=SHAPES
    )
    chain: int = Field(2, ge=1, le=6, description="words of a chain", json_schema_extra=SHAPES)
    min_idf: float = Field(
        0.2, ge=0, le=1, description="signatures below this normalised idf are dropped; needs statistics"
    )
    max_idf: float = Field(
        1.0, ge=0, le=1, description="signatures above this normalised idf are dropped; needs statistics"
    )
    min_signatures: int = Field(
        4, ge=1, le=100, description="signatures a page needs to be compared", json_schema_extra=SHAPES
    )
    min_similarity: float = Field(0.5, gt=0, le=1, description="multiset Jaccard similarity that accepts")


class ImatchConfig(Section):
    """I-Match and its variants."""

    detector = ("imatch", "imatch_random", "imatch_s", "imatch_p")

    min_idf: float = Field(
        0.2, ge=0, le=1, description="words below this normalised idf are left out; needs statistics"
    )
    max_idf: float = Field(
        0.8, ge=0, le=1, description="words above this normalised idf are left out; needs statistics"
    )
    lexicons: int = Field(
        10, ge=1, le=50, description="random lexicons of imatch_random", json_schema_extra=SHAPES
    )
    kept: float = Field(
        0.7, gt=0, lt=1, description="share of the lexicon that a random one keeps", json_schema_extra=SHAPES
    )
    min_terms: int = Field(
        4, ge=1, le=100, description="terms a signature needs; below there is none", json_schema_extra=SHAPES
    )


class LshConfig(Section):
    """LSH-S and LSH-P: banded minima over spot signatures, or over period signatures."""

    detector = ("lsh_s", "lsh_p")

    bands: int = Field(64, ge=1, le=64, description="bands of a signature", json_schema_extra=SHAPES)
    rows: int = Field(3, ge=1, le=16, description="minima of a band", json_schema_extra=SHAPES)
    min_similarity: float = Field(0.5, gt=0, le=1, description="Jaccard similarity that accepts")


class CodetConfig(Section):
    """CoDet-like: rare words of each sentence as paths of a tree."""

    detector = "codet_like"

    depth: int = Field(
        4, ge=2, le=8, description="words of a sentence that make its path", json_schema_extra=SHAPES
    )
    min_sentences: int = Field(
        2, ge=1, le=100, description="sentences a page needs to be compared", json_schema_extra=SHAPES
    )
    min_similarity: float = Field(0.5, ge=0.34, le=1, description="share of the shorter page that accepts")
    min_ratio: float = Field(0.5, ge=0, le=1, description="length ratio below which a match is containment")


class FeatureSentenceConfig(Section):
    """The sentence around a page's weightiest word, compared by longest common subsequence."""

    detector = "feature_sentence"

    frequency: float = Field(
        0.4, ge=0, le=1, description="weight of how often a word occurs", json_schema_extra=SHAPES
    )
    location: float = Field(
        0.2, ge=0, le=1, description="weight of how early it first occurs", json_schema_extra=SHAPES
    )
    in_title: float = Field(
        0.3, ge=0, le=1, description="weight of standing in the title", json_schema_extra=SHAPES
    )
    length: float = Field(0.1, ge=0, le=1, description="weight of its length", json_schema_extra=SHAPES)
    min_chars: int = Field(
        8, ge=2, le=100, description="characters a feature sentence needs", json_schema_extra=SHAPES
    )
    min_similarity: float = Field(0.8, gt=0, le=1, description="common subsequence over the longer sentence")


class PunctuationConfig(Section):
    """The characters around each punctuation mark, as one string."""

    detector = "punctuation"

    before: int = Field(
        2, ge=0, le=10, description="characters taken before a mark", json_schema_extra=SHAPES
    )
    after: int = Field(2, ge=1, le=10, description="characters taken after a mark", json_schema_extra=SHAPES)
    min_marks: int = Field(
        3, ge=1, le=100, description="marks a page needs to be compared", json_schema_extra=SHAPES
    )
    min_similarity: float = Field(0.8, gt=0, le=1, description="common subsequence over the longer string")


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
