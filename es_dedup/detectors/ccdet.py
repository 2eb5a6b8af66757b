"""CCDet: pages are compared by the characters before each Chinese full stop.

Source: Wei, Yuan, Huang, "CCDet", Journal of Computer Research and Development 2013; the formulas of CCS and CLR are
lost in the stored copy and restored from the text (docs/algorithms/ccdet.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from es_dedup.detectors.port import Detector
from es_dedup.model import CandidateQuery, Content, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import HASH_BITS_IN_TERM, from_low_bytes, low_bytes, mix64, tagged_terms
from es_dedup.text.normalise import TextBatch, normalise_many, normalised_pages
from es_dedup.text.ragged import SameArrays, begins_run, offsets_of, sorted_distinct
from es_dedup.text.tokens import segment_hashes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.settings.sections import CcdetConfig

TAG: Final = 1
MOST_SIGNATURES: Final = 2_048  # kept of a page, the smallest hashes: 10 KB and as many terms; of 19,000 real pages none has more than 1,538
QUERY_TERMS: Final = 12  # of a page, where grams and clauses of the coverage method are queried too
SIGNATURE_BYTES: Final = 5
TOTAL_BYTES: Final = 4  # after the signatures of a page of which not all are kept: how many there are
ALL_HASHES: Final = (1 << HASH_BITS_IN_TERM) - 1
_STOP: Final = 0x3002
_BASE: Final = 0x8CB92BA72F3D8DD7
_SPACE, _NEWLINE = 0x20, 0x0A


@dataclass(frozen=True, slots=True, eq=False)
class PeriodFeatures(SameArrays):
    """Signatures of one page.

    Attributes:
        signatures: distinct 40-bit hashes, ascending; of more than ``MOST_SIGNATURES`` the smallest.
        total: how many distinct signatures the page has.
    """

    signatures: NDArray[np.uint64]
    total: int

    @property
    def bound(self) -> int:
        """All signatures of the page with hashes up to this one are kept."""
        return ALL_HASHES if len(self.signatures) == self.total else int(self.signatures[-1])


@dataclass(frozen=True, slots=True)
class PeriodTable:
    """Signatures of several pages: ``signatures[offsets[i]:offsets[i + 1]]`` ascending and distinct, ``totals[i]`` in all."""

    RAGGED: ClassVar[Mapping[str, tuple[str, ...]]] = {"offsets": ("signatures",)}

    offsets: NDArray[np.int64]
    signatures: NDArray[np.uint64]
    totals: NDArray[np.int64]

    @classmethod
    def whole(cls, offsets: NDArray[np.int64], signatures: NDArray[np.uint64]) -> PeriodTable:
        """A table of pages of which all signatures are kept."""
        return cls(offsets, signatures, np.diff(offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def comparable(self) -> NDArray[np.int64]:
        """Signatures of each page, for rules on how many of them a pair shares; 0 where not all are kept."""
        kept: NDArray[np.int64] = np.diff(self.offsets)
        return np.where(kept == self.totals, kept, 0)

    def row(self, row: int) -> PeriodFeatures:
        """Features of one page."""
        return PeriodFeatures(
            self.signatures[self.offsets[row] : self.offsets[row + 1]], int(self.totals[row])
        )


def period_table(batch: TextBatch, window: int) -> PeriodTable:
    """Signatures of normalised texts: at most ``window`` characters before each full stop.

    White space does not count; a signature never crosses the stop before it; two stops in a row give none.
    """
    return dense_period_table(without_white_space(batch), window)


def dense_period_table(dense: TextBatch, window: int) -> PeriodTable:
    """``period_table`` of texts that have no white space."""
    hashes, owner = _segment_hashes(dense, window)
    pages = len(dense)
    hashes >>= np.uint64(64 - HASH_BITS_IN_TERM)
    order = np.lexsort((hashes, owner))
    hashes, owner = hashes[order], owner[order]
    first = begins_run(hashes) | begins_run(owner)
    hashes, owner = hashes[first], owner[first]
    starts = offsets_of(owner, pages)
    keep = np.arange(len(owner)) - starts[owner] < MOST_SIGNATURES
    return PeriodTable(offsets_of(owner[keep], pages), hashes[keep], np.diff(starts))


def _segment_hashes(dense: TextBatch, window: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hash of the characters before each full stop, and the page, in the order of the texts."""
    codes, offsets = dense.codes, dense.offsets
    stops = np.flatnonzero(codes == _STOP)
    owner = np.searchsorted(offsets, stops, side="right") - 1
    earliest = offsets[owner]
    earliest[1:] = np.maximum(earliest[1:], stops[:-1] + 1)
    starts = np.maximum(earliest, stops - window)
    keep = starts < stops
    hashes = segment_hashes(mix64(codes.astype(np.uint64)), starts[keep], stops[keep], _BASE)
    return hashes, owner[keep]


