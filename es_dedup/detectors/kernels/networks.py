"""``dwdcs_paths.removal_sums`` as machine code, for those who install the extra ``fast``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.kernels.dispatch import kernel

if TYPE_CHECKING:
    from es_dedup.kernels.arrays import Ints

_M1: Final = np.uint64(0x5555555555555555)
_M2: Final = np.uint64(0x3333333333333333)
_M4: Final = np.uint64(0x0F0F0F0F0F0F0F0F)
_H01: Final = np.uint64(0x0101010101010101)
_ONE: Final = np.uint64(1)
_TWO: Final = np.uint64(2)
_FOUR: Final = np.uint64(4)
_TOP: Final = np.uint64(56)


@kernel
def _count(value: Any) -> Any:
    """Bits of a 64-bit word (Hacker's Delight, 5-1)."""
    value = value - ((value >> _ONE) & _M1)
    value = (value & _M2) + ((value >> _TWO) & _M2)
    value = (value + (value >> _FOUR)) & _M4
    return np.int64((value * _H01) >> _TOP)


@kernel
def _search(starts: Ints, neighbours: Ints, low: int, high: int, gone: int) -> tuple[int, int, int]:
    """Sum of finite distances, pairs reached, and levels, of one graph without the node ``gone``."""
    size = high - low
    words = (size + 63) // 64
    reach = np.zeros((size, words), dtype=np.uint64)
    new = np.zeros((size, words), dtype=np.uint64)
    pairs = 0
    for node in range(size):
        if node + low != gone:
            reach[node, node >> 6] = _ONE << np.uint64(node & 63)
            pairs += 1
    alive, total, levels = pairs, 0, 0
    full = np.zeros(size, dtype=np.bool_)
    while pairs < alive * alive:
        grown = 0
        for node in range(size):
            if node + low == gone:
                continue
            for word in range(words):
                new[node, word] = reach[node, word]
            if full[node]:
                grown += alive
                continue
            for at in range(starts[node + low], starts[node + low + 1]):
                other = neighbours[at] - low
                for word in range(words):
                    new[node, word] |= reach[other, word]
            bits = 0
            for word in range(words):
                bits += _count(new[node, word])
            full[node] = bits == alive
            grown += bits
        if grown == pairs:
            break
        levels += 1
        total += levels * (grown - pairs)
        pairs = grown
        reach, new = new, reach
    return total, pairs, levels


@kernel
def removal_sums(
    offsets: Ints, starts: Ints, neighbours: Ints, removed: Ints, removed_offsets: Ints, sums: Ints
) -> None:
    """See ``dwdcs_paths.removal_sums``; the answer is written to ``sums``."""
    for graph in range(len(offsets) - 1):
        first, last = removed_offsets[graph], removed_offsets[graph + 1]
        if first == last:
            continue
        low, high = offsets[graph], offsets[graph + 1]
        diameter = _search(starts, neighbours, low, high, -1)[2]
        alive = high - low - 1
        for at in range(first, last):
            total, pairs, _ = _search(starts, neighbours, low, high, removed[at])
            sums[at] = total + (alive * alive - pairs) * (diameter + 1)
