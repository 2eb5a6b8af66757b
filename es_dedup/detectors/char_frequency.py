"""Character frequency: pages are compared by their frequent characters, long ones by what follows these too.

Source: the patent application on deduplicating pages by character frequency; readings in docs/algorithms/char_frequency.md.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from es_dedup.detectors.char_frequency_features import (
    WORD,
    FrequentUnits,
    followers_by_name,
    frequent_units,
    unit_names,
)
from es_dedup.detectors.port import Detector
from es_dedup.model import CandidateQuery, Content, Number, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import tagged_terms
from es_dedup.text.normalise import TextBatch, normalise_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.settings.sections import CharFrequencyConfig

TAG: Final = 33
MOST_PAGES: Final = 10_000  # of a query term; joins of larger corpora leave out what nearly all pages have
PAYLOAD_VERSION: Final = 1
_HEAD: Final = struct.Struct("<B?IHI")  # version, wide, length, units, followers


@dataclass(frozen=True, slots=True)
class Measures:
    """What a pair shares.

    Attributes:
        main: share of the left page's S1 without function words that the right page has, and the other way round, 0-1.
        aux: the same of the followers of common characters.
        shared: common characters, function words not counted.
        followers: the auxiliary string decides too.
        equal: S1 is the same on both sides.
    """

    main: tuple[float, float]
    aux: tuple[float, float]
    shared: int
    followers: bool
    equal: bool


def needed(size: int, share: float) -> int:
    """The smallest whole number whose share of ``size`` is more than ``share``, a number below 1."""
    least = max(0, math.floor(share * size) - 1)
    while least / size <= share:
        least += 1
    return least


def shared_followers(left: FrequentUnits, right: FrequentUnits) -> tuple[int, int, int]:
    """Followers of common characters: those matched as multisets, and all of the left and of the right page."""
    common = np.intersect1d(left.units, right.units, assume_unique=True)
    keys = [_follower_keys(page, common) for page in (left, right)]
    values, place = np.unique(np.concatenate(keys), return_inverse=True)
    counts = [
        np.bincount(part, minlength=len(values)) for part in (place[: len(keys[0])], place[len(keys[0]) :])
    ]
    return int(np.minimum(*counts).sum()), len(keys[0]), len(keys[1])


def _follower_keys(page: FrequentUnits, common: NDArray[np.uint32]) -> NDArray[np.uint64]:
    units = np.repeat(page.units, np.diff(page.offsets))
    keep = np.isin(units, common)
    return (units[keep].astype(np.uint64) << np.uint64(32)) | page.followers[keep]


class CharFrequency(Detector[FrequentUnits]):
    """The detector."""

    name = "char_frequency"
    version = 2
    field_types: ClassVar[Mapping[str, str]] = {
        "char_frequency_characters": "keyword",
        "char_frequency_followers": "object",
    }
    term_fields: ClassVar[Mapping[int, tuple[str, ...]]] = {TAG: ("char_frequency_characters",)}

    def __init__(self, config: CharFrequencyConfig) -> None:
        self._config = config

    def strings(self, batch: TextBatch) -> list[FrequentUnits]:
        """Both strings of each page of normalised texts, however short."""
        return frequent_units(batch, self._config.count_above)

    def featurise_many(self, contents: Sequence[Content]) -> list[FrequentUnits | Skipped]:
        """Both strings of several pages."""
        pages = self.strings(normalise_many([content.text for content in contents]))
        return list(map(self._or_skipped, pages))

    def _or_skipped(self, page: FrequentUnits) -> FrequentUnits | Skipped:
        found, least = len(page.compared), self._config.min_characters
        if found < least:
            return Skipped("few-frequent-characters", f"{found} of {least} characters")
        return page

    def fields(
        self, contents: Sequence[Content | None], features: Sequence[FrequentUnits | None]
    ) -> list[dict[str, Any]]:
        """``char_frequency_characters``: S1 as it is compared; ``char_frequency_followers``: S2 for all of S1.

        Pages of words have words in the place of characters, and between their followers spaces.
        """
        characters, followers = self.field_types
        found: list[dict[str, Any]] = []
        for content, page in zip(contents, features, strict=True):
            found.append({})
            named = None if page is None else unit_names(page, "" if content is None else content.text)
            if page is not None and named is not None:
                found[-1][characters] = [named[unit] for unit in page.compared.tolist()]
                found[-1][followers] = followers_by_name(page, named)
        return found

    def terms(self, features: FrequentUnits) -> tuple[int, ...]:
        """Terms to store: the frequent characters that are compared."""
        return tuple(tagged_terms(TAG, features.compared).tolist())

    def candidate_query(self, features: FrequentUnits) -> CandidateQuery:
        """Pages that have more than ``min_main`` of this page's frequent characters: all that can be accepted, and no others.

        A page that this one contains may have fewer of them; only its own candidate query finds the pair. Of a set that must be
        had nearly whole no character may be left out as common, so the limit on pages of a term is ``MOST_PAGES``.
        """
        terms = self.terms(features)
        return CandidateQuery(
            (TermGroup(terms, needed(len(terms), self._config.min_main), max_df=MOST_PAGES),)
        )

    def measure(self, left: FrequentUnits, right: FrequentUnits) -> Measures:
        """All numbers of a pair."""
        ours, theirs = left.compared, right.compared
        shared = len(np.intersect1d(ours, theirs, assume_unique=True))
        matched, left_total, right_total = shared_followers(left, right)
        return Measures(
            main=(shared / max(len(ours), 1), shared / max(len(theirs), 1)),
            aux=(matched / max(left_total, 1), matched / max(right_total, 1)),
            shared=shared,
            followers=self.compares_followers(left.length, right.length),
            equal=len(left.units) > 0 and np.array_equal(left.units, right.units),
        )

    def compares_followers(self, left: int, right: int) -> bool:
        """Whether pages of these lengths are compared by followers too.

        True when one is longer than ``long_chars``, or the shorter is less than ``min_length_ratio`` of the longer.
        """
        short, long = min(left, right), max(left, right)
        return long > self._config.long_chars or short < self._config.min_length_ratio * long

    def covers(self, page: FrequentUnits, base: FrequentUnits) -> bool:
        """The source's own question: is the page under test a duplicate of the base page, or part of it?"""
        return self._accepted(self.measure(page, base))[0]

    def _accepted(self, measures: Measures) -> tuple[bool, bool]:
        config = self._config
        left, right = (
            measures.equal or (main > config.min_main and (aux > config.min_aux or not measures.followers))
            for main, aux in zip(measures.main, measures.aux, strict=True)
        )
        return left, right

    def verify(self, left: FrequentUnits, right: FrequentUnits) -> Verdict:
        """Duplicate when each page covers the other, containment when one does, else different."""
        measures = self.measure(left, right)
        accepted = self._accepted(measures)
        relation = {
            (True, True): Relation.DUPLICATE,
            (True, False): Relation.CONTAINED,
            (False, True): Relation.CONTAINS,
        }.get(accepted, Relation.DIFFERENT)
        return Verdict(self.name, relation, self._score(measures), self._evidence(measures))

    def _score(self, measures: Measures) -> float:
        """The better side's deciding share: of S1, and of the followers where they are compared; 1 for equal S1."""
        if measures.equal:
            return 1.0
        return max(map(min, measures.main, measures.aux) if measures.followers else measures.main)

    def _evidence(self, measures: Measures) -> dict[str, Number]:
        config = self._config
        return {
            "main": round(max(measures.main), 4),
            "min_main": config.min_main,
            "main_left": round(measures.main[0], 4),
            "main_right": round(measures.main[1], 4),
            "aux": round(max(measures.aux), 4),
            **({"min_aux": config.min_aux} if measures.followers else {}),
            "aux_left": round(measures.aux[0], 4),
            "aux_right": round(measures.aux[1], 4),
            "shared": measures.shared,
            "branch": "followers" if measures.followers else "characters",
            "strict_thresholds": True,
        }

    def pack(self, features: FrequentUnits) -> bytes:
        """A head, then units, numbers of followers, and followers: two bytes each, four where units are words."""
        wide = bool((features.units >= WORD).any()) or bool((features.followers >= WORD).any())
        kind = "<u4" if wide else "<u2"
        head = _HEAD.pack(
            PAYLOAD_VERSION, wide, features.length, len(features.units), len(features.followers)
        )
        counts = np.diff(features.offsets).astype("<u4")
        units, followers = features.units.astype(kind), features.followers.astype(kind)
        return head + units.tobytes() + counts.tobytes() + followers.tobytes()

    def unpack(self, payload: bytes) -> FrequentUnits:
        """The strings from ``pack``; raises ``ValueError`` on bytes that it did not make."""
        if len(payload) < _HEAD.size or payload[0] != PAYLOAD_VERSION:
            raise ValueError(
                f"character strings of version {PAYLOAD_VERSION} are wanted, got {len(payload)} bytes"
            )
        _, wide, length, units, followers = _HEAD.unpack_from(payload)
        size, kind = (4, "<u4") if wide else (2, "<u2")
        if len(payload) != _HEAD.size + units * (size + 4) + followers * size:
            raise ValueError(f"character strings of {units} units do not take {len(payload)} bytes")
        at = _HEAD.size
        codes = np.frombuffer(payload, kind, units, at).astype(np.uint32)
        counts = np.frombuffer(payload, "<u4", units, at + units * size).astype(np.int64)
        rest = np.frombuffer(payload, kind, followers, at + units * (size + 4)).astype(np.uint32)
        if int(counts.sum()) != followers or bool((codes[1:] <= codes[:-1]).any()):
            raise ValueError("character strings are damaged: units or counts do not fit")
        return FrequentUnits(
            length, codes, np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts))), rest
        )
