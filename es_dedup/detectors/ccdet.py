"""CCDet: pages are compared by the characters before each Chinese full stop.

Source: Wei, Yuan, Huang, "CCDet", Journal of Computer Research and Development 2013; the formulas of CCS and CLR are
lost in the stored copy and restored from the text (docs/algorithms/ccdet.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from es_dedup.compiled import worthwhile
from es_dedup.model import Probe, Relation, Skipped, TermGroup, Verdict
from es_dedup.text.hashing import mix64, tagged_terms
from es_dedup.text.normalise import TextBatch, normalise_many
from es_dedup.text.ragged import gather, offsets_of
from es_dedup.text.tokens import segment_hashes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.config import CcdetConfig
    from es_dedup.model import Content

TAG: Final = 1
MOST_SIGNATURES: Final = 256  # of a page; the smallest hashes, so that long pages stay comparable
PROBE_TERMS: Final = 12  # asked of an index; grams and clauses of the coverage method ask too
SIGNATURE_BYTES: Final = 5
_STOP: Final = 0x3002
_BASE: Final = 0x8CB92BA72F3D8DD7
_WHITE: Final = (0x20, 0x0A)


@dataclass(frozen=True, slots=True, eq=False)
class PeriodFeatures:
    """Signatures of one page: distinct 40-bit hashes, ascending."""

    signatures: NDArray[np.uint64]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PeriodFeatures) and np.array_equal(self.signatures, other.signatures)

    __hash__ = None  # type: ignore[assignment]  # arrays are not hashable


@dataclass(frozen=True, slots=True)
class PeriodTable:
    """Signatures of several pages: ``signatures[offsets[i]:offsets[i + 1]]`` ascending and distinct."""

    RAGGED: ClassVar[Mapping[str, tuple[str, ...]]] = {"offsets": ("signatures",)}

    offsets: NDArray[np.int64]
    signatures: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def period_table(batch: TextBatch, window: int) -> PeriodTable:
    """Signatures of normalised texts: at most ``window`` characters before each full stop.

    White space does not count; a signature never crosses the stop before it; two stops in a row give none.
    """
    return dense_period_table(without_white_space(batch), window)


def dense_period_table(dense: TextBatch, window: int) -> PeriodTable:
    """``period_table`` of texts that ``without_white_space`` has gone over."""
    codes, offsets = dense.codes, dense.offsets
    if worthwhile(len(codes)):
        from es_dedup.detectors.compiled.periods import signatures_of  # noqa: PLC0415 - see es_dedup.compiled

        return PeriodTable(*signatures_of(codes, offsets, _STOP, window, MOST_SIGNATURES, np.uint64(_BASE)))
    stops = np.flatnonzero(codes == _STOP)
    pages = len(dense)
    if not len(stops):
        return PeriodTable(np.zeros(pages + 1, dtype=np.int64), np.zeros(0, dtype=np.uint64))
    owner = np.searchsorted(offsets, stops, side="right") - 1
    earliest = offsets[owner]
    earliest[1:] = np.maximum(earliest[1:], stops[:-1] + 1)
    starts = np.maximum(earliest, stops - window)
    keep = starts < stops
    starts, stops, owner = starts[keep], stops[keep], owner[keep]
    hashes = segment_hashes(mix64(codes.astype(np.uint64)), starts, stops, _BASE) >> np.uint64(24)
    order = np.lexsort((hashes, owner))
    hashes, owner = hashes[order], owner[order]
    first = np.ones(len(hashes), dtype=np.bool_)
    first[1:] = (hashes[1:] != hashes[:-1]) | (owner[1:] != owner[:-1])
    hashes, owner = hashes[first], owner[first]
    rank = np.arange(len(owner)) - offsets_of(owner, pages)[owner]
    keep = rank < MOST_SIGNATURES
    return PeriodTable(offsets_of(owner[keep], pages), hashes[keep])


def signature_strings(batch: TextBatch, window: int) -> list[list[str]]:
    """The characters of each page's signatures, distinct, in the order of the text; none is left out of a long page."""
    dense = without_white_space(batch)
    found = []
    for page in range(len(dense)):
        *sentences, _ = dense.string(page).split(chr(_STOP))
        found.append(list(dict.fromkeys(sentence[-window:] for sentence in sentences if sentence)))
    return found


