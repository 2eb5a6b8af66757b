"""Reference of character frequency: main and auxiliary string, similarities, routing, edit distance.

Source: the patent application itself, steps (1) to (5) of its pairwise process. ``S1`` is a set, ``S2`` maps each character
of S1 to the list of the characters after its occurrences.

Settled:
    The text is folded, simplified and without white space. The neighbour is the next character: with ``adjacent`` whatever
    stands there, else the next one that has a number. Acceptance is "greater than". One long page is enough for followers.
    The main similarity must be passed there too.
"""

from collections import Counter
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


def strings(text: str, above: int = 3, codes: int = 3755, *, adjacent: bool = True) -> Strings:
    """Both strings: S1 has the characters of a number below ``codes`` with more than ``above`` occurrences."""
    solid = [character for character in text if not character.isspace()]
    main = frozenset(
        character
        for character, count in Counter(solid).items()
        if count > above and 0 <= row_cell_code(character) < codes
    )
    aux: dict[str, list[str]] = {character: [] for character in main}
    sequence = solid if adjacent else alphabet(text)
    for at in range(len(sequence) - 1):
        if sequence[at] in main:
            aux[sequence[at]].append(sequence[at + 1])
    return Strings(main, aux, len(solid))


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
    alike = main_similarity(page.main - stop, base.main - stop) > 0.8
    if not compares_followers(page.length, base.length):
        return alike
    return alike and aux_similarity(page, base) > 0.8


def edit_distance(left: frozenset[str], right: frozenset[str]) -> int:
    """D(T1, T2) the larger remainder."""
    common = len(left & right)
    return max(len(left) - common, len(right) - common)


def least_shared(size: int, share: float = 0.8) -> int:
    """The smallest number of shared units that is enough."""
    return next(n for n in range(1, size + 1) if n / size > share)