def signature_strings(batch: TextBatch, window: int) -> list[list[str]]:
    """The distinct signatures of each page as text, in page order; on a page with very many, those that are kept."""
    dense = without_white_space(batch)
    found = []
    for page in range(len(dense)):
        *sentences, _ = dense.string(page).split(chr(_STOP))
        strings = list(dict.fromkeys(sentence[-window:] for sentence in sentences if sentence))
        found.append(strings if len(strings) <= MOST_SIGNATURES else _smallest(strings))
    return found


def terms_of(pages: Sequence[Sequence[str]]) -> list[list[int]]:
    """The terms of signatures that are given as text, as ``signature_strings`` gives it, in the same order."""
    flat = [text for page in pages for text in page]
    ends = np.cumsum(np.fromiter(map(len, flat), dtype=np.int64, count=len(flat)))
    codes = np.frombuffer("".join(flat).encode("utf-32-le"), dtype=np.uint32)
    starts = np.concatenate((np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1]))
    hashes = segment_hashes(mix64(codes.astype(np.uint64)), starts, ends, _BASE) >> np.uint64(24)
    terms = iter(tagged_terms(TAG, hashes).tolist())
    return [list(islice(terms, len(page))) for page in pages]


def _smallest(strings: list[str]) -> list[str]:
    """The signatures of each page with the smallest hashes, in their order."""
    (terms,) = terms_of([strings])
    return [strings[at] for at in sorted(sorted(range(len(terms)), key=terms.__getitem__)[:MOST_SIGNATURES])]


@dataclass(frozen=True, slots=True)
class Shared:
    """What two pages share.

    Attributes:
        common: signatures that both have.
        left, right: how many each of them has.
        left_compared, right_compared: of how many of these it is known whether the other has them: all, but of pages
            with more than ``MOST_SIGNATURES`` a sample.
    """

    common: int
    left: int
    right: int
    left_compared: int
    right_compared: int

    @property
    def ccs(self) -> float:
        """Common containment similarity: the share of the page with fewer signatures that the other has, in [0, 1]."""
        compared = min((self.left, self.left_compared), (self.right, self.right_compared))[1]
        return ccs(self.common, compared, compared)

    @property
    def sampled(self) -> bool:
        """Whether the similarity is an estimate."""
        return (self.left, self.right) != (self.left_compared, self.right_compared)


def ccs(common: int, left: int, right: int) -> float:
    """Common containment similarity: shared signatures over those of the page with fewer.

    Returns:
        A value in [0, 1]; 0.0 when either page has none.

    Source:
        CCDet, section 2 (reading: overlap coefficient).
    """
    fewer = min(left, right)
    return common / fewer if fewer else 0.0


def clr(left: int, right: int) -> float:
    """Length ratio: the smaller number of signatures over the larger, in [0, 1]; 0.0 when either is zero."""
    more = max(left, right)
    return min(left, right) / more if more else 0.0


