"""Clauses of a text with their places, hashed as the methods hash them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.text.normalise import normalise_many
from es_dedup.text.tokens import clause_hashes, tokenise

if TYPE_CHECKING:
    from numpy.typing import NDArray

# the marks of ``text.tokens``, in all widths: inside numbers points, commas and colons are none
_CLAUSE: Final = re.compile(
    r"(?:(?<=[0-9０-９])[.,:．，：](?=[0-9０-９])|(?<=[A-Za-z0-9Ａ-Ｚａ-ｚ０-９])[.．](?=[A-Za-z0-9Ａ-Ｚａ-ｚ０-９])"
    r"|[^。．｡！？!?；;：:，,….\n\r])+"
)


def clauses_of(text: str, most: int) -> list[tuple[int, int, int]]:
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
