"""All default detectors' features of many pages in one table, made in one pass over the text.

Normalising and tokenising are shared; a detector that is switched off leaves its columns empty.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup import native
from es_dedup.detectors import ccdet, coverage, coverage_codec, fingerprint, simhash
from es_dedup.detectors.ccdet import Ccdet, PeriodTable
from es_dedup.detectors.coverage_features import CoverageTable, build_from
from es_dedup.detectors.packed_features import (
    Packed,
    featurise_packed,
    pack_row,
    packed_stored_terms,
    unpack_row,
    unpacked_by,
)
from es_dedup.detectors.simhash import Simhash
from es_dedup.errors import DamagedData
from es_dedup.model import Skipped
from es_dedup.text.characters import PLANE, tables
from es_dedup.text.content import content_form
from es_dedup.text.hashing import hash64, tagged_terms
from es_dedup.text.normalise import TextBatch, normalise_many, normalised_pages
from es_dedup.text.ragged import concatenate, offsets_of, owners_of, sorted_distinct, take
from es_dedup.text.titles import function_words, headline
from es_dedup.text.tokens import TokenBatch, character_kinds, tokenise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.port import Detector
    from es_dedup.settings import Settings

PAYLOAD_VERSION: Final = 1
WITH_OTHERS: Final = 2  # first byte where features of further methods stand before the rest
SHORT_UNITS: Final = 20  # below, the decision rules accept hardly any pair, and marks are much of a text
_HEAD: Final = np.dtype(
    [
        ("version", "u1"),
        ("signature_bytes", "<u2"),
        ("length", "<u4"),
        ("hash", "<u8"),
        ("has_words", "u1"),
        ("fingerprint", "<u8"),
    ]
)
"""First bytes of the features of the default methods."""
_OF_PAGES: Final = ("lengths", "hashes", "fingerprints", "has_words")  # columns with one value a page


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Features of several pages.

    Attributes:
        lengths: characters of the normalised text.
        hashes: 64-bit hash of what exact copies have in common; 0 for an empty page. That is the normalised text without white space; of a
            text of fewer than ``SHORT_UNITS`` units ``text.content.content_form``, because "-5" is no copy of "5".
        fingerprints, has_words: SimHash, and whether the page has any feature it is made of.
        periods: period signatures.
        coverage: grams, clauses, numbers and title terms.
        packed: features of enabled methods beyond these.
    """

    lengths: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    fingerprints: NDArray[np.uint64]
    has_words: NDArray[np.bool_]
    periods: PeriodTable
    coverage: CoverageTable
    packed: Packed = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: NDArray[np.int64]) -> FeatureTable:
        """A table of the given rows."""
        return FeatureTable(
            **{name: getattr(self, name)[rows] for name in _OF_PAGES},
            periods=take(self.periods, rows),
            coverage=take(self.coverage, rows),
            packed={
                name: tuple(column[row] for row in rows.tolist()) for name, column in self.packed.items()
            },
        )

    @classmethod
    def concatenate(cls, tables: Sequence[FeatureTable]) -> FeatureTable:
        """The rows of several tables."""
        packed = {
            name: tuple(each for table in tables for each in table.packed[name]) for name in tables[0].packed
        }
        return cls(
            **{name: np.concatenate([getattr(table, name) for table in tables]) for name in _OF_PAGES},
            periods=concatenate([table.periods for table in tables]),
            coverage=concatenate([table.coverage for table in tables]),
            packed=packed,
        )


def featurise(texts: Sequence[str], titles: Sequence[str], settings: Settings) -> FeatureTable:
    """Features of pages given as main texts and titles."""
    batch = normalised_pages(tuple(texts))
    table = (_native_table if native.core else _table)(batch, titles, settings)
    for row in np.flatnonzero(table.coverage.tokens < SHORT_UNITS).tolist():
        form = content_form(texts[row])
        table.hashes[row] = hash64(form) if form else 0
    periods = table.periods
    if Ccdet.name not in settings.detectors:
        periods = PeriodTable.whole(np.zeros(len(batch) + 1, dtype=np.int64), periods.signatures[:0])
    return replace(table, periods=periods, packed=featurise_packed(texts, titles, settings))