class Ccdet(Detector[PeriodFeatures]):
    """The detector.

    Args:
        config: thresholds and window.
        noise: hashes of signatures that pruning has found to be noise; not counted on either side.
    """

    name = "ccdet"
    version = 2
    field_types: ClassVar[Mapping[str, str]] = {"period_signatures": "keyword"}
    term_fields: ClassVar[Mapping[int, tuple[str, ...]]] = {TAG: ("period_signatures",)}

    def __init__(self, config: CcdetConfig, noise: NDArray[np.uint64] | None = None) -> None:
        self._config = config
        self._noise = np.zeros(0, dtype=np.uint64) if noise is None else np.sort(noise)

    def learned(self, contents: Sequence[Content]) -> Self:
        """A detector of the same settings with the noise that its pruning finds in these pages."""
        table = period_table(normalise_many([content.text for content in contents]), self._config.window)
        return type(self)(
            self._config, learn_noise(table, [content.site for content in contents], self._config)
        )

    def featurise_many(self, contents: Sequence[Content]) -> list[PeriodFeatures | Skipped]:
        """Signatures of several pages."""
        table = period_table(normalise_many([content.text for content in contents]), self._config.window)
        return [self.features(table, row) for row in range(len(table))]

    def features(self, table: PeriodTable, row: int) -> PeriodFeatures | Skipped:
        """Signatures of one page of a table."""
        features = table.row(row)
        if features.total < self._config.min_features:
            return Skipped("few-full-stops", f"{features.total} of {self._config.min_features} signatures")
        return features

    def fields(
        self,
        contents: Sequence[Content | None],
        features: Sequence[PeriodFeatures | None],  # noqa: ARG002 - hashes, which nobody can read
    ) -> list[dict[str, Any]]:
        """``period_signatures``: the characters themselves, normalised, without white space."""
        batch = normalised_pages(tuple("" if content is None else content.text for content in contents))
        found = signature_strings(batch, self._config.window)
        return [{"period_signatures": list(page)} if page else {} for page in found]

    def labels(
        self,
        named: Sequence[Mapping[str, Any]],
        features: Sequence[PeriodFeatures | None],  # noqa: ARG002 - hashes, in another order
    ) -> list[dict[int, str]]:
        """Terms of ``period_signatures``, with these."""
        pages = [list(page.get("period_signatures", ())) for page in named]
        return [
            dict(zip(terms, page, strict=True)) for terms, page in zip(terms_of(pages), pages, strict=True)
        ]

    def terms(self, features: PeriodFeatures) -> tuple[int, ...]:
        """Terms to store: all signatures, of very many the ``MOST_SIGNATURES`` smallest."""
        return tuple(tagged_terms(TAG, features.signatures).tolist())

    def candidate_query(self, features: PeriodFeatures) -> CandidateQuery:
        """Pages that share two signatures (one, where only few are there)."""
        terms = self.terms(features)
        return CandidateQuery((TermGroup(terms, min(self._config.min_common, len(terms))),))

    def verify(self, left: PeriodFeatures, right: PeriodFeatures) -> Verdict:
        """Duplicate, containment or different by CCS and CLR."""
        return self.decide(self.shared(left, right))

    def shared(self, left: PeriodFeatures, right: PeriodFeatures) -> Shared:
        """What two pages share; noise counts on neither side.

        Of a page with more than ``MOST_SIGNATURES`` the smallest are known. Then both pages are compared up to the greatest hash
        that both know all signatures below: hashes are spread evenly, so this is a fair sample of both.
        """
        bound = np.uint64(min(left.bound, right.bound))
        kept = [self._useful(side.signatures) for side in (left, right)]
        below = [useful[: np.searchsorted(useful, bound, side="right")] for useful in kept]
        common = len(np.intersect1d(below[0], below[1], assume_unique=True))
        totals = [
            round(side.total * len(useful) / len(side.signatures)) if len(side.signatures) else 0
            for side, useful in zip((left, right), kept, strict=True)
        ]
        return Shared(common, *totals, *map(len, below))

    def _useful(self, signatures: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return signatures[~np.isin(signatures, self._noise)] if len(self._noise) else signatures

    def decide(self, shared: Shared) -> Verdict:
        """The verdict from what two pages share."""
        config, left, right = self._config, shared.left, shared.right
        similarity, ratio = shared.ccs, clr(left, right)
        common = round(similarity * min(left, right)) if shared.sampled else shared.common
        evidence: dict[str, float | int | str | bool | None] = {
            "ccs": round(similarity, 4),
            "min_ccs": config.min_ccs,
            "clr": round(ratio, 4),
            "min_clr": config.min_clr,
            "common": common,
            "left_signatures": left,
            "right_signatures": right,
            "min_common": config.min_common,
            "min_features": config.min_features,
        }
        if shared.sampled:  # numbers of signatures stay those of the pages
            evidence |= {
                "sampled_common": shared.common,
                "left_sampled": shared.left_compared,
                "right_sampled": shared.right_compared,
            }
        if (
            min(left, right, shared.left_compared, shared.right_compared) < config.min_features
            or shared.common < config.min_common
            or similarity < config.min_ccs
        ):
            relation = Relation.DIFFERENT
        elif ratio >= config.min_clr:
            relation = Relation.DUPLICATE
        else:
            relation = Relation.CONTAINED if left < right else Relation.CONTAINS
        return Verdict(self.name, relation, similarity, evidence)

    def pack(self, features: PeriodFeatures) -> bytes:
        """Five bytes a signature, and four bytes of how many there are where not all are kept."""
        kept = features.signatures
        return low_bytes(kept, SIGNATURE_BYTES) + total_bytes(len(kept), features.total)

    def unpack(self, payload: bytes) -> PeriodFeatures:
        """Signatures from ``pack``; raises ``ValueError`` when the length does not fit."""
        return unpack_signatures([payload]).row(0)


def pack_rows(table: PeriodTable) -> list[bytes]:
    """The bytes of each page, as ``Ccdet.pack`` gives them."""
    raw, edges = low_bytes(table.signatures, SIGNATURE_BYTES), (table.offsets * SIGNATURE_BYTES).tolist()
    counts = zip(np.diff(table.offsets).tolist(), table.totals.tolist(), strict=True)
    return [
        raw[start:end] + total_bytes(*count)
        for start, end, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


def total_bytes(kept: int, total: int) -> bytes:
    """Bytes after the signatures of a page: none if all are kept, else their total number."""
    return b"" if kept == total else total.to_bytes(TOTAL_BYTES, "little")


def unpack_signatures(payloads: Sequence[bytes]) -> PeriodTable:
    """A table of pages, each the bytes of ``Ccdet.pack``.

    Raises:
        ValueError: a length does not fit, or not all signatures are kept of a page where they would be.
    """
    kept, rest = np.divmod(np.array([len(payload) for payload in payloads], dtype=np.int64), SIGNATURE_BYTES)
    if not np.isin(rest, (0, TOTAL_BYTES)).all():
        message = f"period signatures take {SIGNATURE_BYTES} bytes each, got {max(map(len, payloads))} bytes"
        raise ValueError(message)
    totals = kept.copy()
    for row in np.flatnonzero(rest).tolist():
        totals[row] = int.from_bytes(payloads[row][-TOTAL_BYTES:], "little")
        if kept[row] != MOST_SIGNATURES or totals[row] <= MOST_SIGNATURES:
            raise ValueError(f"{kept[row]} period signatures are kept of {totals[row]}")
    sizes = (kept * SIGNATURE_BYTES).tolist()
    raw = b"".join([payload[:size] for payload, size in zip(payloads, sizes, strict=True)])
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(kept)))
    return PeriodTable(offsets, from_low_bytes(raw, SIGNATURE_BYTES), totals)