def common_counts(
    left: PeriodTable, left_rows: NDArray[np.int64], right: PeriodTable, right_rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Signatures that both pages of each pair have; shape (pairs,)."""
    places_left, owners_left = gather(left.offsets, left_rows)
    places_right, owners_right = gather(right.offsets, right_rows)
    keys_left = mix64(left.signatures[places_left] ^ mix64(owners_left.astype(np.uint64)))
    keys_right = mix64(right.signatures[places_right] ^ mix64(owners_right.astype(np.uint64)))
    shared = np.isin(keys_left, keys_right)
    return np.bincount(owners_left[shared], minlength=len(left_rows))


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


class Ccdet:
    """The detector.

    Args:
        config: thresholds and window.
        noise: hashes of signatures that pruning has found to be noise; not counted on either side.
    """

    name = "ccdet"
    version = 1
    field_types: ClassVar[Mapping[str, str]] = {"period_signatures": "keyword"}

    def __init__(self, config: CcdetConfig, noise: NDArray[np.uint64] | None = None) -> None:
        self._config = config
        self._noise = np.zeros(0, dtype=np.uint64) if noise is None else np.sort(noise)

    def learned(self, contents: Sequence[Content]) -> Ccdet:
        """A detector of the same settings with the noise that its pruning finds in these pages."""
        table = period_table(normalise_many([content.text for content in contents]), self._config.window)
        return Ccdet(self._config, learn_noise(table, [content.site for content in contents], self._config))

    def table(self, batch: TextBatch) -> PeriodTable:
        """Signatures of normalised texts."""
        return period_table(batch, self._config.window)

    def prune(self, table: PeriodTable) -> PeriodTable:
        """The table without noise signatures; counts are recomputed by it."""
        if not len(self._noise):
            return table
        keep = ~np.isin(table.signatures, self._noise)
        owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
        return PeriodTable(offsets_of(owner[keep], len(table)), table.signatures[keep])

    def featurise(self, content: Content) -> PeriodFeatures | Skipped:
        """Signatures of one page, or ``Skipped`` when it has fewer than ``min_features``."""
        return self.featurise_many([content])[0]

    def featurise_many(self, contents: Sequence[Content]) -> list[PeriodFeatures | Skipped]:
        """Signatures of several pages."""
        table = self.table(normalise_many([content.text for content in contents]))
        return [self._features(table, row) for row in range(len(table))]

    def _features(self, table: PeriodTable, row: int) -> PeriodFeatures | Skipped:
        signatures = table.signatures[table.offsets[row] : table.offsets[row + 1]]
        if len(signatures) < self._config.min_features:
            return Skipped(
                "few-full-stops", f"{len(signatures)} signatures, {self._config.min_features} needed"
            )
        return PeriodFeatures(signatures)

    def fields(
        self,
        contents: Sequence[Content],
        features: Sequence[PeriodFeatures | None],  # noqa: ARG002 - hashes, which nobody can read
    ) -> list[dict[str, Any]]:
        """``period_signatures``: the characters themselves, normalised, without white space."""
        batch = normalise_many([content.text for content in contents])
        found = signature_strings(batch, self._config.window)
        return [{"period_signatures": list(page)} if page else {} for page in found]

    def terms(self, features: PeriodFeatures) -> tuple[int, ...]:
        """Terms to store: all signatures."""
        return tuple(tagged_terms(TAG, features.signatures).tolist())

    def probe(self, features: PeriodFeatures) -> Probe:
        """Pages that share two signatures (one, where only few are there)."""
        terms = self.terms(features)
        return Probe((TermGroup(terms, min(self._config.min_common, len(terms))),))

    def verify(self, left: PeriodFeatures, right: PeriodFeatures) -> Verdict:
        """Duplicate, containment or different by CCS and CLR."""
        tables = [PeriodTable(np.array([0, len(f.signatures)]), f.signatures) for f in (left, right)]
        pruned = [self.prune(table) for table in tables]
        row = np.zeros(1, dtype=np.int64)
        common = int(common_counts(pruned[0], row, pruned[1], row)[0])
        counted = pruned if self._config.recount else tables
        return self.judge(common, len(counted[0].signatures), len(counted[1].signatures))

    def verify_rows(self, left: PeriodTable, left_row: int, right: PeriodTable, right_row: int) -> Verdict:
        """``verify`` on rows of two tables."""
        rows = [
            PeriodFeatures(table.signatures[table.offsets[row] : table.offsets[row + 1]])
            for table, row in ((left, left_row), (right, right_row))
        ]
        return self.verify(rows[0], rows[1])

    def judge(self, common: int, left: int, right: int) -> Verdict:
        """The verdict from three counts: shared signatures, those of the left and of the right page."""
        config = self._config
        similarity, ratio = ccs(common, left, right), clr(left, right)
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
        if (
            min(left, right) < config.min_features
            or common < config.min_common
            or similarity < config.min_ccs
        ):
            relation = Relation.DIFFERENT
        elif ratio >= config.min_clr:
            relation = Relation.DUPLICATE
        else:
            relation = Relation.CONTAINED if left < right else Relation.CONTAINS
        return Verdict(self.name, relation, similarity, evidence)

    def pack(self, features: PeriodFeatures) -> bytes:
        """Five bytes a signature."""
        return pack_signatures(features.signatures)

    def unpack(self, payload: bytes) -> PeriodFeatures:
        """Signatures from ``pack``; raises ``ValueError`` when the length does not fit."""
        return unpack_signatures(payload)


def pack_signatures(signatures: NDArray[np.uint64]) -> bytes:
    """Five bytes a signature, little-endian."""
    return signatures.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :5].tobytes()


def unpack_signatures(payload: bytes) -> PeriodFeatures:
    """The inverse of ``pack_signatures``.

    Raises:
        ValueError: the length is no multiple of five.
    """
    if len(payload) % 5:
        message = f"period signatures take 5 bytes each, got {len(payload)} bytes"
        raise ValueError(message)
    wide = np.zeros((len(payload) // 5, 8), dtype=np.uint8)
    wide[:, :5] = np.frombuffer(payload, dtype=np.uint8).reshape(-1, 5)
    return PeriodFeatures(wide.view("<u8").ravel().astype(np.uint64))


def noise_by_site(
    table: PeriodTable, sites: Sequence[str], *, min_pages: int = 3, min_share: float = 1.0
) -> NDArray[np.uint64]:
    """Signatures that are noise of one site: at least ``min_pages`` pages, of one site at least ``min_share`` of them.

    A page without a site mark counts as a site of its own.

    Source:
        CCDet, index pruning by site label; the rule itself is lost, this is the natural reading.
    """
    labels: dict[str | tuple[str, int], int] = {}
    marks = np.array(
        [labels.setdefault(s or ("", i), len(labels)) for i, s in enumerate(sites)], dtype=np.int64
    )
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    distinct, term = np.unique(table.signatures, return_inverse=True)
    frequency = np.bincount(term, minlength=len(distinct))
    keys: NDArray[np.int64] = term.astype(np.int64) * max(len(labels), 1) + marks[owner]
    pair = np.unique(keys, return_counts=True)
    largest = np.zeros(len(distinct), dtype=np.int64)
    np.maximum.at(largest, pair[0] // max(len(labels), 1), pair[1])
    noise = (frequency >= min_pages) & (largest / frequency >= min_share)
    return distinct[noise]


def noise_by_idf(table: PeriodTable, min_idf: float, *, min_pages: int = 1) -> NDArray[np.uint64]:
    """Signatures with ln(N / df) below ``min_idf``: frequent anywhere, whatever the site.

    Args:
        table: signatures of the pages.
        min_idf: at least 0.
        min_pages: a signature of fewer pages is never noise; in a small corpus everything has a low idf.

    Source:
        CCDet, the variant without site marks; it names no formula of the idf, the plain one is taken.
    """
    distinct, frequency = np.unique(table.signatures, return_counts=True)
    rare = np.log(max(len(table), 1) / frequency) >= min_idf
    return distinct[~rare & (frequency >= min_pages)]


def learn_noise(table: PeriodTable, sites: Sequence[str], config: CcdetConfig) -> NDArray[np.uint64]:
    """Signatures that the pruning of the settings drops: by site label, by idf, or none; ascending.

    Args:
        table: signatures of the pages.
        sites: site mark of each page; empty when unknown.
        config: ``prune`` and its limits.
    """
    if config.prune == "site":
        return noise_by_site(
            table, sites, min_pages=config.prune_min_pages, min_share=config.prune_site_share
        )
    if config.prune == "idf":
        return noise_by_idf(table, config.prune_min_idf, min_pages=config.prune_min_pages)
    return np.zeros(0, dtype=np.uint64)


def without_white_space(batch: TextBatch) -> TextBatch:
    """Normalised texts without spaces and newlines."""
    if worthwhile(len(batch.codes)):
        from es_dedup.detectors.compiled import periods  # noqa: PLC0415 - see es_dedup.compiled

        return TextBatch(*periods.without_white_space(batch.codes, batch.offsets))
    keep = ~np.isin(batch.codes, _WHITE)
    lengths = np.concatenate(([0], np.cumsum(keep)))
    return TextBatch(batch.codes[keep], lengths[batch.offsets])
