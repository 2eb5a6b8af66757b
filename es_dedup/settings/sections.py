"""Settings of the detection methods and of the decision rules; ``loading`` has the other sections and reads all of them.

Each number carries the range that its source states; a combination that the source rules out is refused.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from es_dedup.settings import methods

SHAPES: Final[dict[str, Any]] = {"shapes": True}
"""Marks a setting that stored features depend on: an index records it, and is made for its value alone."""
FILE: Final[dict[str, Any]] = SHAPES | {"no file": [""]}
"""Marks such a setting that names a file by all values but these: an index records what is in the file, too."""
SYNONYMS: Final[dict[str, Any]] = SHAPES | {"no file": ["wordnet", "none"]}
"""The same for a file of synonyms."""


class Section(BaseModel):
    """Settings that belong together, described by the docstrings below them: immutable, unknown keys are refused.

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


@cache
def descriptions(section: type[Section]) -> dict[str, str]:
    """What each setting of a section means, on one line: the description of its field, or else the docstring below it.

    Pydantic, too, can read the docstrings; it would parse the source of every section whenever the package is imported.
    """
    found: dict[str, str] = {}
    for kind in reversed([each for each in section.__mro__ if issubclass(each, Section)]):
        (definition,) = ast.parse(inspect.getsource(kind)).body
        for statement, below in pairwise(ast.iter_child_nodes(definition)):
            match statement, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = text
    found |= {name: field.description for name, field in section.model_fields.items() if field.description}
    return {name: " ".join(text.split()) for name, text in found.items()}


def feature_setting(default: Any, **options: Any) -> Any:
    """A field that stored features depend on; options as of ``pydantic.Field``."""
    return Field(default, json_schema_extra=SHAPES, **options)


def _known_methods(names: tuple[str, ...], key: str = methods.DETECTORS) -> tuple[str, ...]:
    if problems := "; ".join(methods.wrong_names(names, key)):
        raise ValueError(problems)
    return names


DetectorNames = Annotated[tuple[str, ...], AfterValidator(_known_methods)]
ExtractorName = Annotated[str, AfterValidator(lambda name: _known_methods((name,), methods.EXTRACTOR)[0])]
IdfFile = Annotated[
    str,
    Field(
        description="file of inverse document frequencies for tf-idf weights, a word and its number on each line; empty: the built-in list for general Chinese",
        json_schema_extra=FILE,
    ),
]
Synonyms = Annotated[
    str,
    Field(
        min_length=1,
        description="synonyms: wordnet (Chinese and English, shipped), none, or the path of a file",
        json_schema_extra=SYNONYMS,
    ),
]


class MultiSimhashConfig(Section):
    """Two SimHashes: of all content words, and of the words around the keywords (CN106649222A)."""

    detector = "multi_simhash"

    keywords: int = feature_setting(10, ge=5, le=15)
    """number of keywords of a page, N1"""
    context: int = feature_setting(10, ge=6, le=14)
    """number of words on each side of a keyword, N2"""
    max_bits: int = Field(2, ge=1, le=3)
    """maximum differing bits of one of the two SimHashes for a match, k1"""
    max_text_bits: int = Field(6, ge=5, le=7)
    """maximum differing bits of the text SimHash if the keyword SimHash matches, k2"""
    idf: IdfFile = ""
    synonyms: Synonyms = "wordnet"


class CharFrequencyConfig(Section):
    """Frequent characters and what follows them."""

    detector = "char_frequency"

    count_above: int = feature_setting(3, ge=1, le=50)
    """occurrences above which a character is frequent"""
    min_characters: int = feature_setting(5, ge=1, le=100)
    """minimum number of frequent characters of a page"""
    min_main: float = Field(0.8, gt=0, lt=1)
    """share of common frequent characters that must be exceeded, M"""
    min_aux: float = Field(0.8, gt=0, lt=1)
    """share of common followers that must be exceeded"""
    long_chars: int = Field(500, ge=1, le=1_000_000)
    """characters above which a page is long, T"""
    min_length_ratio: float = Field(0.3, ge=0, le=1)
    """length ratio below which followers are also compared, R"""