def noise_by_site(table: PeriodTable, sites: Sequence[str], min_pages: int = 3) -> NDArray[np.uint64]:
    """Signatures that are noise of one site: those of at least ``min_pages`` pages, all of that site.

    A page without a site mark counts as a site of its own.

    Source:
        CCDet, index pruning by site label; the rule itself is lost, this is the natural reading.
    """
    labels = {"": -1}
    marks = np.array([labels.setdefault(site, len(labels) - 1) for site in sites], dtype=np.int64)
    alone = np.flatnonzero(marks < 0)
    marks[alone] = len(labels) - 1 + np.arange(len(alone))
    count = len(labels) + len(alone)
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    distinct, term = np.unique(table.signatures, return_inverse=True)
    frequency = np.bincount(term, minlength=len(distinct))
    keys: NDArray[np.int64] = term.astype(np.int64) * count + marks[owner]
    of_sites = np.bincount(sorted_distinct(keys) // count, minlength=len(distinct))
    noise: NDArray[np.bool_] = (frequency >= min_pages) & (of_sites == 1)
    return distinct[noise]


def learn_noise(table: PeriodTable, sites: Sequence[str], config: CcdetConfig) -> NDArray[np.uint64]:
    """Signatures that the pruning of the settings drops: by site label, or none; ascending.

    Args:
        table: signatures of the pages.
        sites: site mark of each page; empty when unknown.
        config: ``prune`` and its threshold.
    """
    if config.prune == "site" and any(sites):
        return noise_by_site(table, sites, config.prune_min_pages)
    return np.zeros(0, dtype=np.uint64)


def without_white_space(batch: TextBatch) -> TextBatch:
    """Normalised texts without spaces and newlines."""
    kept = np.flatnonzero((batch.codes != _SPACE) & (batch.codes != _NEWLINE))
    return TextBatch(batch.codes[kept], np.searchsorted(kept, batch.offsets))
