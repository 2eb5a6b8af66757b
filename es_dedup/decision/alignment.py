"""Two texts side by side: rows of what agrees and what does not, and inside a row what only one of them has.

Clauses are aligned by what the methods compare, so that width, case and script make no difference; of clauses that differ, those alike are
paired and compared word by word. Time grows with the lengths of the texts, whatever stands in them: the costly steps are done within
windows and, beyond a number of steps, left out, and what they would have aligned is shown as different.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final
from zlib import crc32

import numpy as np

from es_dedup import lazy
from es_dedup.detectors.coverage_pairs import CONTENT
from es_dedup.text.normalise import normalise_many
from es_dedup.text.tokens import clause_hashes, tokenise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from es_dedup.decision.statistics import Statistics

    Range = tuple[int, int, int, int]

MOST_CHARS: Final = 4_000_000
"""Of each text that are aligned; the rest is shown as it is, as if it differed."""
WINDOW: Final = 10_000
"""Products of two lengths up to which sequences are compared item by item."""
BUDGET: Final = 2_000_000
"""Such products added up, after which nothing more is compared item by item."""
CLAUSE_COST: Final = 20
"""What it costs to see whether two clauses are alike; 1: whether two items are equal."""
ALIKE: Final = 0.5
"""Share of words in common, of those of both clauses, from which two clauses are compared word by word."""
_WORD: Final = lazy.pattern(r"[^\W\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+|\s+|.", re.DOTALL)

# the marks of ``text.tokens``, in all widths: inside numbers points, commas and colons are none
_CLAUSE: Final = lazy.pattern(
    r"(?:(?<=[0-9０-９])[.,:．，：](?=[0-9０-９])|(?<=[A-Za-z0-9Ａ-Ｚａ-ｚ０-９])[.．](?=[A-Za-z0-9Ａ-Ｚａ-ｚ０-９])"
    r"|[^。．｡！？!?；;：:，,….\n\r])+"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text.

    Attributes:
        text: as it stands there.
        only: the other text does not have it here.
        template: both have it, but it counts little because many pages do.
    """

    text: str
    only: bool = False
    template: bool = False


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """A part of each text that corresponds to the other; one of the two may be empty."""

    left: tuple[Piece, ...]
    right: tuple[Piece, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not any(piece.only for piece in (*self.left, *self.right))


class _Side:
    """A text cut into clauses, each up to the beginning of the next one."""

    def __init__(self, text: str) -> None:
        whole = (crc32(text.encode("utf-8", "replace")), 0, len(text))
        found = clauses_of(text, MOST_CHARS) or [whole]
        self.text, self.hashes = text, [digest for digest, _, _ in found]
        self.starts = [0, *(start for _, start, _ in found[1:]), len(text)]

    def clause(self, at: int) -> str:
        """The text of a clause, with what stands before the next one."""
        return self.text[self.starts[at] : self.starts[at + 1]]


def clauses_of(text: str, most: int) -> list[tuple[int, int, int]]:
    """Hash and place of each clause of a text that has a word in it; of the first ``most`` characters."""
    places = [(match.start(), match.end()) for match in _CLAUSE.finditer(text, 0, most)]
    tokens = tokenise(normalise_many([text[start:end] for start, end in places]))
    hashes: NDArray[np.uint64] = clause_hashes(tokens) >> np.uint64(32)
    first = tokens.clause_offsets[:-1]
    single = np.diff(tokens.clause_offsets) == 1
    return [
        (int(hashes[clause]), end - len(text[start:end].lstrip()), end)
        for clause, one, (start, end) in zip(first.tolist(), single.tolist(), places, strict=True)
        if one
    ]


class _Budget:
    """What remains of ``BUDGET``, the item comparisons that one alignment may take."""

    def __init__(self) -> None:
        self._left = BUDGET

    def allows(self, left: int, right: int, cost: int = 1) -> bool:
        """Whether the remaining budget allows comparing each item of one sequence with each of the other."""
        cost *= left * right
        if not 0 < cost <= min(WINDOW, self._left):
            return False
        self._left -= cost
        return True


def aligned(left: str, right: str, statistics: Statistics) -> list[AlignedRow]:
    """Rows that together contain both texts in order; empty for two empty texts.

    Args:
        left, right: the texts.
        statistics: say which shared clauses are template.
    """
    ours, theirs = _Side(left), _Side(right)
    budget = _Budget()
    rows: list[AlignedRow] = []
    shared = _matched(ours.hashes, theirs.hashes, budget)
    hashes = np.array([ours.hashes[at] & 0xFFFF_FFFF for at, _ in shared], dtype=np.uint32)
    weights = dict(zip(shared, statistics.clause_weights_of(hashes).tolist(), strict=True))
    last = (0, 0)
    for at, to in [*shared, (len(ours.hashes), len(theirs.hashes))]:
        if (at, to) != last:
            rows += _differing(ours, theirs, (last[0], at, last[1], to), budget)
        if (at, to) in weights:
            template = weights[at, to] < CONTENT
            own, other = (
                Piece(ours.clause(at), template=template),
                Piece(theirs.clause(to), template=template),
            )
            rows.append(AlignedRow((own,), (other,)))
        last = at + 1, to + 1
    return list(_joined(row for row in rows if any(piece.text for piece in (*row.left, *row.right))))


def _matched(ours: Sequence[Hashable], theirs: Sequence[Hashable], budget: _Budget) -> list[tuple[int, int]]:
    """Places of equal items, ascending on both sides.

    Items that occur once on each side are anchors, the longest ascending row of them is kept; between two anchors the same is done again.
    """
    found: list[tuple[int, int]] = []
    waiting: list[Range] = [(0, len(ours), 0, len(theirs))]
    while waiting:
        start, end, to, until = waiting.pop()
        while start < end and to < until and ours[start] == theirs[to]:
            found.append((start, to))
            start, to = start + 1, to + 1
        while start < end and to < until and ours[end - 1] == theirs[until - 1]:
            end, until = end - 1, until - 1
            found.append((end, until))
        if start == end or to == until:
            continue
        if budget.allows(end - start, until - to):
            matcher = SequenceMatcher(None, ours[start:end], theirs[to:until], autojunk=False)
            blocks = matcher.get_matching_blocks()
            found += ((start + b.a + n, to + b.b + n) for b in blocks for n in range(b.size))
        elif anchors := _anchors(ours, theirs, (start, end, to, until)):
            found += anchors
            edges = [(start - 1, to - 1), *anchors, (end, until)]
            waiting += ((a + 1, c, b + 1, d) for (a, b), (c, d) in pairwise(edges))
    return sorted(found)


def _anchors(ours: Sequence[Hashable], theirs: Sequence[Hashable], where: Range) -> list[tuple[int, int]]:
    """The longest row, ascending on both sides, of items that occur once on each side."""
    start, end, to, until = where
    counts = Counter(ours[start:end]), Counter(theirs[to:until])
    place = {theirs[at]: at for at in range(to, until)}
    once = [
        (at, place[ours[at]]) for at in range(start, end) if counts[0][ours[at]] == counts[1][ours[at]] == 1
    ]
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, at) in enumerate(once):
        length = bisect_left(tails, at)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [at]
        ends[length : length + 1] = [number]
    row: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        row.append(once[number])
        number = before[number]
    return row[::-1]