class DwdcsConfig(Section):
    """Key concepts of a small-world network and their positions (DWDCS)."""

    detector = "dwdcs"

    hubs: int = feature_setting(30, ge=5, le=63)
    """number of nodes of highest degree that are tried, l"""
    key_concepts: int = feature_setting(20, ge=5, le=63)
    """number of key concepts of a page, p"""
    window: int = feature_setting(2, ge=1, le=5)
    """distance in content words of one sentence up to which two concepts are linked"""
    min_occurrences: int = feature_setting(2, ge=1, le=10)
    """minimum occurrences of a concept that is a node"""
    min_concepts: int = feature_setting(10, ge=3, le=200)
    """minimum number of nodes of a page"""
    max_concepts: int = feature_setting(2000, ge=100, le=5_000)
    """maximum number of nodes of a page; the most frequent are kept"""
    min_overlap: float = feature_setting(0.5, ge=0, lt=1)
    """overlap of synonyms above which concepts are merged"""
    synonyms: Synonyms = "wordnet"
    min_similarity: float = Field(0.9, ge=0, lt=1)
    """cosine of key concepts that must be exceeded"""
    max_position_variance: float = Field(0.05, gt=0, le=1)
    """standard deviation of position shifts from which a pair is rejected, relative to the longer page"""
    query: Literal["complete", "leading"] = "complete"
    """candidates: all pages that can match, or, as in the source, pages that share leading concepts"""
    query_concepts: int = Field(8, ge=1, le=63)
    """number of leading concepts in a candidate query, n"""
    query_hits: int = Field(6, ge=1, le=63)
    """minimum number of these that a candidate must share"""

    @model_validator(mode="after")
    def _in_order(self) -> DwdcsConfig:
        if not self.query_hits <= self.query_concepts <= self.key_concepts <= self.hubs:
            raise ValueError("query_hits <= query_concepts <= key_concepts <= hubs must hold")
        return self


class CcdetConfig(Section):
    """Period signatures (CCDet)."""

    detector = "ccdet"

    window: int = feature_setting(10, ge=2, le=64)
    """number of characters before a full stop in a signature"""
    min_ccs: float = Field(0.6, ge=0, le=1)
    """minimum common containment similarity"""
    min_clr: float = Field(0.5, ge=0, le=1)
    """length ratio below which a match is containment"""
    min_features: int = feature_setting(3, ge=1, le=100)
    """minimum number of signatures of a page"""
    min_common: int = Field(2, ge=1, le=100)
    """minimum number of signatures in common"""
    prune: Literal["site", "none"] = "site"
    """how noise signatures are recognised: by site, or not at all"""
    prune_min_pages: int = Field(3, ge=2, le=1000)
    """minimum number of pages of one site for a signature to be noise"""
    query_signatures: int = Field(0, ge=0, le=2_048)
    """number of signatures in a candidate query; 0: all, or 12 if coverage is enabled"""


class SimhashConfig(Section):
    """64-bit SimHash."""

    detector = "simhash"

    max_hamming_distance: int = Field(3, ge=0, le=7)
    """maximum differing bits of 64"""
    features: Literal["words", "grams", "words-tfidf"] = feature_setting("grams")
    """hashed features: pairs of adjacent tokens, words with weight 1, or words weighted by tf-idf"""
    idf: IdfFile = ""


class CoverageConfig(Section):
    """Coverage in both directions, by clauses and sketches."""

    detector = "coverage"

    min_cover: float = Field(0.6, ge=0, le=1)
    """minimum coverage of the better covered page"""
    min_both: float = Field(0.55, ge=0, le=1)
    """minimum coverage of the less covered page for a duplicate"""