def _table(batch: TextBatch, titles: Sequence[str], settings: Settings) -> FeatureTable:
    """Features of normalised texts, those of CCDet and SimHash among them even where they are not enabled."""
    tokens = tokenise(batch)
    dense = ccdet.without_white_space(batch)
    return FeatureTable(
        lengths=np.diff(batch.offsets),
        hashes=content_hashes(dense),
        fingerprints=_fingerprints(batch, tokens, settings),
        has_words=np.diff(tokens.offsets) > 0,
        periods=ccdet.dense_period_table(dense, settings.ccdet.window),
        coverage=build_from(batch, tokens, titles),
    )


def _native_table(batch: TextBatch, titles: Sequence[str], settings: Settings) -> FeatureTable:
    """As ``_table``."""
    heads = normalise_many([headline(title) for title in titles])
    columns = native.core.features(
        (batch.codes, batch.offsets),
        (heads.codes, heads.offsets),
        _Language.of(batch, heads),
        settings.ccdet.window,
        min(settings.workers or native.threads(), native.threads()),
    )
    table = _table_of(columns)
    if Simhash.name in settings.detectors and settings.simhash.features == "grams":
        return table
    return replace(table, fingerprints=_fingerprints(batch, None, settings))


@dataclass(frozen=True, slots=True)
class _Language:
    """What the native core has to know of characters and words.

    Attributes:
        kinds: of the characters of the basic plane.
        astral, astral_kinds: the characters beyond it that occur, ascending, and their kinds.
        function_words: hashes of words that are no terms of a title, ascending.
    """

    kinds: NDArray[np.uint8]
    astral: NDArray[np.uint32]
    astral_kinds: NDArray[np.uint8]
    function_words: NDArray[np.uint64]

    @classmethod
    def of(cls, *batches: TextBatch) -> _Language:
        """For some texts."""
        astral = sorted_distinct(np.concatenate([batch.codes[batch.codes >= PLANE] for batch in batches]))
        return cls(tables().kind, astral, character_kinds(astral), function_words())


def _fingerprints(batch: TextBatch, tokens: TokenBatch | None, settings: Settings) -> NDArray[np.uint64]:
    """SimHash of each page, 0 where the method is not enabled; ``tokens`` are made where they are not given."""
    if Simhash.name not in settings.detectors:
        return np.zeros(len(batch), dtype=np.uint64)
    detector = Simhash(settings.simhash)
    return detector.values(batch, tokens or tokenise(batch))[0]


def content_hashes(dense: TextBatch) -> NDArray[np.uint64]:
    """xxh3-64 of the code points of each normalised text without white space."""
    raw = memoryview(dense.codes.astype("<u4").tobytes())
    edges = (4 * dense.offsets).tolist()
    return np.array([hash64(raw[start:end]) for start, end in pairwise(edges)], dtype=np.uint64)


def pack(table: FeatureTable) -> list[bytes]:
    """Each row as bytes."""
    packed = native.core.pack(table) if native.core else _pack(table)
    if not table.packed:
        return packed
    mark = bytes([WITH_OTHERS])
    return [mark + pack_row(table.packed, row) + payload for row, payload in enumerate(packed)]


def _pack(table: FeatureTable) -> list[bytes]:
    """The features of the default methods of each row as bytes."""
    periods = ccdet.pack_rows(table.periods)
    heads = np.zeros(len(table), dtype=_HEAD)
    heads["version"] = PAYLOAD_VERSION
    heads["signature_bytes"] = list(map(len, periods))
    heads["length"], heads["hash"] = table.lengths, table.hashes
    heads["has_words"], heads["fingerprint"] = table.has_words, table.fingerprints
    parts = zip(heads, periods, coverage_codec.pack(table.coverage), strict=True)
    return [head.tobytes() + signatures + rest for head, signatures, rest in parts]


def unpack(payloads: Sequence[bytes]) -> FeatureTable:
    """A table of the rows that ``pack`` made.

    Raises:
        DamagedData: bytes of another version, or damaged.
    """
    try:
        return _unpacked(payloads)
    except (ValueError, TypeError, LookupError, struct.error) as error:
        raise DamagedData("features", str(error)) from error


