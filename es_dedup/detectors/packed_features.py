"""Features of enabled methods beyond the default three, as an index stores them: packed, one column a method."""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from es_dedup.detectors.ccdet import Ccdet
from es_dedup.detectors.coverage import Coverage
from es_dedup.detectors.registry import create_detectors
from es_dedup.detectors.simhash import Simhash
from es_dedup.errors import DamagedData
from es_dedup.model import Content, Skipped, TermGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.port import Detector
    from es_dedup.settings import Settings

Packed: TypeAlias = "Mapping[str, tuple[bytes | None, ...]]"
"""Method to its packed features, one entry a page; None where it skipped the page."""
DEFAULTS: Final = frozenset((Ccdet.name, Simhash.name, Coverage.name))
_SIZE: Final = struct.Struct("<I")
_NONE: Final = 0xFFFFFFFF  # in place of a size: the method skipped the page


@lru_cache(maxsize=8)
def packed_detectors(settings: Settings) -> dict[str, Detector[Any]]:
    """The enabled detectors that have no columns of their own in a feature table, by name."""
    detectors = create_detectors(settings).items()
    return {name: detector for name, detector in detectors if name not in DEFAULTS}


def featurise_packed(texts: Sequence[str], titles: Sequence[str], settings: Settings) -> Packed:
    """Features of pages given as main texts and titles."""
    if DEFAULTS.issuperset(settings.detectors):
        return {}
    detectors = packed_detectors(settings)
    contents = [Content(text=text, title=title) for text, title in zip(texts, titles, strict=True)]
    packed: dict[str, tuple[bytes | None, ...]] = {}
    for name, detector in detectors.items():
        features = detector.featurise_many(contents)
        packed[name] = tuple(None if isinstance(each, Skipped) else detector.pack(each) for each in features)
    return packed


def pack_row(features: Packed, row: int) -> bytes:
    """One page's features as bytes, to stand before the rest of its payload."""
    parts = []
    for name, column in features.items():
        label, packed = name.encode(), column[row]
        parts.append(bytes([len(label)]) + label + _SIZE.pack(_NONE if packed is None else len(packed)))
        parts.append(packed or b"")
    body = b"".join(parts)
    return _SIZE.pack(len(body)) + body


def unpack_row(payload: bytes) -> tuple[dict[str, bytes | None], bytes]:
    """The features that ``pack_row`` has packed, and the bytes after them.

    Raises:
        ValueError: the bytes end too early.
    """
    (size,) = _SIZE.unpack_from(payload) if len(payload) >= _SIZE.size else (_NONE,)
    at, end = _SIZE.size, _SIZE.size + size
    if end > len(payload):
        raise ValueError("features of further methods are cut short")
    found: dict[str, bytes | None] = {}
    while at < end:
        name = payload[at + 1 : at + 1 + payload[at]].decode()
        at += 1 + payload[at]
        (length,) = _SIZE.unpack_from(payload, at)
        at += _SIZE.size
        found[name] = None if length == _NONE else payload[at : at + length]
        at += 0 if length == _NONE else length
    return found, payload[end:]


def packed_stored_terms(
    features: Packed, settings: Settings
) -> Iterator[tuple[str, tuple[NDArray[np.uint64], NDArray[np.int64]]]]:
    """Each method with the terms its pages are stored under and the row of each."""
    if not features:
        return
    for name, detector in packed_detectors(settings).items():
        terms: list[int] = []
        rows: list[int] = []
        for row, packed in enumerate(_column(features, name)):
            if packed is not None:
                of_page = detector.terms(_unpacked(detector, packed))
                terms += of_page
                rows += [row] * len(of_page)
        yield name, (np.array(terms, dtype=np.uint64), np.array(rows, dtype=np.int64))


def unpacked_by(detector: Detector[Any], features: Packed, rows: Iterable[int]) -> list[Any]:
    """One method's features of some rows; None where it skipped the page, or made none at all."""
    column = features.get(detector.name)
    some = (None if column is None else column[row] for row in rows)
    return [None if packed is None else _unpacked(detector, packed) for packed in some]


def packed_query_terms(features: Packed, row: int, settings: Settings) -> list[TermGroup]:
    """Query terms of the methods for one page."""
    groups: list[TermGroup] = []
    if not features:
        return groups
    for name, detector in packed_detectors(settings).items():
        packed = _column(features, name)[row]
        candidate_query = None if packed is None else detector.candidate_query(_unpacked(detector, packed))
        if candidate_query is not None:
            groups += (replace(group, method=name) for group in candidate_query.groups)
    return groups


def _column(features: Packed, name: str) -> tuple[bytes | None, ...]:
    if name not in features:
        raise DamagedData("features", f"those of method {name} are missing")
    return features[name]


def _unpacked(detector: Detector[Any], packed: bytes) -> Any:
    try:
        return detector.unpack(packed)
    except ValueError as error:
        raise DamagedData("features", f"of method {detector.name}: {error}") from error
