"""Where two texts agree: clauses in common with their places, for reports and for people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.normalise import normalise_many
from es_dedup.text.tokens import clause_hashes, tokenise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_dedup.decision.statistics import Statistics

# the marks of ``text.tokens``, in all widths: inside numbers points, commas and colons are none
_CLAUSE: Final = re.compile(
    r"(?:(?<=[0-9０-９])[.,:．，：](?=[0-9０-９])|(?<=[A-Za-z0-9Ａ-Ｚａ-ｚ０-９])[.．](?=[A-Za-z0-9Ａ-Ｚａ-ｚ０-９])"
    r"|[^。．｡！？!?；;：:，,….\n\r])+"
)
MOST_CHARS: Final = 200_000  # of each text that are looked at


@dataclass(frozen=True, slots=True)
class SharedClause:
    """One clause that stands in both texts.

    Attributes:
        text: as in the left text.
        left_start, left_end, right_start, right_end: places in the two texts, in characters.
        weight: what it counts, in [0.02, 1]; below 0.5 it is taken for template.
    """

    text: str
    left_start: int
    left_end: int
    right_start: int
    right_end: int
    weight: float


def shared_clauses(left: str, right: str, statistics: Statistics) -> list[SharedClause]:
    """Clauses of the left text, in order, that the right text has too; each with its first place there."""
    ours, theirs = clauses_of(left), clauses_of(right)
    first: dict[int, tuple[int, int]] = {}
    for digest, start, end in theirs:
        first.setdefault(digest, (start, end))
    shared = [(digest, start, end) for digest, start, end in ours if digest in first]
    weights = statistics.clause_weights_of(np.array([digest for digest, _, _ in shared], dtype=np.uint32))
    return [
        SharedClause(left[start:end], start, end, *first[digest], float(weight))
        for (digest, start, end), weight in zip(shared, weights.tolist(), strict=True)
    ]


def clauses_of(text: str, most: int = MOST_CHARS) -> list[tuple[int, int, int]]:
    """Hash and place of each clause of a text that has a word in it; of the first ``most`` characters."""
    places = [(match.start(), match.end()) for match in _CLAUSE.finditer(text, 0, most)]
    tokens = tokenise(normalise_many([text[start:end] for start, end in places]))
    hashes: NDArray[np.uint64] = clause_hashes(tokens) >> np.uint64(32)
    first = tokens.clause_offsets[:-1]
    single = np.diff(tokens.clause_offsets) == 1
    return [
        (int(hashes[clause]), _skip_white(text, start), end)
        for clause, one, (start, end) in zip(first.tolist(), single.tolist(), places, strict=True)
        if one
    ]


def _skip_white(text: str, start: int) -> int:
    while text[start].isspace():
        start += 1
    return start
