"""Reference of character frequency: main and auxiliary string, similarities, routing, edit distance.

Source: algorithms note, section 4 and readings 10 to 14 of section 9.

A text is a sequence of units: characters of the alphabet, or words. ``S1`` is a set, ``S2`` maps each unit of S1 to the
list of the units after its occurrences.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Strings(NamedTuple):
    """S1, S2 and the length of the text."""

    main: frozenset[str]
    aux: dict[str, list[str]]
    length: int


def row_cell_code(character: str) -> int:
    """0-6762 for GB 2312 characters in row-and-cell order, then digits, then letters; -1 for anything else.

    Row 55 ends after 89 cells, so later rows move up by 5.
    """
    if "0" <= character <= "9":
        return 6763 + int(character)
    if "a" <= character <= "z":
        return 6773 + "abcdefghijklmnopqrstuvwxyz".index(character)
    try:
        raw = character.encode("gb2312")
    except UnicodeEncodeError:
        return -1
    if len(raw) != 2 or raw[0] - 160 < 16:
        return -1
    row, cell = raw[0] - 160, raw[1] - 160
    before = 0
    for earlier in range(16, row):
        before += 89 if earlier == 55 else 94
    return before + cell - 1


def alphabet(text: str) -> list[str]:
    """The characters of a text that have a code, in order."""
    return [character for character in text if row_cell_code(character) >= 0]


def strings(
    units: Sequence[str], length: int, above: int = 3, allowed: Callable[[str], bool] = lambda unit: True
) -> Strings:
    """Both strings: S1 has the allowed units with more than ``above`` occurrences."""
    counts = Counter(units)
    main = frozenset(unit for unit, count in counts.items() if count > above and allowed(unit))
    aux: dict[str, list[str]] = {unit: [] for unit in main}
    for at in range(len(units) - 1):
        if units[at] in main:
            aux[units[at]].append(units[at + 1])
    return Strings(main, aux, length)


def main_similarity(page: frozenset[str], base: frozenset[str]) -> float:
    """Formula 5: the share of the page's string that the base page has; 0 for an empty string."""
    return len(page & base) / len(page) if page else 0.0


def aux_similarity(page: Strings, base: Strings) -> float:
    """The share of the followers of common units that the base page has too, as multisets; 0 without any."""
    matched = total = 0
    for unit in page.main & base.main:
        ours, theirs = Counter(page.aux[unit]), Counter(base.aux[unit])
        matched += sum((ours & theirs).values())
        total += len(page.aux[unit])
    return matched / total if total else 0.0


def compares_followers(left: int, right: int, long: int = 500, ratio: float = 0.3) -> bool:
    """One page is long, or the lengths differ much."""
    return max(left, right) > long or (max(left, right) > 0 and min(left, right) / max(left, right) < ratio)


def covers(page: Strings, base: Strings, stop: frozenset[str] = frozenset()) -> bool:
    """Whether the page is a duplicate of the base page; function words do not count in the main comparison."""
    if page.main and page.main == base.main:
        return True
    if main_similarity(page.main - stop, base.main - stop) < 0.8:
        return False
    return not compares_followers(page.length, base.length) or aux_similarity(page, base) >= 0.8


def edit_distance(left: frozenset[str], right: frozenset[str]) -> int:
    """D(T1, T2) the larger remainder."""
    common = len(left & right)
    return max(len(left) - common, len(right) - common)


def least_shared(size: int, share: float = 0.8) -> int:
    """The smallest number of shared units that is enough."""
    return next(n for n in range(1, size + 1) if n / size >= share or math.isclose(n / size, share))