def _unpacked(payloads: Sequence[bytes]) -> FeatureTable:
    packed: Packed = {}
    if payloads and payloads[0][:1] == bytes([WITH_OTHERS]):
        found = [_unpacked_row(payload) for payload in payloads]
        packed = {name: tuple(each[name] for each, _ in found) for name in found[0][0]}
        payloads = [rest for _, rest in found]
    if native.core and not isinstance(columns := native.core.unpack(list(map(bytes, payloads))), int):
        return replace(_table_of(columns), packed=packed)
    heads = np.frombuffer(b"".join(map(_head, payloads)), dtype=_HEAD)
    ends = (heads["signature_bytes"] + np.int64(_HEAD.itemsize)).tolist()
    cut = list(zip(payloads, ends, strict=True))
    return FeatureTable(
        lengths=heads["length"].astype(np.int64),
        hashes=heads["hash"].astype(np.uint64),
        fingerprints=heads["fingerprint"].astype(np.uint64),
        has_words=heads["has_words"] != 0,
        periods=ccdet.unpack_signatures([payload[_HEAD.itemsize : end] for payload, end in cut]),
        coverage=coverage_codec.unpack_many([payload[end:] for payload, end in cut]),
        packed=packed,
    )


def _table_of(columns: dict[str, Any]) -> FeatureTable:
    """The table of the columns that the native core gives."""
    return FeatureTable(
        **{name: columns[name] for name in _OF_PAGES},
        periods=PeriodTable(**{field.name: columns[field.name] for field in fields(PeriodTable)}),
        coverage=CoverageTable(**{field.name: columns[field.name] for field in fields(CoverageTable)}),
    )


def _unpacked_row(payload: bytes) -> tuple[dict[str, bytes | None], bytes]:
    if payload[:1] != bytes([WITH_OTHERS]):
        raise ValueError("some pages have features of further methods and some have none")
    return unpack_row(payload[1:])


def _head(payload: bytes) -> bytes:
    if payload[:1] != bytes([PAYLOAD_VERSION]):
        raise ValueError(
            f"version {payload[0] if payload else 'none'}, this release reads version {PAYLOAD_VERSION}"
        )
    if len(payload) < _HEAD.itemsize:
        raise ValueError(f"{len(payload)} bytes, at least {_HEAD.itemsize} are needed")
    return payload[: _HEAD.itemsize]


def features_of(table: FeatureTable, detector: Detector[Any], rows: Sequence[int] | None = None) -> list[Any]:
    """Features of some rows, or of each, in the detector's own form; None where it skipped the page or the table has none of it.

    Of the default three those of ``coverage`` are in the table alone.
    """
    rows = range(len(table)) if rows is None else rows
    if detector.name == Simhash.name:
        values, having = table.fingerprints, table.has_words
        return [simhash.Fingerprint(int(values[row])) if having[row] else None for row in rows]
    if isinstance(detector, Ccdet):
        features = [detector.features(table.periods, row) for row in rows]
        return [None if isinstance(each, Skipped) else each for each in features]
    return unpacked_by(detector, table.packed, rows)


def stored_terms(table: FeatureTable, settings: Settings) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """All terms each page is stored under, with page offsets of shape (pages + 1,)."""
    rows = len(table)
    parts: list[tuple[NDArray[np.uint64], NDArray[np.int64]]] = []
    enabled = settings.detectors
    if Ccdet.name in enabled:
        parts.append((tagged_terms(ccdet.TAG, table.periods.signatures), owners_of(table.periods.offsets)))
    if Simhash.name in enabled:
        having = np.flatnonzero(table.has_words)
        bands = simhash.band_matrix(table.fingerprints[having])
        parts.append((bands.ravel(), np.repeat(having, fingerprint.BANDS)))
    if coverage.Coverage.name in enabled:
        for tag, sample in (
            (coverage.GRAM_TAG, coverage.stored_grams(table.coverage)),
            (coverage.CLAUSE_TAG, coverage.stored_clauses(table.coverage)),
        ):
            parts.append((tagged_terms(tag, sample.values), owners_of(sample.offsets)))
    parts += (stored for _, stored in packed_stored_terms(table.packed, settings))
    owners = np.concatenate([owner for _, owner in parts]) if parts else np.zeros(0, dtype=np.int64)
    terms = np.concatenate([term for term, _ in parts]) if parts else np.zeros(0, dtype=np.uint64)
    order = np.argsort(owners, kind="stable")
    return terms[order], offsets_of(owners[order], rows)
