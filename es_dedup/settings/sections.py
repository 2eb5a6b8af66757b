"""Settings of the detection methods and of the decision rules; ``loading`` has the other sections and reads all of them.

Each number carries the range that its source states; a combination that the source rules out is refused.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

SHAPES: Final[dict[str, Any]] = {"shapes": True}
"""Marks a setting that stored features depend on: an index records it, and is made for its value alone."""
FILE: Final[dict[str, Any]] = SHAPES | {"file": {"except": [""]}}
"""Marks such a setting that names a file by all values but these: an index records what is in the file, too."""
SYNONYMS: Final[dict[str, Any]] = SHAPES | {"file": {"except": ["wordnet", "none"]}}
"""The same for a file, or a folder, of synonyms."""
ROUNDING: Final = 1e-9
"""Tolerance for decimal fractions: 1.5 times 0.4 is a little more than 0.6 in binary."""


class Section(BaseModel):
    """Settings that belong together: immutable, unknown keys are refused.

    Attributes:
        detector: the method, or the methods, that the section belongs to; None for all others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    detector: ClassVar[str | tuple[str, ...] | None] = None

    @classmethod
    def serves(cls, detectors: tuple[str, ...]) -> bool:
        """Whether the section matters when these methods are enabled."""
        names = (cls.detector,) if isinstance(cls.detector, str) else cls.detector
        return names is None or not set(names).isdisjoint(detectors)


def feature_setting(default: Any, **options: Any) -> Any:
    """A field that stored features depend on; options as of ``pydantic.Field``."""
    return Field(default, json_schema_extra=SHAPES, **options)


IdfFile = Annotated[
    str,
    Field(
        description="for weights by tf-idf: file of learned inverse document frequencies (es-dedup idf makes one); empty: general Chinese",
        json_schema_extra=FILE,
    ),
]
Synonyms = Annotated[
    str,
    Field(
        min_length=1,
        description="synonyms: wordnet (Chinese Open Wordnet, shipped), none, or the path of a file",
        json_schema_extra=SYNONYMS,
    ),
]


class WordsConfig(Section):
    """How Chinese text is cut into words."""

    segmenter: Literal["rjieba", "jieba", "rjieba-hmm", "jieba-hmm"] = feature_setting(
        "rjieba",
        description="what cuts Chinese text into words, by jieba's dictionary: rjieba (native code) or jieba itself; with -hmm also words that are not in it, by its model",
    )


class MultiSimhashConfig(Section):
    """Two SimHashes: of all content words, and of the words around the keywords (CN106649222A)."""

    detector = "multi_simhash"

    keywords: int = feature_setting(10, ge=5, le=15, description="keywords of a page, N1")
    context: int = feature_setting(10, ge=6, le=14, description="words taken on each side of a keyword, N2")
    max_bits: int = Field(2, ge=1, le=3, description="differing bits of either SimHash that accept, k1")
    max_text_bits: int = Field(
        6, ge=5, le=7, description="differing bits of the text up to which the keywords decide, k2"
    )
    tfidf_weight: float = feature_setting(0.8, gt=0, le=1, description="share of tf-idf, λ1")
    speech_weight: float = feature_setting(0.5, gt=0, le=1, description="share of the part of speech, λ2")
    length_weight: float = feature_setting(0.05, gt=0, le=1, description="share of the word's length, λ3")
    place_weight: float = feature_setting(0.1, gt=0, le=1, description="share of an early place, λ4")
    noun: float = feature_setting(0.6, gt=0.5, le=1, description="weight of a noun")
    adjective: float = feature_setting(0.4, ge=0, le=1, description="weight of an adjective")
    verb: float = feature_setting(0.3, ge=0, le=1, description="weight of a verb")
    other: float = feature_setting(0.1, ge=0, le=1, description="weight of any other word")
    weights: Literal["count", "tfidf"] = feature_setting(
        "count", description="how words vote in the SimHash of the text"
    )
    windows: Literal["once", "each"] = feature_setting(
        "once",
        description="a word that stands in several windows around keywords counts once, or in each window",
    )
    idf: IdfFile = ""
    synonyms: Synonyms = "wordnet"

    @model_validator(mode="after")
    def _as_the_source_orders(self) -> MultiSimhashConfig:
        shares = (self.tfidf_weight, self.speech_weight, self.place_weight, self.length_weight)
        if not all(more > less for more, less in pairwise(shares)):
            raise ValueError("tfidf_weight > speech_weight > place_weight > length_weight must hold")
        rules = (
            (self.noun + ROUNDING >= 1.5 * self.adjective, "noun must be at least 1.5 times adjective"),
            (self.noun + ROUNDING >= 2 * self.verb, "noun must be at least twice verb"),
            (self.adjective > self.verb, "adjective must be more than verb"),
            (self.verb > 2 * self.other, "verb must be more than twice other"),
        )
        broken = [rule for holds, rule in rules if not holds]
        if broken:
            raise ValueError("; ".join(broken))
        return self


