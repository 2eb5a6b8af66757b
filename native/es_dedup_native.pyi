from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

INTERFACE: Final[int]

_Ints: TypeAlias = NDArray[np.int64]
_Words: TypeAlias = NDArray[np.uint32]
_Longs: TypeAlias = NDArray[np.uint64]
_Texts: TypeAlias = tuple[_Words, _Ints]

def language_of_sample(sample: str) -> str: ...
def flagged_runs(
    codes: _Words, offsets: _Ints, inside: NDArray[np.bool_], flags: NDArray[np.bool_]
) -> tuple[_Ints, _Ints]: ...
def mapped_codes(codes: _Words, mapped: _Words) -> _Words: ...
def collapsed(codes: _Words, offsets: _Ints) -> _Texts: ...
def features(
    bodies: _Texts, titles: _Texts, language: Any, window: int, threads: int
) -> dict[str, NDArray[Any]]: ...
def pack(table: Any) -> list[bytes]: ...
def unpack(payloads: list[bytes]) -> dict[str, NDArray[Any]] | int: ...
def measure(
    left: tuple[Any, _Ints, Any], right: tuple[Any, _Ints, Any], threads: int
) -> tuple[_Ints, NDArray[np.float64], _Ints, NDArray[np.float64]]: ...
def bitmap_of(known: _Words | _Longs) -> _Longs: ...
def find(
    known: NDArray[Any],
    values: NDArray[Any],
    starts: NDArray[np.int32],
    shift: int,
    seen: _Longs,
    threads: int,
) -> tuple[_Ints, _Ints]: ...
def shared_terms(
    query: _Ints,
    starts: _Ints,
    counts: _Ints,
    owners: _Ints,
    rows: int,
    facts: _Longs,
    least: int,
    threads: int,
) -> tuple[_Ints, _Ints, _Ints]: ...
def removal_sums(
    offsets: _Ints, starts: _Ints, neighbours: _Ints, removed: _Ints, removed_offsets: _Ints, threads: int
) -> _Ints: ...
def weigh(features: Any, places: _Ints, sample: Any, threads: int) -> tuple[_Words, NDArray[np.float32]]: ...

class Dictionary:
    def __init__(self, lines: str) -> None: ...
    def tag(self, word: str) -> str | None: ...
    def cut(self, codes: _Words) -> tuple[_Ints, _Ints, list[tuple[int, int]]]: ...
