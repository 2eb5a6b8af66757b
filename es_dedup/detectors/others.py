"""Features of enabled methods beyond the default three, as an index stores them: packed, one column a method."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.detectors.ccdet import Ccdet
from es_dedup.detectors.coverage import Coverage
from es_dedup.detectors.registry import create_detectors
from es_dedup.detectors.simhash import Simhash
from es_dedup.errors import DamagedData
from es_dedup.model import Content, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.port import Detector
    from es_dedup.model import TermGroup, Verdict
    from es_dedup.settings import Settings

DEFAULTS: Final = frozenset((Ccdet.name, Simhash.name, Coverage.name))
_SIZE: Final = struct.Struct("<I")
_NONE: Final = 0xFFFFFFFF  # in place of a size: the method skipped the page


@dataclass(frozen=True, slots=True)
class Others:
    """Packed features of several pages.

    Attributes:
        columns: method to its features, one entry a page; None where it skipped the page.
    """

    columns: Mapping[str, tuple[bytes | None, ...]]

    def take(self, rows: NDArray[np.int64]) -> Others:
        """The features of the given rows."""
        places = rows.tolist()
        return Others({name: tuple(found[at] for at in places) for name, found in self.columns.items()})

    @classmethod
    def concatenate(cls, parts: Sequence[Others]) -> Others:
        """The rows of several tables, made with the same settings."""
        names = parts[0].columns
        return cls({name: tuple(each for part in parts for each in part.columns[name]) for name in names})


NO_OTHERS: Final = Others({})


@lru_cache(maxsize=8)
def other_detectors(settings: Settings) -> dict[str, Detector[Any]]:
    """The enabled detectors that have no columns of their own in a feature table, by name."""
    made = create_detectors(settings).items()
    return {name: detector for name, detector in made if name not in DEFAULTS}


def featurise_others(texts: Sequence[str], titles: Sequence[str], settings: Settings) -> Others:
    """Features of pages given as main texts and titles."""
    if DEFAULTS.issuperset(settings.detectors):
        return NO_OTHERS
    detectors = other_detectors(settings)
    contents = [Content(text=text, title=title) for text, title in zip(texts, titles, strict=True)]
    columns: dict[str, tuple[bytes | None, ...]] = {}
    for name, detector in detectors.items():
        found = detector.featurise_many(contents)
        columns[name] = tuple(None if isinstance(each, Skipped) else detector.pack(each) for each in found)
    return Others(columns)


def pack_others(others: Others, row: int) -> bytes:
    """One page's features as bytes, to stand before the rest of its payload."""
    parts = []
    for name, column in others.columns.items():
        label, packed = name.encode(), column[row]
        parts.append(bytes([len(label)]) + label + _SIZE.pack(_NONE if packed is None else len(packed)))
        parts.append(packed or b"")
    body = b"".join(parts)
    return _SIZE.pack(len(body)) + body


def unpack_others(payload: bytes) -> tuple[dict[str, bytes | None], bytes]:
    """What ``pack_others`` made, and the bytes after it.

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


def stored_by_others(
    others: Others, settings: Settings
) -> Iterator[tuple[str, tuple[NDArray[np.uint64], NDArray[np.int64]]]]:
    """Each method with the terms its pages are stored under and the row of each."""
    if not others.columns:
        return
    for name, detector in other_detectors(settings).items():
        terms: list[int] = []
        rows: list[int] = []
        for row, packed in enumerate(_column(others, name)):
            if packed is not None:
                some = detector.terms(_unpacked(detector, packed))
                terms += some
                rows += [row] * len(some)
        yield name, (np.array(terms, dtype=np.uint64), np.array(rows, dtype=np.int64))


def unpacked_by(detector: Detector[Any], others: Others, rows: int) -> list[Any]:
    """One method's features of each row; None where it skipped the page, or made none at all."""
    column = others.columns.get(detector.name, (None,) * rows)
    return [None if packed is None else _unpacked(detector, packed) for packed in column]


def queried_by_others(others: Others, row: int, settings: Settings) -> list[TermGroup]:
    """Query terms of the methods for one page."""
    groups: list[TermGroup] = []
    if not others.columns:
        return groups
    for name, detector in other_detectors(settings).items():
        packed = _column(others, name)[row]
        candidate_query = None if packed is None else detector.candidate_query(_unpacked(detector, packed))
        groups += (
            replace(group, method=name)
            for group in (candidate_query.groups if candidate_query is not None else ())
        )
    return groups


def verdicts_of_other(
    name: str, left: Others, right: Others, rows: Iterable[tuple[int, int]], settings: Settings
) -> Iterator[Verdict | None]:
    """What one method says of pairs (left row, right row); None where it skipped a page."""
    detector = other_detectors(settings)[name]
    unpacked: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
    columns = [side.columns.get(name) for side in (left, right)]
    for pair in rows:
        sides = []
        for row, column, known in zip(pair, columns, unpacked, strict=True):
            if row not in known:
                packed = column[row] if column else None
                known[row] = None if packed is None else _unpacked(detector, packed)
            sides.append(known[row])
        ours, theirs = sides
        yield None if ours is None or theirs is None else detector.verify(ours, theirs)


def _column(others: Others, name: str) -> tuple[bytes | None, ...]:
    if name not in others.columns:
        raise DamagedData("features", f"those of method {name} are missing")
    return others.columns[name]


def _unpacked(detector: Detector[Any], packed: bytes) -> Any:
    try:
        return detector.unpack(packed)
    except ValueError as error:
        raise DamagedData("features", f"of method {detector.name}: {error}") from error