def _differing(ours: _Side, theirs: _Side, where: Range, budget: _Budget) -> Iterator[AlignedRow]:
    """Rows of clauses without equal ones: similar clauses in one row, all others in rows of their own."""
    start, end, to, until = where
    left = [ours.clause(at) for at in range(start, end)]
    right = [theirs.clause(at) for at in range(to, until)]
    at = to = 0
    for a, b in [*_alike(left, right, budget), (len(left), len(right))]:
        yield AlignedRow(_only(left[at:a]), ())
        yield AlignedRow((), _only(right[to:b]))
        if a < len(left):
            yield _by_words(left[a], right[b], budget)
        at, to = a + 1, b + 1


def _alike(left: Sequence[str], right: Sequence[str], budget: _Budget) -> list[tuple[int, int]]:
    """Pairs of similar clauses, ascending on both sides, with the greatest total agreement."""
    if not budget.allows(len(left), len(right), CLAUSE_COST):
        return []
    bags = [[Counter(_WORD.findall(text[:WINDOW])) for text in texts] for texts in (left, right)]
    best = np.zeros((len(left) + 1, len(right) + 1))
    agreement = np.zeros((len(left), len(right)))
    for a, ours in enumerate(bags[0]):
        for b, theirs in enumerate(bags[1]):
            common = 2 * (ours & theirs).total() / ((ours.total() + theirs.total()) or 1)
            agreement[a, b] = common if common >= ALIKE else 0
            best[a + 1, b + 1] = max(best[a, b] + agreement[a, b], best[a, b + 1], best[a + 1, b])
    found: list[tuple[int, int]] = []
    a, b = len(left), len(right)
    while a and b:
        if best[a, b] == best[a - 1, b]:
            a -= 1
        elif best[a, b] == best[a, b - 1]:
            b -= 1
        else:
            a, b = a - 1, b - 1
            found.append((a, b))
    return found[::-1]


def _by_words(left: str, right: str, budget: _Budget) -> AlignedRow:
    """Two clauses whose differences are marked word by word; a single character between two differences is marked too."""
    ours, theirs = _WORD.findall(left), _WORD.findall(right)
    same = _matched(ours, theirs, budget)
    kept: set[tuple[int, int]] = set()
    for _, group in groupby(enumerate(same), key=lambda each: (each[1][0] - each[0], each[1][1] - each[0])):
        run = [pair for _, pair in group]
        text = "".join(ours[at] for at, _ in run)
        edge = run[0] == (0, 0) or run[-1] == (len(ours) - 1, len(theirs) - 1)
        if edge or len(text.strip()) > 1:
            kept.update(run)
    sides = ({at for at, _ in kept}, {at for _, at in kept})
    return AlignedRow(_pieces(ours, sides[0]), _pieces(theirs, sides[1]))


def _pieces(words: Sequence[str], shared: set[int]) -> tuple[Piece, ...]:
    marked = groupby(range(len(words)), key=lambda at: at not in shared)
    return tuple(Piece("".join(words[at] for at in places), only) for only, places in marked)


def _only(texts: Sequence[str]) -> tuple[Piece, ...]:
    text = "".join(texts)
    return (Piece(text, only=True),) if text else ()


def _joined(rows: Iterable[AlignedRow]) -> Iterator[AlignedRow]:
    """Consecutive rows that agree, merged up to the end of each line."""
    run: list[AlignedRow] = []
    for row in rows:
        if run and not (row.same and run[-1].same and "\n" not in run[-1].left[-1].text):
            yield _one(run)
            run = []
        run.append(row)
    if run:
        yield _one(run)


def _one(rows: Sequence[AlignedRow]) -> AlignedRow:
    left = _merged(piece for row in rows for piece in row.left)
    return AlignedRow(left, _merged(piece for row in rows for piece in row.right))


def _merged(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    kinds = groupby(pieces, key=lambda piece: (piece.only, piece.template))
    return tuple(Piece("".join(piece.text for piece in some), *kind) for kind, some in kinds)