class CharFrequencyConfig(Section):
    """Frequent characters and what follows them."""

    detector = "char_frequency"

    count_above: int = feature_setting(
        3, ge=1, le=50, description="a character counts when it occurs more often"
    )
    characters: Literal["level1", "gb2312", "all"] = feature_setting(
        "level1",
        description="which characters count: GB 2312 level 1, levels 1 and 2, or with digits and letters",
    )
    min_characters: int = feature_setting(5, ge=1, le=100, description="frequent characters a page needs")
    followers: Literal["adjacent", "coded"] = feature_setting(
        "adjacent",
        description="what follows a frequent character: the next character, whatever it is, or the next that has a number "
        "(punctuation is passed over)",
    )
    min_main: float = Field(
        0.8, gt=0, lt=1, description="share of frequent characters found again that must be passed, M"
    )
    min_aux: float = Field(
        0.8, gt=0, lt=1, description="share of their followers found again that must be passed"
    )
    aux_alone: bool = Field(
        default=False,
        description="where followers are compared they decide alone, as in the source's steps; else both shares must be passed",
    )
    long_chars: int = Field(500, ge=1, le=1_000_000, description="characters above which a page is long, T")
    min_length_ratio: float = Field(
        0.3, ge=0, le=1, description="ratio of lengths below which followers are compared too, R"
    )
    both_long: bool = Field(
        default=False, description="compare followers when both are long, not when one is"
    )
    search: Literal["terms", "tree"] = Field(
        "terms",
        description="how an embedded index finds candidates of a page: by posting lists, or by the edit-distance tree of the "
        "source; pages accepted are the same, but that a tree leaves out no character as common",
    )
    stop_characters: bool = feature_setting(
        default=True, description="leave function words out of the main comparison"
    )


class DwdcsConfig(Section):
    """Key concepts of a small-world network, and where they stand (DWDCS, DWSWN)."""

    detector = ("dwdcs", "dwswn")

    hubs: int = feature_setting(30, ge=5, le=63, description="nodes of highest degree that are tried, l")
    key_concepts: int = feature_setting(20, ge=5, le=63, description="concepts that stand for a page, p")
    window: int = feature_setting(2, ge=1, le=5, description="distance within which concepts are joined")
    min_occurrences: int = feature_setting(
        2, ge=1, le=10, description="occurrences that make a concept a node"
    )
    min_concepts: int = feature_setting(10, ge=3, le=200, description="nodes a page needs to be compared")
    max_concepts: int = feature_setting(
        2000, ge=100, le=5_000, description="nodes kept of a page, the most frequent"
    )
    min_overlap: float = feature_setting(
        0.5, ge=0, lt=1, description="overlap of synonyms above which concepts merge"
    )
    senses: int = feature_setting(1, ge=1, le=10, description="meanings of a word that count")
    synonyms: Synonyms = "wordnet"
    min_phrase_occurrences: int = feature_setting(
        0,
        ge=0,
        le=20,
        description="neighbouring words that stand together so often on a page are one phrase; 0: a phrase is one word",
    )
    weights: Literal["count", "tfidf", "contribution"] = feature_setting(
        "count",
        description="weight of a key concept in the cosine: its occurrences, these by idf, or its contribution CB to the "
        "network",
    )
    idf: IdfFile = ""
    min_similarity: float = Field(0.9, ge=0, lt=1, description="cosine of key concepts that must be passed")
    max_position_variance: float = Field(
        0.05,
        gt=0,
        le=1,
        description="spread of the shift of positions that is too much, as a share of the longer page",
    )
    deviation: Literal["signed", "absolute"] = Field(
        "signed",
        description="spread around the mean shift, or around the mean distance as formula 12 is printed",
    )
    query: Literal["complete", "leading"] = Field(
        "complete",
        description="ask for all pages that can be accepted, or for the leading concepts as the source does",
    )
    query_concepts: int = Field(8, ge=1, le=63, description="leading concepts that are asked for, n")
    query_hits: int = Field(6, ge=1, le=63, description="of them must be found")

    @model_validator(mode="after")
    def _in_order(self) -> DwdcsConfig:
        if not self.query_hits <= self.query_concepts <= self.key_concepts <= self.hubs:
            raise ValueError("query_hits <= query_concepts <= key_concepts <= hubs must hold")
        if self.min_phrase_occurrences == 1:
            raise ValueError("min_phrase_occurrences must be 0 (no phrases) or at least 2")
        return self


class CcdetConfig(Section):
    """Period signatures (CCDet)."""

    detector = "ccdet"

    window: int = feature_setting(10, ge=2, le=64, description="characters before a full stop")
    min_ccs: float = Field(0.6, ge=0, le=1, description="common containment similarity that accepts")
    min_clr: float = Field(0.5, ge=0, le=1, description="length ratio below which a match is containment")
    min_features: int = feature_setting(3, ge=1, le=100, description="signatures a page needs to be compared")
    min_common: int = Field(2, ge=1, le=100, description="signatures two pages must share")
    prune: Literal["site", "idf", "none"] = Field("site", description="which signatures are dropped as noise")
    prune_min_pages: int = Field(
        3, ge=2, le=1000, description="pages of one site that make a signature noise"
    )
    prune_site_share: float = Field(
        1.0, gt=0, le=1, description="share of its most frequent site that makes it noise"
    )
    prune_min_idf: float = Field(
        3.0, ge=0, le=30, description="ln(pages / pages with it) below which a signature is noise"
    )
    recount: bool = Field(default=True, description="count signatures again after pruning")
    query_signatures: int = Field(
        0,
        ge=0,
        le=2_048,
        description="signatures a page asks an index for; 0: all, or 12 where coverage asks too",
    )


class SimhashConfig(Section):
    """64-bit SimHash."""

    detector = "simhash"

    max_hamming_distance: int = Field(3, ge=0, le=7, description="differing bits of 64 that still accept")
    features: Literal["words", "grams", "words-tfidf"] = feature_setting(
        "grams",
        description="what is hashed: pairs of neighbouring tokens, or segmented words, each once or by tf-idf",
    )
    idf: IdfFile = ""


class CoverageConfig(Section):
    """Two-way coverage by clauses and sketch."""

    detector = "coverage"

    min_cover: float = Field(0.6, ge=0, le=1, description="share of the better covered page that accepts")
    min_both: float = Field(
        0.55, ge=0, le=1, description="share of the less covered page that makes a duplicate"
    )
